"""Ground on which nothing can be told apart: a lake and forests, laid into a world of two dates."""

from __future__ import annotations

import dataclasses
import math

import cv2
import numpy as np

from nadirfix.types import Point
from nadirfix.world.make import World

__all__ = ["DISC_M", "GROUNDS", "covered", "middle"]

#: Radius of each piece, and where its middle lies, as a share of the world's sides.
DISC_M = 300.0
#: What is laid where. Waves are of their own at each date; crowns too, or the same under another sun.
GROUNDS = {"water": (0.25, 0.25), "forest, other crowns": (0.75, 0.25), "forest, same crowns": (0.25, 0.75)}

_CROWN_M = 7.0
_SUNS_DEG = (140.0, 220.0)
_WATER = np.array([(52.0, 66.0, 60.0), (64.0, 78.0, 72.0)])
_LEAVES = np.array([(58.0, 92.0, 44.0), (74.0, 98.0, 52.0)])


def covered(world: World, *, seed: int) -> World:
    """The world with a lake and two closed forests in it, at both dates."""
    pictures = []
    for date, picture in enumerate((world.old, world.new)):
        laid = picture.copy()
        for name, place in GROUNDS.items():
            _lay(laid, _drawn(name, date, world.affine[0], seed), place)
        pictures.append(laid)
    return dataclasses.replace(world, old=pictures[0], new=pictures[1])


def middle(world: World, name: str) -> Point:
    """Where the middle of a piece lies."""
    across, down = GROUNDS[name]
    gsd_m, west_m, north_m = world.affine[0], world.affine[2], world.affine[5]
    rows, columns = world.old.shape[:2]
    return Point(west_m + across * columns * gsd_m, north_m - down * rows * gsd_m, world.epsg)


def _lay(picture: np.ndarray, piece: np.ndarray, place: tuple[float, float]) -> None:
    side = len(piece)
    left, top = (round(s * n) - side // 2 for s, n in zip(place, picture.shape[1::-1], strict=True))
    inside = cv2.circle(np.zeros((side, side), np.uint8), (side // 2, side // 2), side // 2, 1, -1) > 0
    window = picture[top : top + side, left : left + side]
    window[inside] = piece[inside]


def _drawn(name: str, date: int, gsd_m: float, seed: int) -> np.ndarray:
    side = round(2 * DISC_M / gsd_m)
    rng = np.random.default_rng([seed, sum(name.encode()), 0 if "same" in name else date])
    drawn = _water(side, gsd_m, date, rng) if name == "water" else _forest(side, gsd_m, date, rng)
    return np.clip(np.rint(drawn), 0, 255).astype(np.uint8)


def _water(side: int, gsd_m: float, date: int, rng: np.random.Generator) -> np.ndarray:
    """Waves of a few metres across the wind, and slow swells of light."""
    waves = np.zeros((side, side), np.float32)
    for length_m, levels in ((2.0, 3.0), (6.0, 3.0), (120.0, 4.0)):
        noise = rng.normal(0, 1, (side, side)).astype(np.float32)
        soft = cv2.GaussianBlur(noise, (0, 0), length_m / gsd_m / 2, sigmaY=length_m / gsd_m / 5)
        waves += levels * soft / soft.std()
    turned = cv2.getRotationMatrix2D((side / 2, side / 2), rng.uniform(0, 180), math.sqrt(2))
    blown = cv2.warpAffine(waves, turned, (side, side), borderMode=cv2.BORDER_REFLECT_101)
    return _WATER[date] + blown[..., None]


def _forest(side: int, gsd_m: float, date: int, rng: np.random.Generator) -> np.ndarray:
    """Crown beside crown, lit from where the sun stands at that date."""
    step = _CROWN_M / gsd_m
    at = np.arange(0, side, step)
    x, y = (np.clip(a + rng.uniform(-0.4, 0.4, a.shape) * step, 0, side - 1) for a in np.meshgrid(at, at))
    trunks = np.ones((side, side), np.uint8)
    trunks[y.astype(int), x.astype(int)] = 0
    away, whose = cv2.distanceTransformWithLabels(trunks, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    height = np.maximum(1 - (away / (0.75 * step)) ** 2, 0).astype(np.float32)
    tone = rng.uniform(0.8, 1.2, int(whose.max()) + 1)[whose]
    sun = math.radians(_SUNS_DEG[date])
    slope = cv2.Sobel(height, cv2.CV_32F, 1, 0) * math.sin(sun)
    slope -= cv2.Sobel(height, cv2.CV_32F, 0, 1) * math.cos(sun)
    light = (0.45 + 0.55 * height - 0.25 * slope) * tone
    return _LEAVES[date] * light[..., None]
