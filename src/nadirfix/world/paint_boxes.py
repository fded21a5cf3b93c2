"""Painting what has straight sides: roofs, halls, cars, paving, parking lots, pools and beds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nadirfix.world.boxes import Box, Rgb
from nadirfix.world.noise import Floats
from nadirfix.world.plan import WorldPlan
from nadirfix.world.season import linear
from nadirfix.world.tile import Tile, Window, covered, mix
from nadirfix.world.trace import stripe

__all__ = ["paint_boxes", "paint_yards"]

_YARDS = ("lawn", "paving", "dirt", "parking", "bed", "pool", "pitch", "court", "panels")


@dataclass(frozen=True, eq=False)
class _Patch:
    """A box's pixels in its own directions."""

    window: Window
    u_m: Floats  # along the length, from the middle
    v_m: Floats
    over: Floats  # how much of each pixel the box covers


def paint_yards(tile: Tile, plan: WorldPlan) -> None:
    """What lies flat on the ground: gardens, drives, car parks."""
    for box in _boxes_near(tile, plan, flat=True):
        patch = _patch(tile, box)
        if patch is not None:
            rgb = _FLAT.get(box.kind, _paving)(tile, box, patch)
            mix(tile.albedo[patch.window.at], patch.over, rgb)


def paint_boxes(tile: Tile, plan: WorldPlan) -> None:
    """What stands: houses, halls and cars."""
    for box in _boxes_near(tile, plan, flat=False):
        patch = _patch(tile, box)
        if patch is not None:
            _raise(tile, box, patch)


def _boxes_near(tile: Tile, plan: WorldPlan, *, flat: bool) -> list[Box]:
    boxes = [b for b in plan.boxes if b.here[tile.date] and (b.kind in _YARDS) is flat]
    if not boxes:
        return []
    x, y = (np.array([getattr(b, k) for b in boxes]) for k in ("x_m", "y_m"))
    return [boxes[i] for i in tile.near(x, y, 60.0)]


def _patch(tile: Tile, box: Box) -> _Patch | None:
    c, s = math.cos(box.angle), math.sin(box.angle)
    reach_x = 0.5 * (abs(c) * box.length_m + abs(s) * box.width_m) + tile.gsd_m
    reach_y = 0.5 * (abs(s) * box.length_m + abs(c) * box.width_m) + tile.gsd_m
    window = tile.window(box.x_m, box.y_m, reach_x, reach_y)
    if window is None:
        return None
    dx, dy = window.x_m - np.float32(box.x_m), window.y_m - np.float32(box.y_m)
    u, v = np.float32(c) * dx + np.float32(s) * dy, np.float32(c) * dy - np.float32(s) * dx
    if box.kind == "tank":
        return _Patch(window, u, v, covered(0.5 * box.width_m - np.hypot(u, v), tile.gsd_m))
    over = covered(0.5 * box.length_m - np.abs(u), tile.gsd_m) * covered(
        0.5 * box.width_m - np.abs(v), tile.gsd_m
    )
    return _Patch(window, u, v, over)


def _paving(tile: Tile, box: Box, patch: _Patch) -> Floats:
    at = patch.window.at
    worn = 1 + 0.07 * tile.grain[at] + 0.08 * tile.patches[at]
    return np.asarray(linear(box.rgb) * worn[..., None], np.float32)


