"""Painting crowns one by one: domes with leaf clumps, in the colours of the season."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nadirfix.world.noise import Floats
from nadirfix.world.plan import WorldPlan
from nadirfix.world.plants import BALE, BUSH, CONIFER
from nadirfix.world.season import Season, linear
from nadirfix.world.tile import Tile, covered

__all__ = ["paint_plants"]


class _Crown(NamedTuple):
    x_m: float
    y_m: float
    radius_m: float
    height_m: float
    species: int
    tint: float


def paint_plants(tile: Tile, plan: WorldPlan) -> None:
    """Every crown that stands here at this date."""
    plants, season = plan.plants, plan.seasons[tile.date]
    near = tile.near(plants.x_m, plants.y_m, 8.0)
    near = near[(plants.date[near] == 2) | (plants.date[near] == tile.date)]
    columns = (plants.x_m, plants.y_m, plants.radius_m, plants.height_m, plants.species, plants.tint)
    for row in zip(*(c[near].tolist() for c in columns), strict=True):
        _paint(tile, _Crown(*row), season)


def _paint(tile: Tile, crown: _Crown, season: Season) -> None:
    window = tile.window(crown.x_m, crown.y_m, crown.radius_m * 1.25, crown.radius_m * 1.25)
    if window is None:
        return
    at = window.at
    lumps = tile.lumps[at]
    dx, dy = window.x_m - np.float32(crown.x_m), window.y_m - np.float32(crown.y_m)
    away = np.sqrt(dx * dx + dy * dy) * np.float32(1 / crown.radius_m)
    if crown.species != BALE:
        away += np.float32(0.14) * lumps
    over = covered((1 - away) * np.float32(crown.radius_m), tile.gsd_m)
    z = _dome(crown, away) + np.float32(0.3 if crown.species == BUSH else 0.55) * lumps
    height = tile.height[at]
    over *= z > height
    rgb, thin = _leaves(crown, season)
    if thin:
        over *= np.clip(0.55 + 0.6 * lumps, 0.0, 0.9)
    albedo = tile.albedo[at]
    albedo += over[..., None] * (rgb * (1 + np.float32(0.22) * lumps)[..., None] - albedo)
    np.copyto(height, z, where=over > 0.45)


def _dome(crown: _Crown, away: Floats) -> Floats:
    if crown.species == CONIFER:
        return np.float32(crown.height_m * 1.25) * (1 - np.float32(0.75) * away)
    rest = np.sqrt(np.maximum(1 - away * away, 0))
    return np.float32(crown.height_m) * (np.float32(0.45) + np.float32(0.55) * rest)


def _leaves(crown: _Crown, season: Season) -> tuple[Floats, bool]:
    """The crown's colour, and whether one sees through it."""
    if crown.species == BALE:
        return linear((196, 176, 122)), False
    palette = season.conifer if crown.species == CONIFER else season.broadleaf
    k = crown.tint * len(palette)
    shade = 0.85 + 0.3 * ((crown.tint * 97.0) % 1)
    leafless = crown.species != CONIFER and (crown.tint * 31.0) % 1 < season.leafless_share
    rgb = (112.0, 100.0, 86.0) if leafless else palette[int(k)]
    return linear(rgb) * np.float32(shade), leafless
