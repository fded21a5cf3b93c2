"""Reference views: where they look from, in which class they are, and their table read from disk.

The table is one numpy array of rows with named columns. Bundles of layouts 1 to 4 have GeoParquet, for which
pyarrow, three times the size of all else that reads a bundle, is an extra.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle.layout import PARQUET, damaged
from nadirfix.errors import BundleError
from nadirfix.geo.grid import ClassOrder, Grid

__all__ = ["COLUMNS", "References", "read_references"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A row of the table. Longitude, latitude and group are for others: answers are made from metres.
COLUMNS = np.dtype(
    [
        ("lon", "<f8"), ("lat", "<f8"), ("east_m", "<f8"), ("north_m", "<f8"), ("heading_deg", "<f8"),
        ("epsg", "<i4"), ("cell_e", "<i4"), ("cell_n", "<i4"), ("class", "<i4"), ("group", "<i4"),
    ]
)  # fmt: skip
#: What is read again.
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


def read_references(path: Path, classes: int) -> References:
    """Read the table of a bundle with so many classes."""
    columns = _from_parquet if path.name == PARQUET else _from_array
    number, east, north, heading, cell_e, cell_n, epsg = columns(path)
    if not len(epsg):
        raise damaged(path.parent, f"{path.name} holds no references")
    starts = np.searchsorted(number, np.arange(classes + 1)).astype(np.int64)
    cell = np.column_stack([cell_e, cell_n]).astype(np.int64)
    return References(east, north, heading, cell, starts, int(epsg[0]))


def _from_array(path: Path) -> list[NDArray[Any]]:
    try:
        table = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise damaged(path.parent, f"{path.name} cannot be read ({error})") from error
    if table.dtype != COLUMNS or table.ndim != 1:
        raise damaged(path.parent, f"{path.name} holds {table.dtype} {table.shape}")
    return [np.ascontiguousarray(table[name]) for name in _READ]


def _from_parquet(path: Path) -> list[NDArray[Any]]:
    """The table of an older layout, by the extra that reads it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise BundleError(
            "bundle.version",
            "the references of this older bundle cannot be read without pyarrow",
            seen=f"{path}; pyarrow is not installed",
            do="build the bundle anew from its map, or install pip install 'nadirfix[parquet]'",
        ) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            table = file.read(columns=list(_READ))
        # to_numpy() loads pandas, which takes longer than all else.
        pieces = [[np.from_dlpack(chunk) for chunk in table[name].chunks] for name in _READ]
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise damaged(path.parent, f"{path.name} cannot be read ({error})") from error
    return [np.concatenate(arrays) if arrays else np.zeros(0) for arrays in pieces]
