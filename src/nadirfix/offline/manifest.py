"""What a bundle's manifest says: what it is made from, what is in it, and a seal over itself."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nadirfix import __version__
from nadirfix.bundle.layout import FORMAT, MANIFEST, seal_of, sha256_of
from nadirfix.files import atomic_file
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.raster import Raster
from nadirfix.geo.texture import Texture
from nadirfix.offline.views import canonical_view
from nadirfix.options.recipe import NetworkOptions, Recipe

__all__ = [
    "Inputs",
    "bundle_facts",
    "list_parts",
    "map_inputs",
    "portable_name",
    "recipe_in_manifest",
    "write_manifest",
]

#: What a bundle is made from: versions, recipe, map files. Two builds of equal inputs give equal bundles.
Inputs = dict[str, Any]


def map_inputs(geomap: GeoMap, recipe: Recipe, *, train: bool, matcher: dict[str, Any] | None) -> Inputs:
    """Everything a bundle depends on; files by content, so that a copy elsewhere is the same map."""
    return {
        "format": FORMAT,
        "nadirfix": __version__,
        "recipe": recipe_in_manifest(recipe),
        "train": train,
        "matcher": matcher,
        "source": [_source(raster) for raster in geomap.rasters],
    }


def _source(raster: Raster) -> dict[str, Any]:
    files = [{"name": path.name, "sha256": sha256_of(path)} for path in raster.files()]
    return {"files": files, "transform": list(raster.affine), "crs": raster.wkt}


def bundle_facts(
    recipe: Recipe, texture: Texture, grid: Grid, order: ClassOrder, cards: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The entries for the map, its cells and classes, the networks and how accurate they are."""
    return {
        "map": {
            "epsg": texture.epsg,
            "bounds_m": list(texture.bounds),
            "gsd_m": texture.gsd_m,
            "size_px": list(texture.size_px),
        },
        "grid": grid.to_dict(),
        "classes": order.to_dict(),
        "canonical_altitude_m": canonical_view(recipe).altitude_m,
        "seeds": {
            "recipe": recipe.seed,
            "altitude_training": recipe.altitude_training.seed,
            "place_training": recipe.place_training.seed,
        },
        "networks": cards,
        "accuracy": {name: _accuracy(card) for name, card in cards.items()},
    }


def _accuracy(card: dict[str, Any]) -> dict[str, float] | None:
    """How well a network that was trained, or classes that were fitted, did on ground held out."""
    if card["training"]:
        return dict(card["training"]["validation"])
    held_out = card.get("fitted", {}).get("held_out")
    return dict(held_out) if held_out else None


def list_parts(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Size and hash of these parts, in the form a manifest carries."""
    paths = [folder / name for name in sorted(names)]
    return {p.name: {"bytes": p.stat().st_size, "sha256": sha256_of(p)} for p in paths}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write the manifest with its seal; the same manifest is always the same bytes."""
    sealed = {**manifest, "seal": seal_of(manifest)}
    text = json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with atomic_file(folder / MANIFEST) as scratch:
        scratch.write_text(text + "\n", encoding="utf-8")


def recipe_in_manifest(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain values; weights given by path are named without their folder."""
    portable = dataclasses.replace(
        recipe,
        altitude_network=_without_folders(recipe.altitude_network),
        place_network=_without_folders(recipe.place_network),
    )
    return {**dataclasses.asdict(portable), "camera": dataclasses.asdict(recipe.camera)}


def _without_folders(network: NetworkOptions) -> NetworkOptions:
    return dataclasses.replace(
        network, weights=portable_name(network.weights), start=portable_name(network.start)
    )


def portable_name(source: str) -> str:
    """What weights are called on any machine: a path loses its folders, a model's name keeps its owner."""
    path = Path(source).expanduser()
    return path.name if source and path.exists() else source
