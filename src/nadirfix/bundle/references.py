"""Reference views: where they look from, in which class they are, and their table read from disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle.layout import damaged
from nadirfix.geo.grid import ClassOrder, Grid

if TYPE_CHECKING:
    import pyarrow

__all__ = ["References", "read_references"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: What is read again; the rest of the table is for others.
_READ = ("class", "east_m", "north_m", "heading_deg", "cell_e", "cell_n", "epsg")


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """Views the database holds, sorted by class, then place, then heading.

    Those of class c are rows ``starts[c]`` up to, not including, ``starts[c + 1]``; classes are counted
    through all groups in the class order.
    """

    east_m: Floats
    north_m: Floats
    heading_deg: Floats
    cell: Ints  # (n, 2)
    starts: Ints  # (classes + 1,)
    epsg: int

    @classmethod
    def sorted_by_class(
        cls, east_m: Floats, north_m: Floats, heading_deg: Floats, *, epsg: int, grid: Grid, order: ClassOrder
    ) -> References:
        """The views in the order the database has them; those in cells without a class are left out."""
        cell = grid.cells_of(east_m, north_m)
        number = {tuple(c): i for i, c in enumerate(np.concatenate(order.cells).tolist())}
        label = np.array([number.get((int(e), int(n)), -1) for e, n in cell], np.int64)
        row = np.lexsort((heading_deg, east_m, north_m, label))
        row = row[label[row] >= 0]
        starts = np.searchsorted(label[row], np.arange(len(order) + 1)).astype(np.int64)
        return cls(east_m[row], north_m[row], heading_deg[row], cell[row], starts, epsg)

    def __len__(self) -> int:
        return int(self.east_m.size)

    @property
    def label(self) -> Ints:
        """The class of each view, counted through all groups."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def rows_of(self, label: int) -> slice:
        """The rows of one class."""
        return slice(int(self.starts[label]), int(self.starts[label + 1]))


def read_references(path: Path, order: ClassOrder) -> References:
    """Read the table of a bundle with this class order."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read(columns=list(_READ))
        number, east, north, heading, cell_e, cell_n, epsg = (_numbers(table[name]) for name in _READ)
        code = int(epsg[0])
    except (OSError, KeyError, IndexError, pyarrow.ArrowException) as error:
        raise damaged(path.parent, f"{path.name} cannot be read ({error})") from error
    starts = np.searchsorted(number, np.arange(len(order) + 1)).astype(np.int64)
    cell = np.column_stack([cell_e, cell_n]).astype(np.int64)
    return References(east, north, heading, cell, starts, code)


def _numbers(column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """A column as an array; read_table() and to_numpy() load pandas, which takes longer than all else."""
    pieces = [np.from_dlpack(chunk) for chunk in column.chunks]
    return np.concatenate(pieces) if pieces else np.zeros(0)
