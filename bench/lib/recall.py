"""What a place network trained on one map finds on it: references, cells, and how near the answers come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bench.lib.photos import CHUNK, Row, half, retrieval_errors, summary
from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.coverage import MapCoverage
from nadirfix.geo.grid import Grid
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import Recipe
from nadirfix.retrieval.cells import CellClassifier
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.data.place_views import lattice_places
from nadirfix.train.models.mixvpr import descriptor
from nadirfix.train.place import TrainedPlace

CELLS = 3


@dataclass(frozen=True, eq=False)
class Known:
    """The references of a map: their descriptors, and the views they were rendered from."""

    descriptors: torch.Tensor
    views: Views
    cells: np.ndarray
    epsg: int


@torch.no_grad()
def describe_references(source: DeviceRenderer, network, grid: Grid, recipe: Recipe) -> Known:
    """Every reference of the recipe, described by the network."""
    views, options, found = reference_views(source.texture, recipe), recipe.place_network, []
    size = (options.width_px, options.height_px)
    with half(str(source.device)):
        for start in range(0, len(views), CHUNK):
            some = views.take(slice(start, start + CHUNK))
            pixels, _ = source.render(some, recipe.camera, size, reduced=True)
            found.append(network.describe(pixels).float())
    return Known(torch.cat(found), views, grid.cells_of(views.east_m, views.north_m), source.texture.epsg)


def reference_views(texture: Texture, recipe: Recipe) -> Views:
    references = recipe.references
    east, north = lattice_places(texture.bounds, references.stride_m)
    headings_deg = np.arange(references.headings) * 360.0 / references.headings
    e, n, h = (
        np.repeat(east, len(headings_deg)),
        np.repeat(north, len(headings_deg)),
        np.tile(headings_deg, len(east)),
    )
    altitude_m = canonical_altitude_m(references, AltitudeBins.from_options(recipe.bins))
    views = Views.level(e, n, np.full(len(e), altitude_m), h)
    return views.take(MapCoverage(texture).valid_share(views, recipe.camera) >= references.valid_share)


@torch.no_grad()
def recalled(
    raw: torch.Tensor, views: Views, known: Known, cells: np.ndarray | None
) -> tuple[dict, list[Row]]:
    """Recall and the weighted coordinate among all references and those that face north alone.

    Where the likeliest cells are given, also in those alone; the rows are of the narrowest search with all
    headings.
    """
    similarity = descriptor(raw) @ known.descriptors.T
    north = np.tile(known.views.heading_deg == 0, (len(raw), 1))
    searched = {"all_cells": None, "all_cells_north": north}
    if cells is not None:
        inside = (known.cells[None, None] == cells[:, :CELLS, None]).all(-1).any(1)
        searched |= {"three_cells": inside, "three_cells_north": inside & north}
    rows = {}
    for name, which in searched.items():
        rows[name] = retrieval_errors(among(similarity, which), known.views, views, known.epsg)
    return {name: summary(found) for name, found in rows.items()}, rows.get("three_cells", rows["all_cells"])


def among(similarity: torch.Tensor, which: np.ndarray | None) -> torch.Tensor:
    """The same similarities with all other references out of reach."""
    if which is None:
        return similarity
    return similarity.masked_fill(~torch.from_numpy(np.ascontiguousarray(which)).to(similarity.device), -9.0)


def top_cells(place: TrainedPlace, raw: torch.Tensor, recipe: Recipe) -> np.ndarray:
    """The five likeliest cells of every view, ranked as ``locate`` ranks them."""
    prototypes = [p.detach().float().cpu().numpy() for p in place.network.heads.prototypes]
    classifier = CellClassifier(prototypes, place.order, recipe.head)
    return np.stack([classifier.top(row, 5).cells for row in raw.float().cpu().numpy()])


def named_rightly(cells: np.ndarray, views: Views, grid: Grid) -> dict[str, float]:
    """How often the true cell is the likeliest, and among the three likeliest."""
    right = (cells == grid.cells_of(views.east_m, views.north_m)[:, None]).all(2)
    found = {"cell_accuracy": right[:, 0], "cell_in_top3": right[:, :CELLS].any(1)}
    return {name: round(100 * float(flags.mean()), 1) for name, flags in found.items()}