def _lawn(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """Lawns have a tint of their own over what the season has put there."""
    at = patch.window.at
    own = linear(box.rgb) / linear((100.0, 116.0, 66.0))
    return np.asarray(tile.albedo[at] * own * (1 + 0.08 * tile.grain[at])[..., None], np.float32)


def _dirt(tile: Tile, box: Box, patch: _Patch) -> Floats:
    at = patch.window.at
    fade = np.clip(
        1 - np.hypot(patch.u_m / box.length_m, patch.v_m / box.width_m) * 2.1 + 0.35 * tile.patches[at] + 0.4,
        0,
        1,
    )
    rgb = linear(box.rgb) * (1 + 0.2 * tile.grain[at])[..., None]
    return np.asarray(tile.albedo[at] + fade[..., None] * (rgb - tile.albedo[at]), np.float32)


def _parking(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """Asphalt with stall lines on both sides of each aisle."""
    rgb = _paving(tile, box, patch)
    row_v = (
        np.abs((patch.v_m / 16.4 + (0.5 if round(box.width_m / 16.4) % 2 == 0 else 0) + 0.5) % 1 - 0.5) * 16.4
    )
    stalls = (row_v > 3.2) & (row_v < 8.1)
    across = np.abs((patch.u_m + 0.5 * box.length_m) / 2.6 % 1 - 0.5) * 2.6
    line = stripe(across.astype(np.float32), 1.3, 0.22, tile.gsd_m) * stalls
    mix(rgb, (0.7 * line).astype(np.float32), linear((206, 206, 200)))
    return rgb


def _bed(tile: Tile, box: Box, patch: _Patch) -> Floats:
    rows = np.cos(2 * np.pi * patch.v_m / 1.25) > 0.1
    green = linear((84, 110, 58)) * (1 + 0.25 * tile.grain[patch.window.at])[..., None]
    return np.where(rows[..., None], green, linear(box.rgb)).astype(np.float32)


def _pool(tile: Tile, box: Box, patch: _Patch) -> Floats:
    rim = np.minimum(0.5 * box.length_m - np.abs(patch.u_m), 0.5 * box.width_m - np.abs(patch.v_m))
    rgb = np.broadcast_to(linear(box.rgb), (*patch.over.shape, 3)).copy()
    mix(rgb, covered(0.6 - rim, tile.gsd_m), linear((206, 198, 184)))
    return rgb


def _pitch(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """A football pitch: mown bands, white lines, worn goal mouths."""
    at = patch.window.at
    bands = np.sign(np.sin(np.pi * patch.u_m / 5.5))
    rgb = linear(box.rgb) * (1 + 0.05 * bands + 0.10 * tile.grain[at])[..., None]
    edge = np.minimum(0.5 * box.length_m - np.abs(patch.u_m), 0.5 * box.width_m - np.abs(patch.v_m))
    goal = np.hypot(np.abs(patch.u_m) - 0.46 * box.length_m, 0.6 * patch.v_m)
    mix(rgb, np.clip(0.9 - goal / 7 + 0.2 * tile.patches[at], 0, 0.7), linear((150, 134, 100)))
    lines = stripe(edge, 2.0, 0.2, tile.gsd_m) + stripe(np.abs(patch.u_m), 0.0, 0.2, tile.gsd_m) * (edge > 2)
    lines = lines + stripe(np.hypot(patch.u_m, patch.v_m), 9.15, 0.2, tile.gsd_m)
    mix(rgb, np.clip(0.8 * lines, 0, 1), linear((226, 228, 220)))
    return np.asarray(rgb, np.float32)


def _court(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """A tennis court with its lines."""
    rgb = _paving(tile, box, patch)
    u, v = np.abs(patch.u_m), np.abs(patch.v_m)
    lines = stripe(u, 11.9, 0.15, tile.gsd_m) * (v < 5.5) + stripe(v, 5.5, 0.15, tile.gsd_m) * (u < 11.9)
    lines = lines + stripe(u, 6.4, 0.15, tile.gsd_m) * (v < 4.1)
    lines = lines + stripe(v, 4.1, 0.15, tile.gsd_m) * (u < 11.9)
    mix(rgb, np.clip(lines, 0, 1), linear((222, 220, 214)))
    return rgb


def _panels(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """Rows of solar panels over grass."""
    beside = np.abs((patch.v_m / 7.5) % 1 - 0.5) * 7.5
    gaps = 1 - stripe(np.abs((patch.u_m / 13.0) % 1 - 0.5) * 13, 0.0, 0.5, tile.gsd_m)
    seams = 1 + 0.15 * stripe(np.abs((patch.u_m / 2.0) % 1 - 0.5) * 2, 0.0, 0.1, tile.gsd_m)
    rgb = tile.albedo[patch.window.at].copy()
    mix(rgb, 0.45 * stripe(beside, 3.2, 1.4, tile.gsd_m), linear((60, 66, 44)))
    mix(rgb, covered(1.9 - beside, tile.gsd_m) * gaps, linear(box.rgb) * seams[..., None])
    return rgb


_FLAT: dict[str, Callable[[Tile, Box, _Patch], Floats]] = {
    "lawn": _lawn,
    "dirt": _dirt,
    "parking": _parking,
    "bed": _bed,
    "pool": _pool,
    "pitch": _pitch,
    "court": _court,
    "panels": _panels,
}


def _raise(tile: Tile, box: Box, patch: _Patch) -> None:
    at = patch.window.at
    z = box.eave_m + _roof(box, patch)
    rgb = _CLAD.get(box.kind, _tiled)(tile, box, patch)
    higher = np.where(z > tile.height[at], patch.over, 0).astype(np.float32)
    mix(tile.albedo[at], higher, rgb)
    tile.height[at] = np.where(higher > 0.15, z, tile.height[at])


def _roof(box: Box, patch: _Patch) -> Floats:
    """Height of the roof above the eaves."""
    across = 1 - np.abs(patch.v_m) / (0.5 * box.width_m)
    if box.kind == "hip":
        ends = (0.5 * box.length_m - np.abs(patch.u_m)) / (0.5 * box.width_m)
        return np.asarray(box.rise_m * np.clip(np.minimum(across, ends), 0, 1), np.float32)
    if box.kind == "greenhouse":
        bay = np.abs((patch.v_m / 6.4) % 1 - 0.5) * 2
        return np.asarray(3.2 + 1.6 * (1 - bay), np.float32)
    if box.kind in ("gable", "hall"):
        return np.asarray(box.rise_m * np.clip(across, 0, 1), np.float32)
    if box.kind == "car":
        return np.where(np.abs(patch.u_m + 0.3) < 0.3 * box.length_m, 0, -0.5).astype(np.float32)
    return np.zeros_like(patch.over)


def _tiled(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """Tiles with weathering, a ridge, a chimney, sometimes roof windows or solar panels."""
    at = patch.window.at
    stains = 1 + 0.09 * tile.grain[at] + 0.10 * tile.patches[at]
    rgb = linear(box.rgb) * stains[..., None]
    ridge = stripe(np.abs(patch.v_m), 0.0, 0.35, tile.gsd_m)
    rgb = rgb * (1 + 0.18 * ridge)[..., None]
    luck = (box.salt * 0.618) % 1
    long_m, wide_m, gsd_m = box.length_m, box.width_m, tile.gsd_m
    if luck < 0.3 and wide_m > 7:
        _patch_on(rgb, patch, (0.1 * long_m, 0.25 * wide_m, 2.6, 1.5), (44, 52, 74), gsd_m=gsd_m)
    if wide_m > 6:
        _patch_on(rgb, patch, ((luck - 0.5) * 0.6 * long_m, 0.0, 0.4, 0.4), (92, 74, 66), gsd_m=gsd_m)
        _patch_on(rgb, patch, (0.2 * long_m, -0.25 * wide_m, 0.45, 0.6), (70, 80, 92), gsd_m=gsd_m)
    return np.asarray(rgb, np.float32)


def _metal(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """Sheet metal with seams and skylights."""
    rgb = (
        linear(box.rgb)
        * (1 + 0.03 * tile.grain[patch.window.at] + 0.05 * tile.patches[patch.window.at])[..., None]
    )
    seam = stripe((np.abs((patch.u_m / 3.0) % 1 - 0.5) * 3).astype(np.float32), 0.0, 0.2, tile.gsd_m)
    light = (np.abs((patch.u_m / 12.0) % 1 - 0.5) < 0.08) & (
        np.abs(np.abs(patch.v_m) - 0.25 * box.width_m) < 2.4
    )
    rgb = rgb * (1 - 0.12 * seam)[..., None]
    mix(rgb, (0.6 * light).astype(np.float32), linear((226, 232, 232)))
    return np.asarray(rgb, np.float32)


def _flat(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """Gravel with a parapet, vents and an engine house."""
    rgb = (
        linear(box.rgb)
        * (1 + 0.06 * tile.grain[patch.window.at] + 0.08 * tile.patches[patch.window.at])[..., None]
    )
    rim = np.minimum(0.5 * box.length_m - np.abs(patch.u_m), 0.5 * box.width_m - np.abs(patch.v_m))
    mix(rgb, 0.6 * covered(0.5 - rim, tile.gsd_m), linear((222, 220, 214)))
    for k in range(5):
        u, v = (((box.salt >> k) * f % 1 - 0.5) * 0.8 for f in (0.618, 0.377))
        rect = u * box.length_m, v * box.width_m, 0.9 + 0.4 * (k == 0), 0.8
        _patch_on(rgb, patch, rect, (110, 112, 116), gsd_m=tile.gsd_m)
    return np.asarray(rgb, np.float32)


def _painted(tile: Tile, box: Box, patch: _Patch) -> Floats:
    """A car: paint, and dark glass before and behind the roof."""
    rgb = np.broadcast_to(linear(box.rgb), (*patch.over.shape, 3)).copy()
    glass = np.maximum(stripe(patch.u_m, 0.9, 0.7, tile.gsd_m), stripe(patch.u_m, -1.6, 0.5, tile.gsd_m))
    mix(rgb, 0.85 * glass, linear((38, 44, 50)))
    return rgb


_CLAD: dict[str, Callable[[Tile, Box, _Patch], Floats]] = {
    "hall": _metal,
    "flat": _flat,
    "car": _painted,
    "greenhouse": _metal,
    "tank": _paving,
}


def _patch_on(
    rgb: Floats, patch: _Patch, rect: tuple[float, float, float, float], colour: Rgb, *, gsd_m: float
) -> None:
    """A small rectangle on a roof: middle and half sizes along and across it."""
    u, v, half_u, half_v = rect
    over = covered(half_u - np.abs(patch.u_m - u), gsd_m) * covered(half_v - np.abs(patch.v_m - v), gsd_m)
    mix(rgb, over, linear(colour))
