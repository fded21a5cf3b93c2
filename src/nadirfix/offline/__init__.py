"""From a map to a bundle: the half of the story that happens once, before the flight."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nadirfix import __version__
from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.bundle import Bundle, References
from nadirfix.bundle import layout as parts
from nadirfix.bundle.recipe import recipe_in_manifest
from nadirfix.bundle.references import write_references
from nadirfix.errors import WeightsError
from nadirfix.files import Progress, quiet
from nadirfix.geo.anchor import map_anchor
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.raster import Raster
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.offline.database import Database
from nadirfix.offline.describe import Lookout, index_cells
from nadirfix.offline.int8 import altitude_examples, place_examples, put_in_eight_bits
from nadirfix.offline.networks import ShippedNetworks, Surroundings, learns, shipped_altitude, shipped_place
from nadirfix.offline.views import ChosenViews, choose_views
from nadirfix.offline.workdir import Inputs, Work, is_built
from nadirfix.options.recipe import Recipe
from nadirfix.runtime.packaged import ShippedNetwork
from nadirfix.train.xfeat import about_xfeat, export_xfeat, missing_for_xfeat

if TYPE_CHECKING:
    from nadirfix.offline.trained_networks import Networks

__all__ = ["build_bundle"]

#: Decoded pieces of the map kept while it is looked at from everywhere: a quarter of a gigabyte.
_KEPT_TILES = 256
_EIGHT_BITS = "putting networks into eight bits"
_NEEDED = ("torch", "transformers", "safetensors", "onnx", "onnxscript")


def build_bundle(
    maps: str | Path | Sequence[str | Path],
    out: Path | str,
    *,
    recipe: Recipe,
    train: bool = False,
    device: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = quiet,
) -> Bundle:
    """Make a bundle from a map; stopped at any moment, it goes on with ``resume``.

    Networks are taken as they come, or trained on this map where ``train`` says so.
    """
    target = Path(out)
    canonical = _canonical(recipe)
    with GeoMap.open(maps) as ground:
        inputs = _inputs(ground, recipe, train=train)
        if resume and not overwrite and is_built(target, inputs):
            return Bundle.load(target)
        _require_tools(recipe, train=train)
        ground.require_room(*canonical.footprint_m)
        work = Work.begin(target, inputs, resume=resume, overwrite=overwrite)
        texture = _texture(work, ground, recipe, progress)
    grid = Grid.from_options(recipe.grid, anchor_m=map_anchor(texture))
    chosen = choose_views(texture, canonical, grid, recipe.references)
    networks = _networks(Surroundings(work, texture, recipe, progress), train=train, device=device)
    order = _order(grid, chosen, networks)
    references = _references(work, chosen, grid, order, texture.epsg)
    about_altitude = networks.altitude()
    about_place = networks.place(order)
    lookout = Lookout(texture, canonical, references, _size(recipe))
    progress(_EIGHT_BITS, 0, 1)
    about = _in_eight_bits(lookout, recipe, work, {"altitude": about_altitude, "place": about_place})
    progress(_EIGHT_BITS, 1, 1)
    described = Database(work, lookout, recipe, progress, grid.origin_m).make()
    index_cells(work, order, recipe.head)
    _matcher(work)
    manifest = _manifest(recipe=recipe, texture=texture, grid=grid, order=order, about=about)
    work.finish({**manifest, "described": described, "counts": _counts(chosen, references, order)})
    return Bundle.load(target)


def _canonical(recipe: Recipe) -> Canonical:
    bins = AltitudeBins.from_options(recipe.bins)
    return Canonical(recipe.camera, canonical_altitude_m(recipe.references, bins))


def _inputs(ground: GeoMap, recipe: Recipe, *, train: bool) -> Inputs:
    """Everything the bundle depends on; files by content, so that a copy elsewhere is the same map."""
    return {
        "format": parts.FORMAT,
        "nadirfix": __version__,
        "recipe": recipe_in_manifest(recipe),
        "train": train,
        "matcher": _about_matcher(recipe),
        "source": [_source(raster) for raster in ground.rasters],
    }


def _source(raster: Raster) -> dict[str, Any]:
    files = [{"name": path.name, "sha256": parts.sha256_of(path)} for path in raster.files()]
    return {"files": files, "transform": list(raster.affine), "crs": raster.wkt}


def _shipped(recipe: Recipe, *, train: bool) -> tuple[ShippedNetwork, ShippedNetwork] | None:
    """Both networks as the package ships them; None where one is to be trained, or is not among them."""
    if train and (learns(recipe.altitude_training) or learns(recipe.place_training)):
        return None
    altitude, place = shipped_altitude(recipe), shipped_place(recipe)
    return (altitude, place) if altitude and place else None


def _require_tools(recipe: Recipe, *, train: bool) -> None:
    """Networks that do not ship are made with torch, which a machine that only locates does not have."""
    if _shipped(recipe, train=train):
        return
    absent = [name for name in _NEEDED if find_spec(name) is None]
    if absent:
        raise WeightsError(
            "weights.no_torch",
            "building a bundle with this recipe needs the training libraries",
            seen=f"{', '.join(absent)} not installed",
            do="install them with: pip install 'nadirfix[train]', or build without --train from what ships",
        )


def _texture(work: Work, ground: GeoMap, recipe: Recipe, progress: Progress) -> Texture:
    path = work.part(parts.TEXTURE)
    if not path.exists():
        pack_texture(ground, path, options=recipe.texture, progress=progress)
    return Texture.load(path, kept_tiles=_KEPT_TILES)


def _networks(ground: Surroundings, *, train: bool, device: str) -> Networks | ShippedNetworks:
    """What makes the networks; torch is loaded here, if at all, and not with this module."""
    if shipped := _shipped(ground.recipe, train=train):
        return ShippedNetworks(ground, altitude=shipped[0], place=shipped[1])
    from nadirfix.offline.trained_networks import Networks

    return Networks(ground, train=train, device=device)


def _order(grid: Grid, chosen: ChosenViews, networks: Networks | ShippedNetworks) -> ClassOrder:
    """A class for every cell that has references, and views to learn from where learning is asked for."""
    found = grid.cells_of(chosen.views.east_m, chosen.views.north_m)
    cells = {(int(e), int(n)) for e, n in np.unique(found, axis=0)}
    learnable = networks.cells_to_learn()
    return ClassOrder.from_cells(grid, cells if learnable is None else cells & learnable)


def _references(work: Work, chosen: ChosenViews, grid: Grid, order: ClassOrder, epsg: int) -> References:
    views = chosen.views
    references = References.sorted_by_class(
        views.east_m, views.north_m, views.heading_deg, epsg=epsg, grid=grid, order=order
    )
    write_references(references, order, work.part(parts.REFERENCES))
    return references


def _size(recipe: Recipe) -> tuple[int, int]:
    return recipe.place_network.width_px, recipe.place_network.height_px


def _in_eight_bits(lookout: Lookout, recipe: Recipe, work: Work, about: dict[str, Any]) -> dict[str, Any]:
    """Both networks in eight bits, where they bear it; what is known of each, with how that went."""
    scores = not work.part(parts.ALTITUDE_CLASSES).exists()
    altitude = put_in_eight_bits(
        parts.ALTITUDE, lambda: altitude_examples(lookout, recipe), recipe, work, scores=scores
    )
    place = put_in_eight_bits(parts.PLACE, lambda: place_examples(lookout, recipe), recipe, work)
    went = {"altitude": altitude, "place": place}
    return {name: {**said, "eight_bits": went[name]} for name, said in about.items()}


def _about_matcher(recipe: Recipe) -> dict[str, Any] | None:
    """What fixes will be verified with; None where nothing is wanted, or the extra is not installed."""
    if recipe.matcher == "xfeat":
        return None if missing_for_xfeat() else about_xfeat()
    return {"name": recipe.matcher} if recipe.matcher == "sift" else None


def _matcher(work: Work) -> None:
    target, about = work.part(parts.MATCHER), work.inputs["matcher"]
    if about is not None and about["name"] == "xfeat" and not target.exists():
        export_xfeat(target)


def _manifest(
    *, recipe: Recipe, texture: Texture, grid: Grid, order: ClassOrder, about: dict[str, Any]
) -> dict[str, Any]:
    return {
        "map": _map(texture),
        "grid": grid.to_dict(),
        "classes": order.to_dict(),
        "canonical_altitude_m": _canonical(recipe).altitude_m,
        "seeds": {
            "recipe": recipe.seed,
            "altitude_training": recipe.altitude_training.seed,
            "place_training": recipe.place_training.seed,
        },
        "networks": about,
        "accuracy": {name: _accuracy(said) for name, said in about.items()},
    }


def _accuracy(about: dict[str, Any]) -> dict[str, float] | None:
    """How well a network that was trained, or classes that were fitted, did on ground held out."""
    if about["training"]:
        return dict(about["training"]["validation"])
    held_out = about.get("fitted", {}).get("held_out")
    return dict(held_out) if held_out else None


def _map(texture: Texture) -> dict[str, Any]:
    return {
        "epsg": texture.epsg,
        "bounds_m": list(texture.bounds),
        "gsd_m": texture.gsd_m,
        "size_px": list(texture.size_px),
    }


def _counts(chosen: ChosenViews, references: References, order: ClassOrder) -> dict[str, int]:
    """How many there are, and how many were left out: too little map, or no class for their cell."""
    return {
        "cells": len(order),
        "references": len(references),
        "left_out": chosen.left_out,
        "without_class": len(chosen.views) - len(references),
    }
