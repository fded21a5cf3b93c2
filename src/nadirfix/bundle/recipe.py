"""A recipe as a manifest carries it: every setting, and no path of the machine it was made on."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from nadirfix.bundle.layout import damaged
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.options.recipe import NetworkOptions, QuantiseOptions, Recipe, ReferenceOptions
from nadirfix.options.toml import changed

__all__ = ["portable_name", "recipe_from_manifest", "recipe_in_manifest"]

#: What a manifest means by a setting it does not name: it was written before there was a choice.
_FIRST = Recipe(
    place_network=NetworkOptions(), references=ReferenceOptions(), quantise=QuantiseOptions(views=0)
)


def recipe_in_manifest(recipe: Recipe) -> dict[str, Any]:
    """The recipe as plain values; weights given by path are named without their folder."""
    portable = dataclasses.replace(
        recipe,
        altitude_network=_without_folders(recipe.altitude_network),
        place_network=_without_folders(recipe.place_network),
    )
    return {**dataclasses.asdict(portable), "camera": dataclasses.asdict(recipe.camera)}


def recipe_from_manifest(manifest: dict[str, Any], folder: Path) -> Recipe:
    """The recipe a bundle was made with."""
    table = dict(manifest["recipe"])
    camera = Camera(**table.pop("camera"))
    try:
        recipe = changed(_FIRST, table, where=str(folder))
    except InputError as error:
        raise damaged(folder, f"its recipe cannot be read ({error.message})") from error
    return dataclasses.replace(recipe, camera=camera)


def _without_folders(network: NetworkOptions) -> NetworkOptions:
    return dataclasses.replace(
        network, weights=portable_name(network.weights), start=portable_name(network.start)
    )


def portable_name(source: str) -> str:
    """What weights are called on any machine: a path loses its folders, a model's name keeps its owner."""
    path = Path(source).expanduser()
    return path.name if source and path.exists() else source
