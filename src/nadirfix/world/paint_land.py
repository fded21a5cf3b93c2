"""Painting the land itself: parcels with their crops, meadows, forest floor, gardens, the quarry."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.world.noise import Floats, chance
from nadirfix.world.parcels import Block, parcel_crop, rows_at
from nadirfix.world.plan import WorldPlan
from nadirfix.world.season import Crop, Season, linear
from nadirfix.world.tile import Tile, Window, covered, mix
from nadirfix.world.trace import stripe, trace

__all__ = ["paint_land"]

_HEADLAND_M = 11.0


@dataclass(frozen=True, eq=False)
class _Ground:
    """One block's pixels with their place along and across the rows."""

    window: Window
    mine: NDArray[np.bool_]
    u_m: Floats
    v_m: Floats
    parcel: NDArray[np.intp]
    edge_m: Floats  # to the nearest border of the block
    cut_m: Floats  # to the nearest border between parcels


def paint_land(tile: Tile, plan: WorldPlan) -> None:
    """Give every pixel of the tile its ground."""
    season = plan.seasons[tile.date]
    tile.albedo[:] = linear(season.grass)
    numbers = _numbers(tile, plan)
    edge_m = _edges(tile, plan)
    for block in plan.blocks:
        ground = _ground(tile, block, numbers, edge_m)
        if ground is not None:
            _paint_block(tile, plan, block, ground, season)


def _numbers(tile: Tile, plan: WorldPlan) -> NDArray[np.int32]:
    numbers = np.full((tile.height_px, tile.width_px), -1, np.int32)
    corner = np.array([tile.x0_m, tile.y0_m])
    for block in plan.blocks:
        px = (block.outline - corner) / tile.gsd_m - 0.5
        if (px.max(axis=0) < 0).any() or (px.min(axis=0) > (tile.width_px, tile.height_px)).any():
            continue
        cv2.fillPoly(numbers, [np.round(px * 16).astype(np.int32)], block.number, shift=4)
    return numbers


def _edges(tile: Tile, plan: WorldPlan) -> Floats:
    edge_m = np.full((tile.height_px, tile.width_px), 99, np.float32)
    for line in plan.borders:
        distances = trace(tile, line.points, _HEADLAND_M + 3)
        if distances is not None:
            np.minimum(edge_m[distances.window.at], distances.away_m, out=edge_m[distances.window.at])
    return edge_m


def _ground(tile: Tile, block: Block, numbers: NDArray[np.int32], edge_m: Floats) -> _Ground | None:
    low, high = block.outline.min(axis=0), block.outline.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    window = tile.window(float(middle[0]), float(middle[1]), float(half[0]), float(half[1]))
    if window is None:
        return None
    mine = numbers[window.at] == block.number
    if not mine.any():
        return None
    u, straight = rows_at(block, window.x_m, window.y_m)
    v = straight + tile.bow[window.at]
    strip = np.searchsorted(block.cuts_m, v)
    parcel = 2 * strip + (u > block.ends_m[strip])
    walls = np.concatenate([[-1e4], block.cuts_m, [1e4]]).astype(np.float32)
    cut = np.minimum(v - walls[strip], walls[strip + 1] - v)
    cut = np.minimum(cut, np.abs(u - block.ends_m.astype(np.float32)[strip]))
    return _Ground(window, mine, u, v, parcel, edge_m[window.at], cut)


def _paint_block(tile: Tile, plan: WorldPlan, block: Block, ground: _Ground, season: Season) -> None:
    crops = _parcel_crops(plan, block, ground, tile.date, season)
    colour = _crop_colour(tile, plan, block, ground, crops)
    paved = block.use in ("works", "centre")
    margin = 0.0 if paved else covered(1.5 - ground.edge_m, tile.gsd_m)
    if block.use in ("field", "meadow", "vineyard", "orchard"):
        wide = 0.35 + 0.8 * float(chance(plan.seed, block.number, 24))
        strength = 0.4 if block.use == "meadow" else 1.0
        margin = np.maximum(margin, strength * covered(np.float32(wide) - ground.cut_m, tile.gsd_m))
    if block.use in ("meadow", "wood", "park", "housing"):
        _tread(tile, ground, colour)
    verge = linear(season.verge) * (1 + 0.28 * tile.grain[ground.window.at])[..., None]
    colour += np.asarray(margin, np.float32)[..., None] * (verge - colour)
    np.copyto(tile.albedo[ground.window.at], colour, where=ground.mine[..., None])
    if block.use == "quarry":
        _dig(tile, block, ground)


