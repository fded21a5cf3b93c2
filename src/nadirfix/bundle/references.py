"""Reference views: where they look from, in which class they are, and their table on disk.

The table is GeoParquet: points in longitude and latitude that any GIS shows, with exact metres beside them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle.layout import damaged
from nadirfix.files import atomic_file
from nadirfix.geo.crs import transform
from nadirfix.geo.grid import ClassOrder, Grid

if TYPE_CHECKING:
    import pyarrow

__all__ = ["References", "read_references", "write_references"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LONLAT = "OGC:CRS84"
#: What is read again; the rest of the table is for others.
_READ = ("class", "east_m", "north_m", "heading_deg", "cell_e", "cell_n", "epsg")
#: One point as WKB: byte order, kind of geometry, longitude, latitude.
_WKB_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("lon", "<f8"), ("lat", "<f8")])


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


def write_references(references: References, order: ClassOrder, path: Path) -> None:
    """Write the table; the same references are always the same bytes."""
    import pyarrow.parquet

    table = _table(references, order)
    with atomic_file(path) as scratch, scratch.open("wb") as file:
        pyarrow.parquet.write_table(table, file, compression="zstd")


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


def _table(references: References, order: ClassOrder) -> pyarrow.Table:
    import pyarrow

    groups = np.repeat(np.arange(len(order.groups)), order.sizes)
    lon, lat = transform(f"EPSG:{references.epsg}", _LONLAT, references.east_m, references.north_m)
    columns: dict[str, Any] = {
        "geometry": pyarrow.array(_wkb(lon, lat), pyarrow.binary()),
        "east_m": references.east_m,
        "north_m": references.north_m,
        "epsg": np.full(len(references), references.epsg, np.int32),
        "heading_deg": references.heading_deg,
        "cell_e": references.cell[:, 0].astype(np.int32),
        "cell_n": references.cell[:, 1].astype(np.int32),
        "group": groups[references.label].astype(np.int16),
        "class": references.label.astype(np.int32),
    }
    return pyarrow.table(columns).replace_schema_metadata({"geo": _geo(lon, lat)})


def _wkb(lon: Floats, lat: Floats) -> list[bytes]:
    points = np.zeros(len(lon), _WKB_POINT)
    points["order"], points["kind"], points["lon"], points["lat"] = 1, 1, lon, lat
    return [point.tobytes() for point in points]


def _geo(lon: Floats, lat: Floats) -> str:
    """What GeoParquet 1.1 asks for; without a "crs" coordinates are OGC:CRS84 by definition."""
    box = [float(v) for v in (lon.min(), lat.min(), lon.max(), lat.max())]
    column = {"encoding": "WKB", "geometry_types": ["Point"], "bbox": box}
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}})
