"""The recipe a bundle was made with, read from its manifest."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from nadirfix.bundle.layout import damaged
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.options.recipe import NetworkOptions, QuantiseOptions, Recipe, ReferenceOptions
from nadirfix.options.toml import changed

__all__ = ["recipe_from_manifest"]

#: What a manifest means by a setting it does not name: it was written before there was a choice.
_FIRST = Recipe(
    place_network=NetworkOptions(), references=ReferenceOptions(), quantise=QuantiseOptions(views=0)
)


def recipe_from_manifest(manifest: dict[str, Any], folder: Path) -> Recipe:
    """The recipe a bundle was made with."""
    table = dict(manifest["recipe"])
    camera = Camera(**table.pop("camera"))
    try:
        recipe = changed(_FIRST, table, where=str(folder))
    except InputError as error:
        raise damaged(folder, f"its recipe cannot be read ({error.message})") from error
    return dataclasses.replace(recipe, camera=camera)