def _tread(tile: Tile, ground: _Ground, colour: Floats) -> None:
    """Footpaths, and tussocks and bare spots beside them."""
    at = ground.window.at
    worn = np.clip(0.55 + 0.4 * tile.patches[at], 0, 0.9)
    mix(
        colour,
        covered(0.5 + 0.2 * tile.lumps[at] - tile.trails[at], max(tile.gsd_m, 0.5)) * worn,
        linear((158, 142, 112)),
    )
    tufts = np.clip(tile.lumps[at] + 0.4 * tile.patches[at] - 0.9, 0, 1)
    colour *= (1 - 0.35 * tufts)[..., None]


def _parcel_crops(plan: WorldPlan, block: Block, ground: _Ground, date: int, season: Season) -> list[Crop]:
    """The crop of each parcel of a block as painted, by parcel number."""
    crops = []
    for parcel in range(int(ground.parcel.max()) + 1):
        crop = season.crops[parcel_crop(block, parcel, date=date, seed=plan.seed)]
        luck = chance(plan.seed, block.number, parcel, date, np.arange(3)) - 0.5
        own = float(chance(plan.seed, block.number, parcel, 74))
        rgb = tuple(
            np.clip(
                np.array(_base(block, crop, season, own)) * (1 + 0.16 * luck[0]) + 10 * luck * (1, 0, -1),
                8,
                250,
            )
        )
        begun = float(chance(plan.seed, block.number, parcel, date, 73) < crop.worked)
        crops.append(_fitting(block, replace(crop, rgb=rgb, worked=begun)))
    return crops


def _base(block: Block, crop: Crop, season: Season, luck: float) -> tuple[float, float, float]:
    """The colour of a parcel before its own small variation."""
    if block.use == "field":
        return crop.rgb
    if block.use == "wood":
        r, g, b = season.grass
        return 0.74 * r, 0.76 * g, 0.74 * b
    if block.use == "quarry":
        return 186, 172, 148
    if block.use in ("works", "centre") and luck < 0.78:
        paved = ((138, 134, 128), (156, 150, 138), (118, 118, 118), (146, 136, 122))
        return paved[int(luck * 5.1)]
    if block.use in ("housing", "park", "village", "works", "centre"):
        return season.lawn if luck < 0.85 else season.verge
    return season.grass


def _fitting(block: Block, crop: Crop) -> Crop:
    if block.use == "field":
        return crop
    if block.use == "vineyard":
        return replace(crop, cover=0.9, row_m=2.2, row_amp=0.42, pass_amp=0.03, mottle=0.1, height_m=0.0)
    if block.use == "orchard":
        return replace(crop, cover=0.9, row_m=6.0, row_amp=0.06, pass_amp=0.02, mottle=0.14)
    rough = {"quarry": 0.1, "wood": 0.25, "works": 0.1, "centre": 0.13, "meadow": 0.24}.get(block.use, 0.2)
    return replace(crop, cover=0.94, row_amp=0.0, pass_amp=0.0, tram=0.0, mottle=rough, worked=0.0)


def _crop_colour(tile: Tile, plan: WorldPlan, block: Block, ground: _Ground, crops: list[Crop]) -> Floats:
    """Soil and crop mixed by growth, with patches and, where it is tilled, the marks of work."""
    at = ground.window.at
    mottle, growth, tall = (_each(crops, name, ground) for name in ("mottle", "cover", "height_m"))
    bright = 1 + mottle * (0.7 * tile.patches[at] + 0.75 * tile.grain[at])
    cover = growth * (1 + 0.16 * tile.patches[at])
    if block.use in ("field", "orchard", "vineyard"):
        _till(tile, block, ground, crops, (bright, cover))
    cover = np.clip(cover, 0, 1)[..., None]
    table = np.stack([linear(np.array(crop.rgb)) for crop in crops])
    soil = linear(plan.soil) * (1 + 0.22 * tile.damp[at] + 0.10 * tile.grain[at])[..., None]
    tile.height[at] += np.where(ground.mine, tall * (ground.edge_m > 2), 0)
    return np.asarray((soil + cover * (table[ground.parcel] - soil)) * np.maximum(bright, 0.15)[..., None])


