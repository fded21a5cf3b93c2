"""How far every pixel lies from a curve, and how far along it: the basis of roads, rivers and borders."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nadirfix.world.layout import Array
from nadirfix.world.noise import Floats
from nadirfix.world.tile import Tile, Window

__all__ = ["Trace", "stripe", "trace"]

#: Farther than anything painted around a curve.
_FAR_M = 1e4
#: Curves have a point at least this often.
_STEP_M = 25.0


@dataclass(frozen=True, eq=False)
class Trace:
    """Distances around one curve."""

    window: Window
    away_m: Floats
    along_m: Floats


def trace(tile: Tile, points: Array, reach_m: float) -> Trace | None:
    """Distances to a curve within reach of it, or nothing when it is off the tile."""
    near = tile.near(points[:, 0], points[:, 1], reach_m + _STEP_M)
    if not near.size:
        return None
    first, last = max(near[0] - 1, 0), near[-1] + 2
    start = float(np.hypot(*np.diff(points[: first + 1], axis=0).T).sum())
    points = points[first:last]
    low, high = points.min(axis=0), points.max(axis=0)
    x, y = 0.5 * (low + high)
    half_x, half_y = 0.5 * (high - low) + reach_m
    window = tile.window(float(x), float(y), float(half_x), float(half_y))
    if window is None:
        return None
    shape = window.y_m.shape[0], window.x_m.shape[1]
    away, reached = np.full(shape, _FAR_M, np.float32), np.zeros(shape, np.float32)
    for a, b in pairwise(points):
        length = float(np.hypot(*(b - a)))
        _segment(tile, window, (away, reached), (a, b, length, start), reach_m)
        start += length
    return Trace(window, away, reached)


def _segment(
    tile: Tile,
    window: Window,
    distances: tuple[Floats, Floats],
    piece: tuple[Array, Array, float, float],
    reach_m: float,
) -> None:
    a, b, length, start = piece
    half_x, half_y = 0.5 * np.abs(b - a) + reach_m
    part = tile.window(0.5 * float(a[0] + b[0]), 0.5 * float(a[1] + b[1]), float(half_x), float(half_y))
    if part is None or length < 1e-6:
        return
    rows = slice(part.rows.start - window.rows.start, part.rows.stop - window.rows.start)
    cols = slice(part.cols.start - window.cols.start, part.cols.stop - window.cols.start)
    away, reached = (f[rows, cols] for f in distances)
    ux, uy = ((b - a) / length).astype(np.float32)
    dx, dy = part.x_m - np.float32(a[0]), part.y_m - np.float32(a[1])
    t = np.clip(ux * dx + uy * dy, 0, np.float32(length))
    d = np.hypot(dx - ux * t, dy - uy * t)[: away.shape[0], : away.shape[1]]
    nearer = d < away
    np.copyto(away, d, where=nearer)
    np.copyto(reached, t[: d.shape[0], : d.shape[1]] + np.float32(start), where=nearer)


def stripe(away_m: Floats, middle_m: float, width_m: float, gsd_m: float) -> Floats:
    """How much of each pixel a painted line covers that runs this far from the middle of the road."""
    room = 0.5 * (width_m + gsd_m) - np.abs(away_m - np.float32(middle_m))
    return np.asarray(np.clip(room / np.float32(gsd_m), 0, min(1.0, width_m / gsd_m)), np.float32)
