"""The recipe a bundle was made with, read from its manifest."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle.layout import damaged
from nadirfix.camera import Camera, Lens
from nadirfix.errors import InputError
from nadirfix.options.recipe import NetworkOptions, QuantiseOptions, Recipe, ReferenceOptions
from nadirfix.options.toml import changed

__all__ = ["recipe_from_manifest"]

#: What a manifest means by a setting it does not name: it was written before there was a choice.
_FIRST = Recipe(
    place_network=NetworkOptions(), references=ReferenceOptions(), quantise=QuantiseOptions(views=0)
)

#: Sides of the nominal camera's pictures, and of what a network takes.
_WIDEST_PX, _WIDEST_INPUT_PX = 100_000, 4096


def recipe_from_manifest(manifest: dict[str, Any], folder: Path) -> Recipe:
    """The recipe a bundle was made with."""
    table = dict(manifest["recipe"])
    try:
        camera = _camera(dict(table.pop("camera")))
        recipe = dataclasses.replace(changed(_FIRST, table, where=str(folder)), camera=camera)
        _check_limits(recipe)
    except (InputError, TypeError, ValueError) as error:
        raise damaged(folder, f"its recipe cannot be read ({str(error)[:300]})") from error
    return recipe


def _camera(table: dict[str, Any]) -> Camera:
    """The nominal camera; a lens has lists where a camera has tuples."""
    lens = table.pop("lens", None)
    if lens is None:
        return Camera(**table)
    entries: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in dict(lens).items()}
    return Camera(**table, lens=Lens(**entries))


def _check_limits(recipe: Recipe) -> None:
    """Raise an error where a setting that photos are located with is beyond what anybody needs."""
    AltitudeBins.from_options(recipe.bins)
    camera, references = recipe.camera, recipe.references
    sides = {"camera": (camera.width_px, camera.height_px)}
    for name, network in (("altitude", recipe.altitude_network), ("place", recipe.place_network)):
        sides[f"{name} network"] = network.size_px
        scaled = 1 < network.log_base < 1e6 and network.spectrum_scale > 0 and network.spectrum_levels > 0
        if not scaled or max(network.size_px) > _WIDEST_INPUT_PX:
            raise ValueError(f"the {name} network takes {network.size_px} pixels, or no usual spectrum")
    for name, (width_px, height_px) in sides.items():
        if not 8 <= min(width_px, height_px) <= max(width_px, height_px) <= _WIDEST_PX:
            raise ValueError(f"the {name} has {width_px} × {height_px} pixels")
    focal = (camera.fx_px / camera.width_px, camera.fy_px / camera.height_px)
    altitudes = (references.canonical_altitude_m, recipe.bins.min_m, recipe.bins.max_m)
    if not (all(0.01 <= one <= 1000 for one in focal) and all(0.1 <= one <= 1e6 for one in altitudes)):
        raise ValueError(f"a camera of {camera.spec}, or altitudes of {altitudes} m")
    if not 0 < recipe.head.scale <= 1e6:
        raise ValueError(f"cells are classified with a scale of {recipe.head.scale}")
