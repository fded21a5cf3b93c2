"""The ground cut into square cells, and the cells into groups in which no two are neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nadirfix.errors import InputError
from nadirfix.options.recipe import GridOptions

__all__ = ["Cell", "ClassOrder", "Grid", "lattice_places"]

#: A cell's column and row: how many cell sides east and north of the grid's origin.
Cell = tuple[int, int]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Grid:
    """Square cells of UTM ground, a stated number of metres wide, counted from an origin.

    The origin is the zone's own (cell borders at whole multiples of the width) or the middle of the map.
    """

    cell_m: float
    groups_per_axis: int
    origin_m: tuple[float, float] = field(default=(0.0, 0.0), kw_only=True)

    def __post_init__(self) -> None:
        usable = 0 < self.cell_m < math.inf and all(map(math.isfinite, self.origin_m))
        if not (usable and self.groups_per_axis >= 1):
            raise InputError(
                "options.invalid",
                "a grid needs cells wider than 0 m and at least one group per axis",
                seen=f"cell_m = {self.cell_m}, groups_per_axis = {self.groups_per_axis}",
                do="change the recipe's grid; 100 m and 2 groups per axis are usual",
            )

    @classmethod
    def from_options(cls, options: GridOptions, *, anchor_m: tuple[float, float]) -> Grid:
        """The grid a recipe describes, on a map with this anchor."""
        origin_m = anchor_m if options.anchor == "map" else (0.0, 0.0)
        return cls(options.cell_m, options.groups_per_axis, origin_m=origin_m)

    def cell_of(self, east_m: float, north_m: float) -> Cell:
        """The cell a place lies in; a place on a border belongs to the cell east or north of it."""
        column, row = self.cells_of([east_m], [north_m])[0]
        return int(column), int(row)

    def cells_of(self, east_m: ArrayLike, north_m: ArrayLike) -> Ints:
        """The cell of each place, one row each."""
        return np.floor_divide(self.local_m(east_m, north_m), self.cell_m).astype(np.int64)

    def local_m(self, east_m: ArrayLike, north_m: ArrayLike) -> Floats:
        """Metres east and north of the grid's origin, one row for each place."""
        places = np.stack([np.asarray(east_m, np.float64), np.asarray(north_m, np.float64)], axis=-1)
        return np.asarray(places - np.array(self.origin_m))

    def group_of(self, cell: Cell) -> Cell:
        """The group a cell belongs to; with two groups per axis or more, no neighbour shares it."""
        return cell[0] % self.groups_per_axis, cell[1] % self.groups_per_axis

    def center_m(self, cell: Cell) -> tuple[float, float]:
        """East and north of the middle of a cell."""
        east, north = self.origin_m
        return east + (cell[0] + 0.5) * self.cell_m, north + (cell[1] + 0.5) * self.cell_m

    def bounds_m(self, cell: Cell) -> tuple[float, float, float, float]:
        """West, south, east and north border of a cell."""
        west, south = self.origin_m[0] + cell[0] * self.cell_m, self.origin_m[1] + cell[1] * self.cell_m
        return west, south, west + self.cell_m, south + self.cell_m

    def cells_touching(self, west_m: float, south_m: float, east_m: float, north_m: float) -> list[Cell]:
        """Every cell that shares ground with these bounds, sorted; a common border alone does not count."""
        columns = self._span(west_m - self.origin_m[0], east_m - self.origin_m[0])
        rows = self._span(south_m - self.origin_m[1], north_m - self.origin_m[1])
        return [(column, row) for column in columns for row in rows]

    def _span(self, low_m: float, high_m: float) -> range:
        first, beyond = int(low_m // self.cell_m), -int(-high_m // self.cell_m)
        return range(first, max(beyond, first + 1))

    def to_dict(self) -> dict[str, Any]:
        """The grid in the form a manifest carries."""
        return {
            "cell_m": self.cell_m,
            "groups_per_axis": self.groups_per_axis,
            "origin_m": list(self.origin_m),
        }

    @classmethod
    def from_dict(cls, table: dict[str, Any]) -> Grid:
        """The grid from a manifest."""
        east, north = table["origin_m"]
        origin_m = (float(east), float(north))
        return cls(float(table["cell_m"]), int(table["groups_per_axis"]), origin_m=origin_m)


@dataclass(frozen=True, slots=True, eq=False)
class ClassOrder:
    """Which class of which group stands for which cell; the weights mean nothing without it.

    ``groups`` are the groups that have cells, sorted; ``cells[g]`` are those of group g, sorted, a row each.
    """

    groups: tuple[Cell, ...]
    cells: tuple[Ints, ...]

    @classmethod
    def from_cells(cls, grid: Grid, cells: Iterable[Cell]) -> ClassOrder:
        """The order for these cells: groups sorted, cells sorted within their group, none twice."""
        members: dict[Cell, list[Cell]] = {}
        for column, row in sorted({(int(c), int(r)) for c, r in cells}):
            members.setdefault(grid.group_of((column, row)), []).append((column, row))
        groups = tuple(sorted(members))
        return cls(groups, tuple(np.array(members[group], np.int64) for group in groups))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each group has."""
        return tuple(len(cells) for cells in self.cells)

    def __len__(self) -> int:
        return sum(self.sizes)

    def cell_at(self, group: int, index: int) -> Cell:
        """The cell that this class of this group stands for."""
        column, row = self.cells[group][index]
        return int(column), int(row)

    def classes(self) -> dict[Cell, tuple[int, int]]:
        """Group number and class number of every cell."""
        return {
            self.cell_at(group, index): (group, index)
            for group, size in enumerate(self.sizes)
            for index in range(size)
        }

    def to_dict(self) -> dict[str, Any]:
        """The order in the form a manifest carries."""
        return {"groups": [list(g) for g in self.groups], "cells": [c.tolist() for c in self.cells]}

    @classmethod
    def from_dict(cls, table: dict[str, Any]) -> ClassOrder:
        """The order from a manifest."""
        groups = tuple((int(e), int(n)) for e, n in table["groups"])
        return cls(groups, tuple(np.array(c, np.int64).reshape(-1, 2) for c in table["cells"]))


def lattice_places(
    bounds: tuple[float, float, float, float],
    stride_m: float,
    *,
    origin_m: tuple[float, float] = (0.0, 0.0),
) -> tuple[Floats, Floats]:
    """Places a stride apart over the bounds, in the middle of squares counted from an origin."""
    west, south, east, north = bounds
    across = _middles(west - origin_m[0], east - origin_m[0], stride_m) + origin_m[0]
    along = _middles(south - origin_m[1], north - origin_m[1], stride_m) + origin_m[1]
    columns, rows = np.meshgrid(across, along)
    return columns.ravel(), rows.ravel()


def _middles(low_m: float, high_m: float, stride_m: float) -> Floats:
    return np.asarray((np.arange(np.floor(low_m / stride_m), np.ceil(high_m / stride_m)) + 0.5) * stride_m)
