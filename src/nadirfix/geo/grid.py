"""The ground cut into square cells, and the cells into groups in which no two are neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nadirfix.errors import InputError
from nadirfix.options import GridOptions

__all__ = ["Cell", "ClassOrder", "Grid"]

#: A cell's column and row: how many cell sides east and north of the zone's origin.
Cell = tuple[int, int]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grid:
    """Square cells of UTM ground, a stated number of metres wide."""

    cell_m: float
    groups_per_axis: int

    def __post_init__(self) -> None:
        if not (0 < self.cell_m < math.inf and self.groups_per_axis >= 1):
            raise InputError(
                "options.invalid",
                "a grid needs cells wider than 0 m and at least one group per axis",
                seen=f"cell_m = {self.cell_m}, groups_per_axis = {self.groups_per_axis}",
                do="change the recipe's grid; 100 m and 2 groups per axis are usual",
            )

    @classmethod
    def from_options(cls, options: GridOptions) -> Grid:
        """The grid a recipe describes."""
        return cls(options.cell_m, options.groups_per_axis)

    def cell_of(self, east_m: float, north_m: float) -> Cell:
        """The cell a place lies in; a place on a border belongs to the cell east or north of it."""
        column, row = self.cells_of([east_m], [north_m])[0]
        return int(column), int(row)

    def cells_of(self, east_m: ArrayLike, north_m: ArrayLike) -> Ints:
        """The cell of each place, one row each."""
        places = np.stack([np.asarray(east_m, np.float64), np.asarray(north_m, np.float64)], axis=-1)
        return np.floor_divide(places, self.cell_m).astype(np.int64)

    def group_of(self, cell: Cell) -> Cell:
        """The group a cell belongs to; with two groups per axis or more, no neighbour shares it."""
        return cell[0] % self.groups_per_axis, cell[1] % self.groups_per_axis

    def center_m(self, cell: Cell) -> tuple[float, float]:
        """East and north of the middle of a cell."""
        return (cell[0] + 0.5) * self.cell_m, (cell[1] + 0.5) * self.cell_m

    def bounds_m(self, cell: Cell) -> tuple[float, float, float, float]:
        """West, south, east and north border of a cell."""
        west, south = cell[0] * self.cell_m, cell[1] * self.cell_m
        return west, south, west + self.cell_m, south + self.cell_m

    def cells_touching(self, west_m: float, south_m: float, east_m: float, north_m: float) -> list[Cell]:
        """Every cell that shares ground with these bounds, sorted; a common border alone does not count."""
        columns = self._span(west_m, east_m)
        rows = self._span(south_m, north_m)
        return [(column, row) for column in columns for row in rows]

    def _span(self, low_m: float, high_m: float) -> range:
        first, beyond = int(low_m // self.cell_m), -int(-high_m // self.cell_m)
        return range(first, max(beyond, first + 1))


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
