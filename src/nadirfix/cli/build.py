"""``nadirfix build``: from a map to a bundle."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.cli.common import AllowRemote, Overwrite, Quiet, print_note, print_result
from nadirfix.cli.info import summary
from nadirfix.cli.progress import progress_bar
from nadirfix.options.map import MapOptions
from nadirfix.options.recipe import RECIPES, Recipe, load_recipe

__all__ = ["Device", "build"]

_DEFAULT = Recipe()
_UNVERIFIED = "answers of this bundle will be unverified: its recipe has no matcher"


class Device(StrEnum):
    """Where networks are trained."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


def build(
    maps: Annotated[list[Path], typer.Argument(metavar="MAP", help="The map; several files make one.")],
    out: Annotated[Path, typer.Option("--out", metavar="NAME.nadir", help="Folder to make.")],
    *,
    recipe: Annotated[
        str, typer.Option(metavar="NAME|FILE", help=f"{', '.join(RECIPES)}, or a TOML file.")
    ] = _DEFAULT.name,
    train: Annotated[
        bool,
        typer.Option("--train", help="Train the networks on this map instead of using them as they come."),
    ] = False,
    camera: Annotated[
        str | None,
        typer.Option(metavar="WxH@F|FILE", help="Nominal camera.", show_default=DEFAULT_CAMERA.spec),
    ] = None,
    device: Annotated[Device, typer.Option(help="Where to train.")] = Device.auto,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a build that was stopped.")] = False,
    overwrite: Overwrite = False,
    allow_remote: AllowRemote = False,
    quiet: Quiet = False,
) -> None:
    """Make a bundle from a map: describe what it looks like from everywhere."""
    from nadirfix.offline import build_bundle

    with progress_bar(quiet) as progress:
        bundle = build_bundle(
            maps,
            out,
            recipe=_recipe(recipe, camera),
            train=train,
            device=device.value,
            resume=resume,
            overwrite=overwrite,
            opening=MapOptions(allow_remote=allow_remote),
            progress=progress,
        )
    if bundle.matcher_name is None:
        print_note(_UNVERIFIED, quiet=quiet)
    print_result(summary(bundle))


def _recipe(name: str, camera: str | None) -> Recipe:
    recipe = load_recipe(name)
    return dataclasses.replace(recipe, camera=Camera.pinhole(camera)) if camera else recipe
