"""Places and photos on which nothing is evaluated: worlds, other places, and degraded photos of a map."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.image.decode import decode
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import TextureOptions
from nadirfix.photo_list import PhotoRecord, read_photo_list
from nadirfix.types import Point, View
from nadirfix.world.make import make_world

Pair = tuple[np.ndarray, View]
CAMERA = Camera(1024, 768, 600.0, 600.0)
ALTITUDE_M = (35.0, 600.0)
COMPONENTS = 24


@dataclasses.dataclass(frozen=True)
class Place:
    """A map, and photos of it with their true views."""

    name: str
    map: Texture
    photos: Sequence[Pair]


def places(given: argparse.Namespace, scratch: Path) -> Iterator[Place]:
    """Maps with photos of them."""
    for seed in given.worlds:
        world = make_world(size_m=given.size_m, gsd_m=0.5, seed=seed)
        old, new = (
            Texture.from_array(p, None, affine=world.affine, epsg=world.epsg) for p in (world.old, world.new)
        )
        yield Place(f"world {seed}", old, photos(new, given))
    for path in given.degraded:
        texture = packed(path, scratch)
        taken = photos(texture, given)
        worse = [(degraded(p, np.random.default_rng(i)), v) for i, (p, v) in enumerate(taken)]
        yield Place(path.stem, texture, worse)
    for path, manifest in given.real:
        taken = [real(row) for row in read_photo_list(manifest)]
        yield Place(path.stem, packed(path, scratch), taken)


def packed(path: Path, scratch: Path) -> Texture:
    target = scratch / f"{path.stem}.ntx"
    with GeoMap.open(path) as ground:
        pack_texture(ground, target, options=TextureOptions())
    return Texture.load(target)


def real(row: PhotoRecord) -> Pair:
    """A photo by the camera photos are simulated with, half as fine, and its true view."""
    pixels = decode(row.photo, max_pixels=LocateOptions().max_pixels)
    small = cv2.resize(pixels, (CAMERA.width_px, CAMERA.height_px), interpolation=cv2.INTER_AREA)
    return small, View(row.point, row.altitude_m or math.nan, row.heading_deg or 0.0)


def photos(source: Texture, given: argparse.Namespace) -> list[Pair]:
    rng, taken = np.random.default_rng(given.seed), []
    west, south, east, north = source.bounds
    largest_m = min(ALTITUDE_M[1], 0.6 * min(east - west, north - south))
    while len(taken) < given.count:
        place = Point(rng.uniform(west, east), rng.uniform(south, north), source.epsg)
        altitude_m = math.exp(rng.uniform(math.log(ALTITUDE_M[0]), math.log(largest_m)))
        view = View(place, altitude_m, rng.uniform(0, 360))
        if source.render(view, CAMERA, (64, 48)).valid_share > 0.99:
            rendered = warped(source.render(view, CAMERA).pixels, view, given, rng)
            pixels = rendered + rng.normal(0, 2, (CAMERA.height_px, CAMERA.width_px, 3))
            taken.append((np.clip(np.rint(pixels), 0, 255).astype(np.uint8), view))
    return taken


def warped(pixels: np.ndarray, view: View, given: argparse.Namespace, rng: np.random.Generator) -> np.ndarray:
    """The photo as if its ground lay a little elsewhere than on the map, here more and there less."""
    strong_m = math.exp(rng.uniform(*np.log(given.warp_m)))
    length_m = np.exp(rng.uniform(math.log(80), math.log(1200), COMPONENTS))
    toward, phase = rng.uniform(0, 2 * math.pi, (2, COMPONENTS))
    height, width = pixels.shape[:2]
    gsd_m = CAMERA.gsd_m(view.altitude_m)
    x, y = np.meshgrid(np.arange(0, width, 16), np.arange(0, height, 16))
    along = (x[..., None] * np.cos(toward) + y[..., None] * np.sin(toward)) * gsd_m / length_m
    waves = np.cos(2 * math.pi * along + phase)
    push = waves @ rng.normal(0, 1, (COMPONENTS, 2)) * strong_m / math.sqrt(COMPONENTS / 2) / gsd_m
    whole = cv2.resize(push.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    column, row = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    at = column + whole[..., 0], row + whole[..., 1]
    return cv2.remap(pixels, *at, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)


def degraded(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As if of another day: blurred, other light, uneven shade, haze, things that were not there, noise."""
    height, width = pixels.shape[:2]
    light = cv2.GaussianBlur(pixels.astype(np.float32), (0, 0), rng.uniform(0.8, 1.6))
    light = 255 * (np.clip(light, 0, 255) / 255) ** rng.uniform(0.6, 1.5) * rng.uniform(0.7, 1.2, 3)
    shade = cv2.resize(
        rng.normal(0, 1, (4, 5)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC
    )
    haze = rng.uniform(0, 0.45)
    light = light * (1 + 0.25 * shade)[..., None] * (1 - haze) + 200 * haze
    for _ in range(rng.integers(4, 12)):
        middle = (int(rng.uniform(0, width)), int(rng.uniform(0, height)))
        axes = (int(rng.uniform(20, 120)), int(rng.uniform(20, 120)))
        cv2.ellipse(light, middle, axes, rng.uniform(0, 180), 0, 360, rng.uniform(40, 220, 3).tolist(), -1)
    return np.clip(np.rint(light + rng.normal(0, 6, light.shape)), 0, 255).astype(np.uint8)
