"""Everything that grows one by one: woods, copses, hedges, avenues, orchards, gardens; and bales.

One big table of crowns, so that both dates have the same trees in the same places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.world.layout import Array
from nadirfix.world.noise import Noise, chance
from nadirfix.world.parcels import WOODED, Block, parcel_crop, parcels_at, wildness
from nadirfix.world.roads import Border, Road, along
from nadirfix.world.season import Season
from nadirfix.world.settlements import Settlement

__all__ = ["BALE", "BROADLEAF", "BUSH", "CONIFER", "Plants", "make_plants"]

BROADLEAF, CONIFER, BUSH, BALE = range(4)
_CELL_M = 2.0


@dataclass(frozen=True, eq=False)
class _Land:
    """What there is to plant on."""

    blocks: tuple[Block, ...]
    numbers: NDArray[np.int32]
    size_m: float
    seed: int
    noise: Noise

    def number_at(self, x: Array, y: Array) -> NDArray[np.int32]:
        col, row = (np.clip((a / _CELL_M).round().astype(int), 0, len(self.numbers) - 1) for a in (x, y))
        return np.asarray(self.numbers[row, col])

    def use_at(self, x: Array, y: Array) -> NDArray[np.str_]:
        ranks = np.zeros(max(b.number for b in self.blocks) + 2, np.int64)  # the last entry is "no block"
        ranks[[b.number for b in self.blocks]] = np.arange(1, len(self.blocks) + 1)
        return np.array(["none", *(b.use for b in self.blocks)])[ranks[self.number_at(x, y)]]


@dataclass(frozen=True, eq=False)
class Plants:
    """Crowns, one row each."""

    x_m: Array
    y_m: Array
    radius_m: Array
    height_m: Array
    species: NDArray[np.int64]
    tint: Array
    date: NDArray[np.int64]  # 2 when there at both dates

    def where(self, keep: NDArray[np.bool_]) -> Plants:
        """Only some of them."""
        return Plants(*(getattr(self, f.name)[keep] for f in fields(self)))

    @classmethod
    def joined(cls, parts: list[Plants]) -> Plants:
        """All of them in one table."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))


def _block_numbers(blocks: tuple[Block, ...], size_m: float) -> NDArray[np.int32]:
    """Which block every two metres of the map belong to (−1 for none)."""
    side = int(size_m / _CELL_M) + 2
    numbers = np.full((side, side), -1, np.int32)
    for block in blocks:
        cv2.fillPoly(numbers, [np.round(block.outline / _CELL_M).astype(np.int32)], block.number)
    return numbers


def make_plants(
    blocks: tuple[Block, ...],
    lines: tuple[Border, ...],
    roads: tuple[Road, ...],
    river: Road,
    town: Settlement,
    *,
    size_m: float,
    seed: int,
    noise: Noise,
    seasons: tuple[Season, Season],
) -> Plants:
    """Plant the whole map."""
    land = _Land(blocks, _block_numbers(blocks, size_m), size_m, seed, noise)
    free = [_wild(land), _orchards(land)]
    free += [_hedgerows(lines, blocks, seed, noise), _avenues(roads, seed)]
    free.append(_gardens(town, seed))
    free += [_bales(land, date, seasons[date]) for date in (0, 1)]
    plants = Plants.joined(free)
    plants = plants.where(~town.occupancy.taken_at(plants.x_m, plants.y_m))
    return Plants.joined([plants, _garden_hedges(town, seed), _river_trees(river, seed, noise)])


def _crowns(
    x: Array, y: Array, radius: Array, rng: np.random.Generator, *, species: int | NDArray[np.int64] = 0,
    tall: float = 1.9, date: int = 2,
) -> Plants:  # fmt: skip
    n = len(x)
    height = radius * tall * rng.uniform(0.75, 1.25, n)
    kinds = np.broadcast_to(np.asarray(species, np.int64), (n,)).copy()
    return Plants(x, y, radius, height, kinds, rng.random(n), np.full(n, date))


def _candidates(size_m: float, spacing_m: float, rng: np.random.Generator) -> tuple[Array, Array]:
    steps = np.arange(0, size_m, spacing_m)
    x, y = (a.ravel() for a in np.meshgrid(steps, steps))
    return x + rng.uniform(0, spacing_m, x.size), y + rng.uniform(0, spacing_m, x.size)


