"""Blocks of land: what they are used for and how they are cut into parcels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nadirfix.world.layout import Array, Layout, bent
from nadirfix.world.noise import Noise, chance
from nadirfix.world.roads import Road, resampled
from nadirfix.world.season import CROPS

__all__ = ["WOODED", "Block", "make_blocks", "parcel_crop", "parcels_at", "rows_at", "wildness"]

#: Land wilder than this is wood.
WOODED = 0.62


@dataclass(frozen=True, eq=False)
class Block:
    """A piece of land between roads, cut into strips; every strip may be cut once across."""

    number: int
    use: str
    outline: Array
    x_m: float
    y_m: float
    angle: float
    cuts_m: Array  # across the rows, from the middle
    ends_m: Array  # where each strip is cut along the rows
    cluster: int


def make_blocks(layout: Layout, river: Road, *, size_m: float, seed: int, noise: Noise) -> tuple[Block, ...]:
    """All blocks with their use and their cuts."""
    uses = _uses(layout, river, size_m, seed, noise)
    return tuple(
        _block(layout, i, uses[i], seed, noise)
        for i in range(len(layout.sites))
        if len(layout.corners[i]) >= 3
    )


def parcel_crop(block: Block, parcel: int, *, date: int, seed: int) -> int:
    """Which crop stands on a parcel at a date; meadows stay meadows."""
    if block.use != "field":
        return CROPS.index("ley")
    luck = float(chance(seed, block.number, parcel, date, 71))
    weights = np.array([0.2, 0.12, 0.11, 0.2, 0.08, 0.08, 0.12, 0.05, 0.04])
    return int(np.searchsorted(np.cumsum(weights), luck * weights.sum()))


def wildness(noise: Noise, x_m: Array, y_m: Array) -> Array:
    """How little of the land is tilled: slow over the map, 0 on average."""
    return noise.at(x_m, y_m, 620.0, 81) + 0.5 * noise.at(x_m, y_m, 260.0, 82)


def _uses(layout: Layout, river: Road, size_m: float, seed: int, noise: Noise) -> list[str]:
    x, y = layout.sites.T
    damp = np.array([np.hypot(*(river.points - s).T).min() for s in layout.sites])
    wild = wildness(noise, x, y)
    luck = chance(seed, np.arange(len(x)), 83)
    uses = [_use(float(w), float(d), float(p)) for w, d, p in zip(wild, damp, luck, strict=True)]
    for i in np.flatnonzero(layout.cluster_of >= 0):
        uses[i] = _town_use(layout, int(i), float(luck[i]), noise)
    for use in ("quarry", "orchard", "vineyard"):
        _claim(uses, use, layout, size_m, seed)
    return uses


def _use(wild: float, damp_m: float, luck: float) -> str:
    if wild > WOODED:
        return "wood"
    if damp_m < 130 and luck < 0.7:
        return "meadow"
    if wild > 0.45 or luck > 0.92:
        return "meadow"
    return "orchard" if luck > 0.86 else "vineyard" if luck > 0.83 else "field"


def _town_use(layout: Layout, i: int, luck: float, noise: Noise) -> str:
    cluster = layout.clusters[layout.cluster_of[i]]
    x, y = layout.sites[i]
    away = float(cluster.reach(np.array([x]), np.array([y]), noise)[0])
    if cluster.radius_m < 205 and layout.cluster_of[i] > 0:
        return "village"
    if luck > 0.93:
        return "park"
    if away > 0.6 and luck < 0.16:
        return "works"
    roomy = np.ptp(layout.vertices[list(layout.corners[i])], axis=0).prod() > 42_000
    return "centre" if away < 0.45 and not roomy else "housing"


def _claim(uses: list[str], use: str, layout: Layout, size_m: float, seed: int) -> None:
    """Every world has at least one quarry, orchard and vineyard if it has country enough."""
    inside = np.all((layout.sites > 0.06 * size_m) & (layout.sites < 0.94 * size_m), axis=1)
    open_land = [
        i for i in np.flatnonzero(inside & (layout.cluster_of < 0)) if uses[i] in ("field", "meadow")
    ]
    if use not in uses and len(open_land) > 5:
        uses[open_land[int(float(chance(seed, len(use), 85)) * len(open_land))]] = use


def _strip_width_m(use: str, rng: np.random.Generator) -> float:
    """Fields and meadows come in strips of one block's own width, towns in plots."""
    if use in ("field", "meadow", "orchard", "vineyard"):
        return float(rng.choice([18.0, 34.0, 60.0, 95.0], p=[0.16, 0.3, 0.34, 0.2]))
    return float(rng.uniform(13, 28)) if use in ("housing", "village", "centre", "works") else 4000.0


def _block(layout: Layout, i: int, use: str, seed: int, noise: Noise) -> Block:
    ring = layout.vertices[[*layout.corners[i], layout.corners[i][0]]]
    outline = bent(resampled(ring, 9.0), noise)
    x, y = outline.mean(axis=0)
    sides = np.diff(ring, axis=0)
    longest = sides[int(np.argmax(np.hypot(*sides.T)))]
    angle = math.atan2(longest[1], longest[0]) + (math.pi / 2 if chance(seed, i, 86) > 0.75 else 0.0)
    rng = np.random.default_rng([seed, 3, i])
    reach = float(np.hypot(outline[:, 0] - x, outline[:, 1] - y).max())
    narrow = _strip_width_m(use, rng)
    cuts = -reach + np.cumsum(rng.uniform(0.6, 1.5, max(int(3 * reach / narrow), 1)) * narrow)
    cuts = cuts[cuts < reach - 0.3 * narrow]
    ends = np.where(rng.random(len(cuts) + 1) < 0.5, rng.uniform(-0.45, 0.45, len(cuts) + 1) * reach, 9000.0)
    return Block(i, use, outline, float(x), float(y), angle, cuts, ends, int(layout.cluster_of[i]))


def parcels_at(block: Block, x_m: Array, y_m: Array) -> Array:
    """The parcel of a block every point lies on."""
    u, v = rows_at(block, x_m, y_m)
    strip = np.searchsorted(block.cuts_m, v)
    return np.asarray(2 * strip + (u > block.ends_m[strip]))


def rows_at(block: Block, x_m: Array, y_m: Array) -> tuple[Array, Array]:
    """Metres along and across the rows of a block, from its middle."""
    c, s = math.cos(block.angle), math.sin(block.angle)
    dx, dy = x_m - block.x_m, y_m - block.y_m
    return c * dx + s * dy, c * dy - s * dx