def _each(crops: list[Crop], name: str, ground: _Ground) -> Floats:
    """One property of the parcels' crops, for every pixel."""
    return np.array([getattr(crop, name) for crop in crops], np.float32)[ground.parcel]


def _till(tile: Tile, block: Block, ground: _Ground, crops: list[Crop], paint: tuple[Floats, Floats]) -> None:
    """Rows, passes, tramlines, and where the work of the day stopped; changes brightness and cover."""
    bright, cover = paint
    row_m, row_amp, pass_m, pass_amp, tram, begun = (
        _each(crops, name, ground) for name in ("row_m", "row_amp", "pass_m", "pass_amp", "tram", "worked")
    )
    # On the headland the tractor turns: rows follow the border there.
    across = np.where(ground.edge_m < _HEADLAND_M, ground.edge_m + np.float32(0.37), ground.v_m)
    streak = tile.noise.drawn(ground.u_m / 45, across / pass_m, block.number)
    fine = tile.noise.drawn(ground.u_m / 7, across / np.float32(max(0.9, 1.2 * tile.gsd_m)), block.number + 7)
    bright += row_amp * _rows(across, row_m, tile.gsd_m) + pass_amp * (streak + np.float32(0.7) * fine)
    cover += np.float32(0.1) * streak * (cover < 0.85)
    stops = (60 * np.sin(block.number + np.arange(len(crops)))).astype(np.float32)
    cover *= 1 - np.float32(0.9) * begun * (ground.u_m > stops[ground.parcel])
    cover -= np.float32(0.75) * tram * _trams(ground, tile.gsd_m)


def _rows(across: Floats, spacing_m: Floats, gsd_m: float) -> Floats:
    """Rows fade where the pixels cannot hold them, instead of beating against the grid."""
    visible = np.clip((spacing_m / np.float32(gsd_m) - 2.0) / 1.2, 0, 1)
    return np.asarray(visible * np.cos(2 * np.pi * across / spacing_m), np.float32)


def _trams(ground: _Ground, gsd_m: float) -> Floats:
    """The wheel tracks of the sprayer: pairs of bare lines every 24 m."""
    beside = np.abs((ground.v_m / 24 + 0.5) % 1 - 0.5) * 24
    lines = stripe(beside.astype(np.float32), 0.95, 0.5, gsd_m)
    head = stripe(ground.edge_m, _HEADLAND_M - 0.95, 0.5, gsd_m) + stripe(
        ground.edge_m, _HEADLAND_M + 0.95, 0.5, gsd_m
    )
    return np.where(ground.edge_m > _HEADLAND_M + 1.2, lines, head).astype(np.float32)


def _dig(tile: Tile, block: Block, ground: _Ground) -> None:
    """Benches going down towards the middle, and water at the bottom."""
    at = ground.window.at
    reach = float(np.hypot(block.outline[:, 0] - block.x_m, block.outline[:, 1] - block.y_m).min())
    out = np.hypot(ground.window.x_m - block.x_m, ground.window.y_m - block.y_m) / np.float32(reach)
    out = out + 0.10 * tile.patches[at]
    level = np.clip(1 - out, 0, 1) * 5
    smooth = np.floor(level) + np.clip((level % 1) * 6, 0, 1)
    tile.height[at] -= np.where(ground.mine, 4.5 * smooth, 0).astype(np.float32)
    wall = np.where(ground.mine & (level > 0.05), np.clip(1 - (level % 1) * 6, 0, 1), 0)
    mix(tile.albedo[at], (0.5 * wall).astype(np.float32), linear((128, 112, 92)))
    pool = np.where(ground.mine, covered((level - 4.1).astype(np.float32) * 12, tile.gsd_m), 0)
    mix(tile.albedo[at], pool.astype(np.float32), linear((78, 112, 108)))
