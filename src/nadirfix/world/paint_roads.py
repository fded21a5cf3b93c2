"""Painting what is long: the river with its banks, and every road with its markings, verges and ruts."""

from __future__ import annotations

import numpy as np

from nadirfix.world.noise import Floats
from nadirfix.world.plan import WorldPlan
from nadirfix.world.roads import Road, along
from nadirfix.world.season import Season, linear
from nadirfix.world.tile import Tile, covered, mix
from nadirfix.world.trace import Trace, stripe, trace

__all__ = ["paint_river", "paint_roads"]

_SURFACE = {
    "track": (156, 138, 108),
    "gravel": (184, 172, 148),
    "lane": (140, 138, 134),
    "street": (120, 120, 122),
    "main": (112, 113, 116),
}


def paint_river(tile: Tile, plan: WorldPlan) -> None:
    """Water, banks and sand bars."""
    river, season = plan.river, plan.seasons[tile.date]
    distances = trace(tile, river.points, 0.75 * river.width_m + 16)
    if distances is None:
        return
    at = distances.window.at
    x, y = distances.window.x_m[0], distances.window.y_m[:, 0]
    half = 0.5 * river.width_m * (1 + 0.16 * tile.noise.grid(x, y, 60.0, 31)) + 0.5 * tile.noise.grid(
        x, y, 7.0, 32
    )
    inside = half - distances.away_m
    bank = covered(inside + 7, 6.0) * 0.75
    mix(tile.albedo[at], bank, linear(season.verge) * (0.8 + 0.3 * tile.grain[at])[..., None])
    bar = covered(inside + 1.2, tile.gsd_m) * np.clip(tile.noise.grid(x, y, 55.0, 33) + 0.4, 0, 1)
    mix(tile.albedo[at], bar, linear((176, 164, 138)) * (1 + 0.2 * tile.grain[at])[..., None])
    water = covered(inside, tile.gsd_m)
    mix(tile.albedo[at], water, _water(tile, distances, inside, season))
    tile.height[at] = np.where(water > 0.5, -1.6, tile.height[at] - 1.2 * covered(inside + 2.5, 4.0))


def _water(tile: Tile, distances: Trace, inside_m: Floats, season: Season) -> Floats:
    shallow = np.clip(1 - inside_m / 3.5, 0, 1)[..., None]
    flow = tile.noise.drawn(distances.along_m / 14, distances.away_m / 1.6, 35)
    deep = linear(season.water) * (1 + 0.10 * flow + 0.06 * tile.grain[distances.window.at])[..., None]
    return np.asarray(deep + 0.5 * shallow * (linear((112, 108, 84)) - deep), np.float32)


def paint_roads(tile: Tile, plan: WorldPlan) -> None:
    """All roads of this date, the important ones last."""
    season = plan.seasons[tile.date]
    for road in plan.roads:
        distances = trace(tile, road.points, 0.5 * road.width_m + 5) if road.here[tile.date] else None
        if distances is not None:
            _verge(tile, road, distances, season)
    for road in plan.roads:
        distances = trace(tile, road.points, 0.5 * road.width_m + 3) if road.here[tile.date] else None
        if distances is not None:
            _surface(tile, road, distances, season)


def _verge(tile: Tile, road: Road, distances: Trace, season: Season) -> None:
    """Grass beside the road, a pavement in town."""
    at = distances.window.at
    inside = 0.5 * road.width_m - distances.away_m
    grain = (1 + 0.2 * tile.grain[at])[..., None]
    if road.kind == "street":
        mix(tile.albedo[at], covered(inside + 1.7, tile.gsd_m), linear((156, 152, 146)) * (0.8 + 0.2 * grain))
    else:
        wide = 2.2 + 0.9 * tile.patches[at]
        mix(tile.albedo[at], covered(inside + wide, 1.5), linear(season.verge) * grain)


def _surface(tile: Tile, road: Road, distances: Trace, season: Season) -> None:
    at = distances.window.at
    rough = {"track": 0.9, "gravel": 0.5}.get(road.kind, 0.12)
    inside = 0.5 * road.width_m - distances.away_m + 0.35 * rough * tile.lumps[at]
    over = covered(inside, tile.gsd_m)
    tone = 0.86 + 0.28 * ((road.salt * 0.618) % 1)
    worn = 1 + 0.14 * rough * tile.grain[at] + 0.05 * tile.grain[at] + 0.06 * tile.patches[at]
    rgb = linear(_SURFACE[road.kind]) * (tone * worn)[..., None]
    if road.kind in ("track", "gravel"):
        rgb = _rutted(tile, road, distances, season, rgb)
    else:
        rgb = _marked(tile, road, distances, rgb)
    mix(tile.albedo[at], over, rgb)
    if road.kind != "track":
        tile.height[at] = np.where(over > 0.5, np.maximum(tile.height[at], 0) * 0, tile.height[at])


def _rutted(tile: Tile, road: Road, distances: Trace, season: Season, rgb: Floats) -> Floats:
    """Two wheel tracks with grass between them."""
    at = distances.window.at
    green = {"track": 0.85, "gravel": 0.35}[road.kind]
    middle = covered(0.42 + 0.18 * tile.lumps[at] - distances.away_m, max(tile.gsd_m, 0.4))
    patchy = np.clip(0.6 + 0.5 * tile.patches[at], 0, 1)
    mix(rgb, (green * middle * patchy).astype(np.float32), linear(season.grass))
    return rgb


def _marked(tile: Tile, road: Road, distances: Trace, rgb: Floats) -> Floats:
    """Worn wheel paths, cracks sealed with tar, and white lines on main roads."""
    wheel = stripe(distances.away_m, 0.27 * road.width_m, 0.9, tile.gsd_m)
    rgb = rgb * (1 - 0.10 * wheel)[..., None]
    if road.kind == "main":
        dash = np.clip(3 * (1 - np.abs((distances.along_m / 12) % 1 - 0.5) * 6) + 0.5, 0, 1)
        line = stripe(distances.away_m, 0.0, 0.24, tile.gsd_m) * dash
        line = line + stripe(distances.away_m, 0.5 * road.width_m - 0.4, 0.2, tile.gsd_m)
        # Beyond its ends a curve has only end caps, and no line is painted around those.
        line = line * ((distances.along_m > 0.1) & (distances.along_m < float(along(road.points)[-1]) - 0.1))
        mix(rgb, np.clip(0.85 * line, 0, 1).astype(np.float32), linear((214, 214, 208)))
    return np.asarray(rgb, np.float32)