def _wild(land: _Land) -> Plants:
    """Woods with clearings, copses and lone trees on grassland, park trees."""
    rng = np.random.default_rng([land.seed, 10])
    x, y = _candidates(land.size_m, 4.9, rng)
    use = land.use_at(x, y)
    thick = land.noise.at(x, y, 90.0, 111) + 0.6 * land.noise.at(x, y, 35.0, 112)
    luck = rng.random(x.size)
    wild = wildness(land.noise, x, y) + 0.16 * thick
    wood = np.isin(use, ("wood", "meadow")) & (wild > WOODED - 0.12) & (luck < 0.93) & (thick > -1.6)
    wood |= (use == "wood") & (luck < np.clip(3 * (wild - WOODED + 0.4), 0, 0.3))
    grass = np.isin(use, ("meadow", "quarry")) & ((thick > 1.25) | (luck < 0.008 + 0.02 * (thick > 0.7)))
    town = np.isin(use, ("village", "housing", "centre", "works")) & (luck < 0.03 + 0.1 * (thick > 0.9))
    parks = (use == "park") & (luck < 0.05 + 0.3 * (thick > 0.7))
    keep = wood | grass | town | parks | ((use == "field") & (luck < 0.0004))
    x, y, wood = x[keep], y[keep], wood[keep]
    species = _species(land, x, y, wood, rng)
    size = np.where(
        species == CONIFER, rng.uniform(1.6, 3.0, x.size), rng.gamma(7, 0.47, x.size).clip(1.6, 6.2)
    )
    size = np.where(species == BUSH, rng.uniform(0.6, 1.7, x.size), size)
    return _crowns(x, y, size, rng, species=species, tall=2.5)


