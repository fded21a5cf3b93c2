"""The reference views of a bundle: sorted into classes of cells, and written as a table.

Longitude and latitude are for a GIS (``nadirfix info --references``), with exact metres beside them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nadirfix.bundle.layout import REFERENCES
from nadirfix.bundle.references import COLUMNS, References
from nadirfix.files import atomic_file
from nadirfix.geo.crs import transform
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.views import Views
from nadirfix.offline.workdir import WorkDir

__all__ = ["class_order", "sort_references", "write_references"]

_LONLAT = "OGC:CRS84"


def class_order(grid: Grid, views: Views, learnable: set[tuple[int, int]] | None) -> ClassOrder:
    """A class for every cell that has references, and views to learn from where networks are trained."""
    with_views = np.unique(grid.cells_of(views.east_m, views.north_m), axis=0)
    cells = {(int(e), int(n)) for e, n in with_views}
    return ClassOrder.from_cells(grid, cells if learnable is None else cells & learnable)


def sort_references(
    workdir: WorkDir, views: Views, grid: Grid, order: ClassOrder, epsg: int, *, part: str = REFERENCES
) -> References:
    """The views in the database's order, written into the bundle."""
    references = References.sorted_by_class(
        views.east_m, views.north_m, views.heading_deg, epsg=epsg, grid=grid, order=order
    )
    write_references(references, order, workdir.part(part))
    return references


def write_references(references: References, order: ClassOrder, path: Path) -> None:
    """Write the table; the same references are always the same bytes."""
    groups = np.repeat(np.arange(len(order.groups)), order.sizes)
    table = np.zeros(len(references), COLUMNS)
    table["lon"], table["lat"] = transform(
        f"EPSG:{references.epsg}", _LONLAT, references.east_m, references.north_m
    )
    for name in ("east_m", "north_m", "heading_deg", "epsg"):
        table[name] = getattr(references, name)
    table["cell_e"], table["cell_n"] = references.cell.T
    table["class"], table["group"] = references.label, groups[references.label]
    with atomic_file(path) as scratch, scratch.open("wb") as file:
        np.save(file, table, allow_pickle=False)
