"""Things with straight sides: houses, halls, cars, driveways, pools; and the ground they take up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.world.layout import Array

__all__ = ["BOTH", "Box", "OccupancyGrid", "Placement", "Rgb", "changes", "pick"]

Rgb = tuple[float, float, float]

BOTH = (True, True)
_CELL_M = 1.0


class Placement(NamedTuple):
    """A place to put something, and which way it points."""

    x_m: float
    y_m: float
    angle: float

    def moved(self, u_m: float, v_m: float) -> Placement:
        """The place so far ahead and to the right."""
        c, s = math.cos(self.angle), math.sin(self.angle)
        return Placement(self.x_m + c * u_m - s * v_m, self.y_m + s * u_m + c * v_m, self.angle)

    def turned(self) -> Placement:
        """The same place, a quarter turn to the right."""
        return Placement(self.x_m, self.y_m, self.angle + math.pi / 2)


@dataclass(frozen=True, kw_only=True)
class Box:
    """An oriented rectangle: ``kind`` says what is painted on it."""

    kind: str
    x_m: float
    y_m: float
    angle: float
    length_m: float
    width_m: float
    rgb: tuple[float, float, float]
    eave_m: float = 0.0
    rise_m: float = 0.0
    here: tuple[bool, bool] = BOTH
    salt: int = 0

    @classmethod
    def on(cls, placement: Placement, kind: str, size_m: tuple[float, float], rgb: Rgb, **more: Any) -> Box:
        """A box of this length and width at a place."""
        place = placement._asdict()
        return cls(kind=kind, **place, length_m=size_m[0], width_m=size_m[1], rgb=rgb, **more)

    @property
    def placement(self) -> Placement:
        """Where it is."""
        return Placement(self.x_m, self.y_m, self.angle)

    def corners(self, *, grown_m: float = 0.0) -> Array:
        """The four corners, with some room around."""
        u = (0.5 * self.length_m + grown_m) * np.array([-1, 1, 1, -1])
        v = (0.5 * self.width_m + grown_m) * np.array([-1, -1, 1, 1])
        c, s = math.cos(self.angle), math.sin(self.angle)
        return np.stack([self.x_m + c * u - s * v, self.y_m + s * u + c * v], axis=1)


class OccupancyGrid:
    """Which ground is occupied, to about a metre."""

    def __init__(self, size_m: float) -> None:
        side = int(size_m / _CELL_M) + 1
        self._taken: NDArray[np.uint8] = np.zeros((side, side), np.uint8)

    def take_line(self, points: Array, width_m: float) -> None:
        """Mark a road or river as occupied."""
        line = np.round(points / _CELL_M).astype(np.int32)
        cv2.polylines(self._taken, [line], False, 1, thickness=max(round(width_m / _CELL_M), 1))

    def take(self, box: Box, *, grown_m: float = 0.0) -> None:
        """Mark a rectangle as occupied."""
        cv2.fillConvexPoly(self._taken, self._cells(box, grown_m), 1)

    def is_free(self, box: Box, *, grown_m: float = 0.0) -> bool:
        """Whether nothing else stands there and it lies on the map."""
        cells = self._cells(box, grown_m)
        low, high = cells.min(axis=0), cells.max(axis=0) + 1
        if low.min() < 0 or high.max() >= len(self._taken):
            return False
        part = self._taken[low[1] : high[1], low[0] : high[0]]
        shape = np.zeros_like(part)
        cv2.fillConvexPoly(shape, cells - low, 1)
        return not bool(np.any(part & shape))

    def taken_at(self, x_m: Array, y_m: Array) -> NDArray[np.bool_]:
        """Whether each of these points is on occupied ground (off the map counts as occupied)."""
        col, row = (np.floor(a / _CELL_M).astype(int) for a in (x_m, y_m))
        side = len(self._taken)
        inside = (col >= 0) & (row >= 0) & (col < side) & (row < side)
        occupied = np.ones(np.shape(x_m), bool)
        occupied[inside] = self._taken[row[inside], col[inside]] > 0
        return occupied

    def _cells(self, box: Box, grown_m: float) -> NDArray[np.int32]:
        return np.asarray(np.round(box.corners(grown_m=grown_m) / _CELL_M), np.int32)


def changes(rng: np.random.Generator) -> tuple[bool, bool]:
    """Most buildings are there at both dates; some come, some go."""
    luck = rng.random()
    return (False, True) if luck < 0.06 else (True, False) if luck < 0.1 else BOTH


def pick(palette: tuple[Rgb, ...], rng: np.random.Generator) -> Rgb:
    """One colour of a palette, a little its own."""
    base = np.array(palette[int(rng.integers(len(palette)))]) * rng.uniform(0.88, 1.1) + rng.normal(0, 3, 3)
    r, g, b = np.clip(base, 8, 246)
    return float(r), float(g), float(b)
