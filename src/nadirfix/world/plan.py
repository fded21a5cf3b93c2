"""The whole place as plain data: where everything is, at both dates, before a pixel is painted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nadirfix.world.boxes import Box
from nadirfix.world.layout import make_layout
from nadirfix.world.noise import Noise
from nadirfix.world.parcels import Block, make_blocks
from nadirfix.world.plants import Plants, make_plants
from nadirfix.world.roads import Border, Road, borders, make_river, make_roads
from nadirfix.world.season import SEASONS, Season
from nadirfix.world.settlements import place_buildings

__all__ = ["Sun", "WorldPlan", "make_plan"]


@dataclass(frozen=True)
class Sun:
    """Where the light comes from: azimuth clockwise from north, and height above the horizon."""

    azimuth_deg: float
    elevation_deg: float


@dataclass(frozen=True, eq=False)
class WorldPlan:
    """A place at two dates."""

    size_m: float
    seed: int
    noise: Noise
    blocks: tuple[Block, ...]
    borders: tuple[Border, ...]
    roads: tuple[Road, ...]
    river: Road
    boxes: tuple[Box, ...]
    plants: Plants
    seasons: tuple[Season, Season]
    suns: tuple[Sun, Sun]
    soil: tuple[float, float, float]


def make_plan(*, size_m: float, seed: int) -> WorldPlan:
    """Lay out the place of one seed."""
    noise = Noise.seeded(seed)
    layout = make_layout(size_m=size_m, seed=seed, noise=noise)
    lines = borders(layout, noise)
    river = make_river(size_m=size_m, seed=seed, noise=noise)
    blocks = make_blocks(layout, river, size_m=size_m, seed=seed, noise=noise)
    roads = make_roads(layout, lines, river, seed=seed)
    town = place_buildings(blocks, roads, river, size_m=size_m, seed=seed)
    seasons, suns, soil = _weather(seed)
    plants = make_plants(
        blocks, lines, roads, river, town, size_m=size_m, seed=seed, noise=noise, seasons=seasons
    )
    return WorldPlan(
        size_m, seed, noise, blocks, lines, roads, river, tuple(town.boxes), plants, seasons, suns, soil
    )


def _weather(seed: int) -> tuple[tuple[Season, Season], tuple[Sun, Sun], tuple[float, float, float]]:
    """Two different seasons, one picture taken before noon and one after, and the colour of the soil."""
    rng = np.random.default_rng([seed, 6])
    first = int(rng.integers(len(SEASONS)))
    second = (first + int(rng.integers(1, len(SEASONS)))) % len(SEASONS)
    seasons = SEASONS[first], SEASONS[second]
    turn = rng.choice([-1, 1])
    suns = tuple(
        Sun(180 + k * turn * rng.uniform(22, 52), s.sun_elevation_deg + rng.uniform(-4, 4))
        for k, s in zip((1, -1), seasons, strict=True)
    )
    soils = ((134, 110, 86), (150, 126, 98), (142, 104, 78), (122, 104, 88), (160, 140, 112))
    return seasons, (suns[0], suns[1]), soils[int(rng.integers(len(soils)))]
