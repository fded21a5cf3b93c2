"""Sunlight on a painted tile: slopes, cast shadows, haze, and the camera that takes the picture."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.world.noise import Floats
from nadirfix.world.plan import Sun, WorldPlan
from nadirfix.world.tile import Tile

__all__ = ["SHADOW_M", "photographed"]

#: No shadow is followed farther than this.
SHADOW_M = 30.0

_SKY = np.array([0.20, 0.235, 0.29], np.float32)
_STEEPEST = 1.4
_SATURATION = 0.86


def photographed(tile: Tile, plan: WorldPlan) -> NDArray[np.uint8]:
    """The tile as a picture: display values 0-255."""
    sun, season = plan.suns[tile.date], plan.seasons[tile.date]
    lit = _lit(tile, sun) * (1 - _shadow(tile, sun))
    warm = np.array([1 + season.warmth, 1.0, 1 - season.warmth], np.float32)
    light = _SKY + (1 - _SKY.mean()) * warm * lit[..., None]
    light *= tile.albedo
    image = cv2.transform(cv2.sqrt(np.maximum(light, 0, out=light)), _through_air(season.haze))
    image = cv2.GaussianBlur(image, (0, 0), 0.42, borderType=cv2.BORDER_REFLECT)
    noisy = image * 255 + 1.8 * _sensor_noise(tile)[..., None]
    return np.asarray(np.clip(np.rint(noisy), 0, 255), np.uint8)


def _through_air(haze: float) -> Floats:
    """Haze lightens, and a plain mixture of paints is gaudier than anything seen through air."""
    clear = (1 - haze) * (_SATURATION * np.eye(3) + (1 - _SATURATION) / 3)
    return np.column_stack([clear, haze * np.array([0.72, 0.76, 0.82])]).astype(np.float32)


def _lit(tile: Tile, sun: Sun) -> Floats:
    """How squarely the sun strikes each pixel; flat ground is 1."""
    # Turf and clods are rough; roofs are not, and crowns have their own clumps.
    relief = tile.height + np.where(tile.height > 1.2, 0, np.float32(0.04) * tile.grain)
    slope_x = _slope(relief, 1, tile.gsd_m) + _slope(tile.relief, 1, tile.gsd_m)
    slope_y = _slope(relief, 0, tile.gsd_m) + _slope(tile.relief, 0, tile.gsd_m)
    east, south, up = _towards(sun)
    facing = up - east * slope_x - south * slope_y
    steep = np.sqrt(1 + slope_x * slope_x + slope_y * slope_y)
    return np.clip(facing / (steep * np.float32(up)), 0, 1.7).astype(np.float32)


def _slope(height: Floats, axis: int, gsd_m: float) -> Floats:
    """Rise per metre, taken from the flatter side: a wall seen from above has no face."""
    step = np.diff(height, axis=axis) / np.float32(gsd_m)
    first, last = np.take(step, [0], axis=axis), np.take(step, [-1], axis=axis)
    before, after = np.concatenate([first, step], axis=axis), np.concatenate([step, last], axis=axis)
    flatter = np.where(np.abs(before) < np.abs(after), before, after)
    return np.clip(np.where(before * after > 0, flatter, 0), -_STEEPEST, _STEEPEST)


def _towards(sun: Sun) -> tuple[float, float, float]:
    """The direction to the sun: east, south, up."""
    a, e = math.radians(sun.azimuth_deg), math.radians(sun.elevation_deg)
    return math.sin(a) * math.cos(e), -math.cos(a) * math.cos(e), math.sin(e)


def _shadow(tile: Tile, sun: Sun) -> Floats:
    """Where something between here and the sun is higher: 1 in full shadow.

    The height of the shadow's ceiling is swept away from the sun, doubling the stride each time.
    """
    east, south, up = _towards(sun)
    flat = math.hypot(east, south)
    ceiling, stride_m = tile.height.copy(), tile.gsd_m
    while stride_m < SHADOW_M:
        shift = np.array(
            [[1, 0, east / flat * stride_m / tile.gsd_m], [0, 1, south / flat * stride_m / tile.gsd_m]]
        )
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        moved = cv2.warpAffine(
            ceiling, shift, ceiling.shape[::-1], flags=flags, borderMode=cv2.BORDER_CONSTANT, borderValue=-99
        )
        ceiling = np.maximum(ceiling, moved - np.float32(stride_m * up / flat))
        stride_m *= 2
    soft = max(0.25, 0.5 * tile.gsd_m)
    return np.clip((ceiling - tile.height - 0.15) / np.float32(soft), 0, 1)


def _sensor_noise(tile: Tile) -> Floats:
    """Noise that belongs to the pixel, other at the two dates."""
    return tile.noise.grid(tile.x_m, tile.y_m, tile.gsd_m, 51 + tile.date)
