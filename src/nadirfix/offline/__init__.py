"""From a map to a bundle: the half of the story that happens once, before the flight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nadirfix.bundle import Bundle, References
from nadirfix.files import Progress, quiet
from nadirfix.geo.anchor import map_anchor
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.offline.database import Database
from nadirfix.offline.describe import ReferenceRenderer, index_cells
from nadirfix.offline.int8 import quantise_networks
from nadirfix.offline.low_references import add_low_references
from nadirfix.offline.manifest import bundle_facts, map_inputs
from nadirfix.offline.matcher import matcher_card, write_matcher
from nadirfix.offline.networks import choose_networks, require_training_libraries
from nadirfix.offline.references import class_order, sort_references
from nadirfix.offline.views import ChosenViews, canonical_view, choose_views
from nadirfix.offline.workdir import BuildContext, WorkDir, is_built, pack_map
from nadirfix.options.map import MapOptions
from nadirfix.options.recipe import Recipe
from nadirfix.parallel import one_blas_thread

__all__ = ["build_bundle"]

_USUAL = MapOptions()


@one_blas_thread()
def build_bundle(
    maps: str | Path | Sequence[str | Path],
    out: Path | str,
    *,
    recipe: Recipe,
    train: bool = False,  # networks on this map, instead of taking them as they come
    device: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    opening: MapOptions = _USUAL,  # which maps are opened
    progress: Progress = quiet,
) -> Bundle:
    """Make a bundle from a map; stopped at any moment, it goes on with ``resume``."""
    target, canonical = Path(out), canonical_view(recipe)
    with GeoMap.open(maps, opening=opening) as geomap:
        inputs = map_inputs(geomap, recipe, train=train, matcher=matcher_card(recipe))
        if resume and not overwrite and is_built(target, inputs):
            return Bundle.load(target)
        require_training_libraries(recipe, train=train)
        geomap.require_room(*canonical.footprint_m)
        workdir = WorkDir.begin(target, inputs, resume=resume, overwrite=overwrite, maps=_paths(maps))
        texture = pack_map(workdir, geomap, recipe, progress)
    context = BuildContext(workdir, texture, recipe, progress)
    grid = Grid.from_options(recipe.grid, anchor_m=map_anchor(texture))
    chosen = choose_views(texture, canonical, grid, recipe.references)
    networks = choose_networks(context, train=train, device=device)
    order = class_order(grid, chosen.views, networks.cells_to_learn())
    references = sort_references(workdir, chosen.views, grid, order, texture.epsg)
    cards = {"altitude": networks.altitude(), "place": networks.place(order)}
    renderer = ReferenceRenderer(texture, canonical, references, recipe.place_network.size_px)
    cards = quantise_networks(renderer, context, cards)
    database = Database(context, renderer, grid.origin_m).make()
    made = {"described": database, "low_references": add_low_references(context, grid)}
    index_cells(workdir, order, recipe.head)
    write_matcher(workdir)
    facts = bundle_facts(recipe, texture, grid, order, cards)
    workdir.finish({**facts, **made, "counts": _counts(chosen, references, order)})
    return Bundle.load(target)


def _paths(maps: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(path) for path in ([maps] if isinstance(maps, str | Path) else maps)]


def _counts(chosen: ChosenViews, references: References, order: ClassOrder) -> dict[str, int]:
    """How many there are, and how many were left out: too little map, or no class for their cell."""
    return {
        "cells": len(order),
        "references": len(references),
        "left_out": chosen.left_out,
        "without_class": len(chosen.views) - len(references),
    }
