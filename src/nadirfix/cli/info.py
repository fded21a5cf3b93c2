"""``nadirfix info``: what a bundle is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nadirfix.cli.common import Quiet, print_result

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["BundlePath", "info", "summary"]

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A NAME.nadir folder.")]


def info(bundle: BundlePath, *, quiet: Quiet = False) -> None:  # noqa: ARG001
    """Tell what a bundle is made of: map, camera, recipe, references, accuracy, parts."""
    from nadirfix.bundle import Bundle

    opened = Bundle.load(bundle)
    known = {key: value for key, value in opened.manifest.items() if key != "classes"}
    print_result({**summary(opened), "manifest": known})


def _described(said: dict[str, Any]) -> dict[str, Any] | None:
    """How references were described, and how alike the network's eight bits are to single precision."""
    about = said.get("described")  # bundles of earlier layouts do not say
    narrow = said["networks"]["place"].get("eight_bits") or {}
    return about and {**about, "eight_bits_likeness": narrow.get("likeness")}


def summary(bundle: Bundle) -> dict[str, Any]:
    """A bundle in a few numbers."""
    said = bundle.manifest
    return {
        "bundle": str(bundle.path),
        "camera": bundle.camera.spec,
        "recipe": said["recipe"]["name"],
        "trained": {name: network["training"] is not None for name, network in said["networks"].items()},
        "matcher": bundle.matcher_name,
        "described": _described(said),
        "counts": said["counts"],
        "accuracy": said["accuracy"],
        "bytes": sum(part["bytes"] for part in said["parts"].values()),
    }