def _species(
    land: _Land, x: Array, y: Array, wood: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Stands of conifers inside woods, bushes between the trees outside."""
    stand = land.noise.at(x, y, 190.0, 113) + 0.35 * rng.normal(size=x.size)
    bush = rng.random(x.size) < np.where(wood, 0.05, 0.45)
    return np.where(bush, BUSH, np.where(wood & (stand > 0.6), CONIFER, BROADLEAF))


def _orchards(land: _Land) -> Plants:
    """Fruit trees in rows, one spacing to a block, with gaps where trees have died."""
    rng = np.random.default_rng([land.seed, 11])
    parts = [_crowns(np.zeros(0), np.zeros(0), np.zeros(0), rng)]
    for block in (b for b in land.blocks if b.use == "orchard"):
        reach = float(np.hypot(block.outline[:, 0] - block.x_m, block.outline[:, 1] - block.y_m).max())
        step_u, step_v = rng.uniform(3.6, 5.5), rng.uniform(5.0, 7.5)
        u, v = (
            a.ravel() for a in np.meshgrid(np.arange(-reach, reach, step_u), np.arange(-reach, reach, step_v))
        )
        c, s = math.cos(block.angle), math.sin(block.angle)
        x, y = block.x_m + c * u - s * v, block.y_m + s * u + c * v
        x, y = x + rng.normal(0, 0.15, x.size), y + rng.normal(0, 0.15, x.size)
        keep = (land.number_at(x, y) == block.number) & (rng.random(x.size) < 0.94)
        old = rng.uniform(1.3, 2.4)
        radius = (old * rng.normal(1, 0.13, x.size)).clip(0.7, 3.2)
        parts.append(_crowns(x[keep], y[keep], radius[keep], rng, tall=1.5))
    return Plants.joined(parts)


def _hedgerows(lines: tuple[Border, ...], blocks: tuple[Block, ...], seed: int, noise: Noise) -> Plants:
    """Bushes and trees along borders in the country, beside the road where there is one."""
    rng = np.random.default_rng([seed, 12])
    use = {b.number: b.use for b in blocks}
    parts = [_crowns(np.zeros(0), np.zeros(0), np.zeros(0), rng)]
    for line in lines:
        rural = all(
            use.get(b, "wood") in ("field", "meadow", "orchard", "vineyard") for b in line.edge.blocks
        )
        if not rural or rng.random() > 0.42:
            continue
        x, y = _beside(line.points, rng.choice([-1, 1]) * rng.uniform(4.2, 6), 1.5, rng)
        grown = noise.at(x, y, 45.0, 121) + rng.normal(0, 0.5, x.size)
        keep = grown > rng.uniform(-0.9, 0.3)
        tree = rng.random(x.size) < rng.uniform(0.02, 0.2)
        radius = np.where(tree, rng.uniform(2.2, 4.4, x.size), rng.uniform(0.8, 1.8, x.size))
        parts.append(
            _crowns(x[keep], y[keep], radius[keep], rng, species=np.where(tree, BROADLEAF, BUSH)[keep])
        )
    return Plants.joined(parts)


def _avenues(roads: tuple[Road, ...], seed: int) -> Plants:
    """Trees in line along some main roads and streets."""
    rng = np.random.default_rng([seed, 13])
    parts = [_crowns(np.zeros(0), np.zeros(0), np.zeros(0), rng)]
    for road in roads:
        if road.kind not in ("main", "street", "lane") or rng.random() > 0.3:
            continue
        for side in (-1, 1):
            x, y = _beside(road.points, side * (0.5 * road.width_m + 2.6), rng.uniform(8, 14), rng)
            keep = rng.random(x.size) < 0.8
            parts.append(_crowns(x[keep], y[keep], rng.uniform(1.8, 3.6, int(keep.sum())), rng, tall=2.2))
    return Plants.joined(parts)


def _beside(points: Array, aside_m: float, step_m: float, rng: np.random.Generator) -> tuple[Array, Array]:
    at = along(points)
    s = np.arange(6, max(at[-1] - 6, 6.1), step_m) + rng.uniform(-0.2, 0.2) * step_m
    x, y = (np.interp(s, at, points[:, k]) for k in (0, 1))
    ahead = np.stack(
        [np.interp(s + 1, at, points[:, k]) - np.interp(s - 1, at, points[:, k]) for k in (0, 1)]
    )
    ahead /= np.maximum(np.hypot(*ahead), 1e-6)
    wobble = aside_m + rng.normal(0, 0.25, s.size)
    return x - wobble * ahead[1], y + wobble * ahead[0]


def _gardens(town: Settlement, seed: int) -> Plants:
    """A few trees and bushes in every garden."""
    rng = np.random.default_rng([seed, 14])
    middles = np.array(town.gardens).reshape(-1, 3).repeat(7, axis=0)
    n = len(middles)
    x = middles[:, 0] + rng.uniform(-1, 1, n) * middles[:, 2]
    y = middles[:, 1] + rng.uniform(-1, 1, n) * middles[:, 2]
    species = rng.choice([BROADLEAF, BUSH, CONIFER], n, p=[0.42, 0.5, 0.08])
    radius = np.where(species == BUSH, rng.uniform(0.5, 1.4, n), rng.uniform(1.5, 3.8, n))
    return _crowns(x, y, radius, rng, species=species)


def _garden_hedges(town: Settlement, seed: int) -> Plants:
    rng = np.random.default_rng([seed, 15])
    parts = [_crowns(np.zeros(0), np.zeros(0), np.zeros(0), rng)]
    for ring, height_m in town.hedges:
        at = along(ring)
        s = np.arange(0, at[-1], 0.9)
        x, y = (np.interp(s, at, ring[:, k]) for k in (0, 1))
        keep = ~town.occupancy.taken_at(x, y)
        parts.append(
            _crowns(
                x[keep], y[keep], rng.uniform(0.55, 0.8, int(keep.sum())), rng, species=BUSH, tall=height_m
            )
        )
    return Plants.joined(parts)


def _river_trees(river: Road, seed: int, noise: Noise) -> Plants:
    """Willows and alders along the banks, in groups."""
    rng = np.random.default_rng([seed, 16])
    parts = []
    for side in (-1, 1):
        for row in range(3):
            x, y = _beside(river.points, side * (0.5 * river.width_m + 2 + 4.5 * row), 4.0, rng)
            x, y = x + rng.normal(0, 1.3, x.size), y + rng.normal(0, 1.3, x.size)
            keep = noise.at(x, y, 70.0, 131 + side) + 0.3 * rng.normal(size=x.size) > 0.1 + 0.45 * row
            radius = rng.uniform(1.2, 4.2, x.size)
            parts.append(_crowns(x[keep], y[keep], radius[keep], rng, tall=2.3))
    return Plants.joined(parts)


def _bales(land: _Land, date: int, season: Season) -> Plants:
    """Round bales on fields that were just harvested."""
    rng = np.random.default_rng([land.seed, 17, date])
    x, y = _candidates(land.size_m, 17.0, rng)
    home = land.number_at(x, y)
    keep = np.zeros(x.size, bool)
    for block in (b for b in land.blocks if b.use == "field"):
        mine = np.flatnonzero(home == block.number)
        for parcel in np.unique(parcels := parcels_at(block, x[mine], y[mine])):
            crop = season.crops[parcel_crop(block, int(parcel), date=date, seed=land.seed)]
            if chance(land.seed, block.number, int(parcel), date, 72) < crop.bales:
                keep[mine[parcels == parcel]] = True
    keep &= rng.random(x.size) < 0.8
    return _crowns(x[keep], y[keep], np.full(int(keep.sum()), 0.8), rng, species=BALE, tall=1.5, date=date)
