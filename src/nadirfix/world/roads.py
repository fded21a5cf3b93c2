"""Roads, streets, lanes and tracks as curves with a width, and the river they cross."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nadirfix.world.layout import Array, Edge, Layout, bent
from nadirfix.world.noise import Noise, chance

__all__ = ["ROAD_KINDS", "Border", "Road", "along", "borders", "make_river", "make_roads", "resampled"]

#: From what is painted first to what lies on top.
ROAD_KINDS = ("track", "gravel", "lane", "street", "main")
_WIDTH_M = {"track": 2.8, "gravel": 3.4, "lane": 4.6, "street": 6.2, "main": 7.6}


@dataclass(frozen=True, eq=False)
class Road:
    """A curve people drive on, or a river."""

    points: Array
    width_m: float
    kind: str
    here: tuple[bool, bool] = (True, True)  # at the old and at the new date
    salt: int = 0
    blocks: tuple[int, int] = (-1, -1)  # to either side


@dataclass(frozen=True, eq=False)
class Border:
    """The curve between two blocks."""

    points: Array
    edge: Edge


def resampled(points: Array, step_m: float) -> Array:
    """The same curve with a point at least every so many metres."""
    done = [points[:1]]
    for a, b in pairwise(points):
        n = max(math.ceil(float(np.hypot(*(b - a))) / step_m), 1)
        done.append(a + (b - a) * (np.arange(1, n + 1) / n)[:, None])
    return np.concatenate(done)


def along(points: Array) -> Array:
    """Metres from the start to every point of a curve."""
    steps = np.hypot(*np.diff(points, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(steps)])


def borders(layout: Layout, noise: Noise) -> tuple[Border, ...]:
    """The borders of all blocks as they lie on the ground."""
    return tuple(
        Border(bent(resampled(layout.vertices[[e.start, e.end]], 9.0), noise), e) for e in layout.edges
    )


def make_river(*, size_m: float, seed: int, noise: Noise) -> Road:
    """A river that wanders through the whole map, past its middle."""
    rng = np.random.default_rng([seed, 2])
    angle, side = rng.uniform(0, math.pi), rng.choice([-1, 1]) * rng.uniform(0.16, 0.27) * size_m
    t = np.arange(-0.9 * size_m, 0.9 * size_m, 9.0)
    swing_m = rng.uniform(0.035, 0.06) * max(size_m, 1500)
    wave = noise.at(t, 0 * t, 300.0, 61) + 0.5 * noise.at(t, 0 * t, 130.0, 62)
    v = side + swing_m * wave + 0.06 * size_m * noise.at(t, 0 * t, 900.0, 63)
    u = t + 0.6 * swing_m * noise.at(t, 0 * t + 5000, 170.0, 64)
    c, s = math.cos(angle), math.sin(angle)
    points = np.stack([0.5 * size_m + c * u - s * v, 0.5 * size_m + s * u + c * v], axis=1)
    return Road(points, rng.uniform(11, 20), "river")


def make_roads(layout: Layout, lines: tuple[Border, ...], river: Road, *, seed: int) -> tuple[Road, ...]:
    """Every border that is driven on, plus tracks through the country; few of them cross the river."""
    roads = []
    for i, line in enumerate(lines):
        kind = _kind(layout, line.edge, float(chance(seed, i, 5)))
        if kind is None or (kind not in ("main", "street") and _wet(line.points, river)):
            continue
        here = _comes_or_goes(kind, float(chance(seed, i, 6)))
        roads.append(Road(line.points, _WIDTH_M[kind] * _varied(seed, i), kind, here, i, line.edge.blocks))
    return tuple(sorted(roads, key=lambda r: ROAD_KINDS.index(r.kind)))


def _varied(seed: int, i: int) -> float:
    return 0.9 + 0.25 * float(chance(seed, i, 7))


def _kind(layout: Layout, edge: Edge, luck: float) -> str | None:
    if edge.main:
        return "main"
    inside = [layout.cluster_of[b] >= 0 for b in edge.blocks]
    if all(inside):
        return "street" if luck < 0.92 else None
    if any(inside):
        return "lane" if luck < 0.5 else "gravel"
    return "lane" if luck < 0.14 else "gravel" if luck < 0.30 else "track" if luck < 0.62 else None


def _comes_or_goes(kind: str, luck: float) -> tuple[bool, bool]:
    if kind not in ("track", "gravel") or luck < 0.72:
        return True, True
    return (True, False) if luck < 0.85 else (False, True)


def _wet(points: Array, river: Road) -> bool:
    gaps = np.hypot(*(points[:, None] - river.points[None]).transpose(2, 0, 1))
    return bool(gaps.min() < river.width_m)
