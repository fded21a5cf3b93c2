"""Pairs of views of the same ground, with known geometry, for teaching the matcher.

python -m bench.training.matcher_pairs --out DIR --maps desert.tif campus.tif --worlds DIR [--count 3000]

A pair is a photo (leaning, sharpened, blurred, noisy, compressed, in another light) and the map as the
product renders it, from a view that is some metres, degrees and per cent off. Of a world the photo is mostly
of the other date. Colours become grey by other weights each time, as what is bright on one date is darker on
another. Each file in DIR has 100 pairs and their homographies; a run that is started again goes on. Worlds
with seeds from 2000 to 2999, and the north-western quarter of every other map, are held out for measuring.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.training.worlds import FIRST_FINE_SEED, FIRST_HELD_OUT_SEED
from nadirfix.camera import Camera
from nadirfix.files import atomic_file
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.pose import ground_from_pixel
from nadirfix.geo.texture import Texture
from nadirfix.types import Point, View
from nadirfix.verify.registration import MAP_SAMPLING

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

WIDTH, HEIGHT = 320, 256
CAMERA = Camera(WIDTH, HEIGHT, 0.6 * WIDTH, 0.6 * WIDTH)
PER_FILE = 100
COARSEST_M, FINEST_MAP = 1.1, 0.75
OTHER_DATE = 0.8
TRIES = 200
LEAN_DEG, TURN_DEG, SCALE, MOVED = 7.0, 18.0, 0.14, 0.22


@dataclasses.dataclass(frozen=True)
class Ground:
    """The map and what the photo is taken from, and which part of it is for this purpose."""

    map: Texture
    photo: Texture
    quarter: bool  # only the north-western quarter is held out, not all of it or nothing
    share: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--maps", type=Path, nargs="*", default=[])
    options.add_argument("--worlds", type=Path, required=True)
    options.add_argument("--count", type=int, default=3000)
    options.add_argument("--held-out", type=int, default=200)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    cv2.setNumThreads(1)
    for name, count in (("held_out", given.held_out), ("pairs", given.count)):
        for number in range(-(-count // PER_FILE)):
            path = given.out / f"{name}{number:03d}.npz"
            if not path.exists():
                write(path, grounds(given, held_out=name == "held_out"), number, held_out=name == "held_out")


def grounds(given: argparse.Namespace, *, held_out: bool) -> list[Ground]:
    """All there are so far: worlds may still be in the making."""
    found = [Ground(*_twice(map_texture(path, given.out)), True, 2.0) for path in given.maps]
    for path in sorted(given.worlds.glob("world*_new.ntx")):
        seed = int(path.stem[5:-4])
        if (FIRST_HELD_OUT_SEED <= seed < FIRST_FINE_SEED) == held_out:
            old = Texture.load(path.with_name(f"world{seed}_old.ntx"))
            found.append(Ground(old.rendered_with(MAP_SAMPLING), Texture.load(path), False, 1.0))
    return found


def _twice(texture: Texture) -> tuple[Texture, Texture]:
    return texture.rendered_with(MAP_SAMPLING), texture


def map_texture(path: Path, folder: Path) -> Texture:
    packed = folder / f"{path.stem}.ntx"
    if not packed.exists():
        with GeoMap.open(path) as ground:
            pack_texture(ground, packed)
    return Texture.load(packed)


def write(path: Path, places: Sequence[Ground], number: int, *, held_out: bool) -> None:
    """A file of pairs, the same whenever it is made from the same places."""
    rows = []
    shares = np.array([place.share for place in places])
    for index in range(PER_FILE):
        draw = np.random.default_rng([int(held_out), number, index])
        pair = None
        while pair is None:
            pair = drawn(places[draw.choice(len(places), p=shares / shares.sum())], draw, held_out=held_out)
        rows.append(pair)
    photo, ground, homography = (np.stack(column) for column in zip(*rows, strict=True))
    with atomic_file(path) as scratch, scratch.open("wb") as file:
        np.savez(file, photo=photo, map=ground, map_from_photo=homography)
    print(f"{path.name}: {len(places)} places", flush=True)


def drawn(place: Ground, draw: np.random.Generator, *, held_out: bool) -> tuple[Bytes, Bytes, Floats] | None:
    """One pair; None where no spot was found for it."""
    finest = max(place.map.gsd_m * FINEST_MAP, 0.09)
    gsd_m = float(np.exp(draw.uniform(np.log(finest), np.log(max(COARSEST_M, 1.3 * finest)))))
    for _ in range(TRIES):
        view = random_view(place.map, gsd_m, draw)
        if place.quarter and in_quarter(view, place.map) != held_out:
            continue
        other = displaced(view, gsd_m, draw)
        same_date = place.photo is place.map or draw.uniform() > OTHER_DATE
        photo = (place.map if same_date else place.photo).rendered_with(place.photo.options)
        taken, rendered = photo.render(view, CAMERA), place.map.render(other, CAMERA)
        if min(taken.valid_share, rendered.valid_share) == 1:
            return as_photo(taken.pixels, draw), as_map(rendered.pixels, draw), between(view, other)
    return None


def random_view(texture: Texture, gsd_m: float, draw: np.random.Generator) -> View:
    west, south, east, north = texture.bounds
    place = Point(draw.uniform(west, east), draw.uniform(south, north), texture.epsg)
    lean, toward = LEAN_DEG * draw.uniform() ** 2, draw.uniform(0, 360)
    return View(place, gsd_m * CAMERA.fx_px, draw.uniform(0, 360), lean, toward)


def in_quarter(view: View, texture: Texture) -> bool:
    middle = texture.center
    return view.center.east_m < middle.east_m and view.center.north_m > middle.north_m


def displaced(view: View, gsd_m: float, draw: np.random.Generator) -> View:
    away_m, angle = MOVED * WIDTH * gsd_m * np.sqrt(draw.uniform()), draw.uniform(0, 2 * np.pi)
    return View(
        view.center.moved(away_m * np.cos(angle), away_m * np.sin(angle)),
        view.altitude_m * float(np.exp(draw.uniform(-SCALE, SCALE))),
        (view.heading_deg + draw.uniform(-TURN_DEG, TURN_DEG)) % 360,
    )


def between(view: View, other: View) -> Floats:
    """From pixels of the photo to pixels of the map, corners at whole numbers."""
    ground_from_photo, ground_from_map = (
        ground_from_pixel(one, CAMERA, (WIDTH, HEIGHT)) for one in (view, other)
    )
    moved = np.eye(3)
    moved[:2, 2] = (view.center.east_m - other.center.east_m, view.center.north_m - other.center.north_m)
    homography = np.linalg.inv(ground_from_map) @ moved @ ground_from_photo
    return np.asarray(homography / homography[2, 2], np.float64)


def as_map(pixels: Bytes, draw: np.random.Generator) -> Bytes:
    """The map in grey, as it comes for the most part."""
    grey = pixels.mean(axis=2) if draw.uniform() < 0.7 else other_grey(pixels, draw, 0.5)
    return levels(grey + draw.normal(0, draw.uniform(0, 1.5), grey.shape))


def as_photo(pixels: Bytes, draw: np.random.Generator) -> Bytes:
    """The same ground in another light, through a camera."""
    grey = other_grey(pixels, draw, 1.0)
    grey = tones(grey, draw) * uneven(draw, 0.25) + 12 * (uneven(draw, 1.0) - 1)
    sharpness = draw.uniform()
    blurred = cv2.GaussianBlur(grey, (0, 0), draw.uniform(0.5, 1.3))
    if sharpness < 0.35:
        grey = blurred
    elif sharpness > 0.7:
        grey = grey + draw.uniform(0.3, 1.2) * (grey - blurred)
    grey = levels(grey + draw.normal(0, draw.uniform(0, 5), grey.shape))
    quality = [cv2.IMWRITE_JPEG_QUALITY, int(draw.integers(35, 96))]
    return np.asarray(cv2.imdecode(cv2.imencode(".jpg", grey, quality)[1], cv2.IMREAD_GRAYSCALE), np.uint8)


def other_grey(pixels: Bytes, draw: np.random.Generator, strength: float) -> Floats:
    """Grey by other weights than equal ones; seasons change colours against each other."""
    weights = 1 / 3 + strength * draw.normal(0, 0.3, 3)
    grey = pixels.astype(np.float64) @ (weights / max(weights.sum(), 0.3))
    return np.asarray(grey - grey.mean() + draw.uniform(80, 170))


def tones(grey: Floats, draw: np.random.Generator) -> Floats:
    """Another contrast, and a curve: dark parts spread or pressed together."""
    spread = (grey - grey.mean()) * np.exp(draw.uniform(-0.6, 0.5)) + grey.mean()
    unit = np.clip(spread / 255, 0, 1)
    return np.asarray(255 * unit ** float(np.exp(draw.normal(0, 0.3))))


def uneven(draw: np.random.Generator, strength: float) -> Floats:
    """A slowly changing factor around one: haze, clouds' shade, the lens."""
    coarse = draw.normal(0, strength, (int(draw.integers(2, 6)), int(draw.integers(2, 6))))
    return np.asarray(1 + cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC))


def levels(grey: Floats) -> Bytes:
    return np.asarray(np.clip(np.rint(grey), 0, 255), np.uint8)


if __name__ == "__main__":
    main()
