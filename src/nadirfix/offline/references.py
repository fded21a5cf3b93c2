"""The reference views of a bundle: sorted into classes of cells, and written as a table.

The table is GeoParquet: points in longitude and latitude that any GIS shows, with exact metres beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle.layout import REFERENCES
from nadirfix.bundle.references import References
from nadirfix.files import atomic_file
from nadirfix.geo.crs import transform
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.views import Views
from nadirfix.offline.workdir import WorkDir

if TYPE_CHECKING:
    import pyarrow

__all__ = ["class_order", "sort_references", "write_references"]

Floats = NDArray[np.float64]

_LONLAT = "OGC:CRS84"
#: One point as WKB: byte order, kind of geometry, longitude, latitude.
_WKB_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("lon", "<f8"), ("lat", "<f8")])


def class_order(grid: Grid, views: Views, learnable: set[tuple[int, int]] | None) -> ClassOrder:
    """A class for every cell that has references, and views to learn from where networks are trained."""
    with_views = np.unique(grid.cells_of(views.east_m, views.north_m), axis=0)
    cells = {(int(e), int(n)) for e, n in with_views}
    return ClassOrder.from_cells(grid, cells if learnable is None else cells & learnable)


def sort_references(workdir: WorkDir, views: Views, grid: Grid, order: ClassOrder, epsg: int) -> References:
    """The views in the database's order, written into the bundle."""
    references = References.sorted_by_class(
        views.east_m, views.north_m, views.heading_deg, epsg=epsg, grid=grid, order=order
    )
    write_references(references, order, workdir.part(REFERENCES))
    return references


def write_references(references: References, order: ClassOrder, path: Path) -> None:
    """Write the table; the same references are always the same bytes."""
    import pyarrow.parquet

    table = _table(references, order)
    with atomic_file(path) as scratch, scratch.open("wb") as file:
        pyarrow.parquet.write_table(table, file, compression="zstd")


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
    """The header of GeoParquet 1.1; without a "crs" coordinates are OGC:CRS84 by definition."""
    box = [float(v) for v in (lon.min(), lat.min(), lon.max(), lat.max())]
    column = {"encoding": "WKB", "geometry_types": ["Point"], "bbox": box}
    return json.dumps({"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}})
