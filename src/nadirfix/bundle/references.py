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

from nadirfix.bundle.arrays import stored_array
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
#: Nothing on Earth lies farther from the origin of its zone.
_FARTHEST_M = 2e7
#: What a number takes unpacked in a column of an older layout, and what each column may need besides.
_BYTES_PER_NUMBER, _SPARE_BYTES = 32, 2**20
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


def read_references(path: Path, classes: int, *, rows: int | None = None) -> References:
    """Read the table of a bundle with so many classes, and so many rows where that is known."""
    columns = _from_parquet(path, rows) if path.name == PARQUET else _from_array(path)
    _check_columns(path, columns, classes, rows)
    number, east, north, heading, cell_e, cell_n, epsg = columns
    starts = np.searchsorted(number, np.arange(classes + 1)).astype(np.int64)
    cell = np.column_stack([cell_e, cell_n]).astype(np.int64)
    return References(east, north, heading, cell, starts, int(epsg[0]))


def _check_columns(path: Path, columns: list[NDArray[Any]], classes: int, rows: int | None) -> None:
    """A table is in the order of its classes, in one zone, on Earth, and as long as it should be."""
    number, east, north, heading, cell_e, cell_n, epsg = columns
    if not len(epsg) or any(len(column) != (rows or len(epsg)) for column in columns):
        raise damaged(path.parent, f"{path.name} holds {len(epsg)} references, not {rows or 'some'}")
    sorted_by_class = bool(np.all(number[1:] >= number[:-1])) and 0 <= number[0] <= number[-1] < classes
    on_earth = all(bool((np.abs(column) <= _FARTHEST_M).all()) for column in (east, north, heading))
    kinds = {column.dtype.kind for column in (number, cell_e, cell_n, epsg)} == {"i"}
    if not (sorted_by_class and on_earth and kinds and np.all(epsg == epsg[0])):
        raise damaged(path.parent, f"{path.name} holds no references in order of {classes} classes")


def _from_array(path: Path) -> list[NDArray[Any]]:
    try:
        table = stored_array(path, COLUMNS, ndim=1).open()
    except (OSError, ValueError) as error:
        raise damaged(path.parent, f"{path.name} cannot be read ({error})") from error
    return [np.ascontiguousarray(table[name]) for name in _READ]


def _from_parquet(path: Path, rows: int | None) -> list[NDArray[Any]]:
    """The table of an older layout, by the extra that reads it; a small file may unpack to anything."""
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
            _check_parquet(file.metadata, rows)
            table = file.read(columns=list(_READ))
        # to_numpy() loads pandas, which takes longer than all else.
        pieces = [[np.from_dlpack(chunk) for chunk in table[name].chunks] for name in _READ]
    except (OSError, KeyError, ValueError, TypeError, BufferError, pyarrow.ArrowException) as error:
        raise damaged(path.parent, f"{path.name} cannot be read ({error})") from error
    return [np.concatenate(arrays) if arrays else np.zeros(0) for arrays in pieces]


def _check_parquet(metadata: Any, rows: int | None) -> None:
    """Raise ``ValueError`` before more is unpacked than so many rows of plain numbers need."""
    if rows is not None and metadata.num_rows != rows:
        raise ValueError(f"it has {metadata.num_rows} rows, not {rows}")
    for group in range(metadata.num_row_groups):
        columns = [metadata.row_group(group).column(i) for i in range(metadata.num_columns)]
        read = [column for column in columns if column.path_in_schema in _READ]
        plain = all(column.physical_type in ("INT32", "INT64", "FLOAT", "DOUBLE") for column in read)
        unpacked = max((column.total_uncompressed_size for column in read), default=0)
        if not plain or unpacked > _BYTES_PER_NUMBER * metadata.num_rows + _SPARE_BYTES:
            raise ValueError("its columns are no plain numbers, or more than it has rows for")
