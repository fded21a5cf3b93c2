"""References for photos from low above: a second set, of a smaller piece of ground each (ADR 53)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nadirfix.bundle.layout import LOW_REFERENCES
from nadirfix.geo.grid import Grid
from nadirfix.offline.database import LOW, Database
from nadirfix.offline.describe import ReferenceRenderer
from nadirfix.offline.references import class_order, sort_references
from nadirfix.offline.views import choose_views, low_view
from nadirfix.offline.workdir import BuildContext

__all__ = ["add_low_references"]


def add_low_references(context: BuildContext, grid: Grid) -> dict[str, Any] | None:
    """Write them, and say how they were made; None where the recipe wants none or the map is too coarse.

    They are sorted by cell as the others are, but no cell is classified by them: all are searched.
    """
    recipe, texture = context.recipe, context.texture
    canonical = low_view(recipe, texture.gsd_m)
    if canonical is None:
        return None
    options = replace(recipe.references, stride_m=recipe.references.low_stride_m)
    chosen = choose_views(texture, canonical, grid, options)
    order = class_order(grid, chosen.views, None)
    references = sort_references(
        context.workdir, chosen.views, grid, order, texture.epsg, part=LOW_REFERENCES
    )
    renderer = ReferenceRenderer(texture, canonical, references, recipe.place_network.size_px)
    described = Database(context, renderer, grid.origin_m, LOW).make()
    counts = {"references": len(references), "left_out": chosen.left_out, "cells": len(order)}
    return {"altitude_m": canonical.altitude_m, "described": described, **counts}
