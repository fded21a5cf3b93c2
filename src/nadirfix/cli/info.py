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
    """Print what a bundle is made of: map, camera, recipe, references, accuracy, parts."""
    from nadirfix.bundle import Bundle

    opened = Bundle.load(bundle)
    manifest = {key: value for key, value in opened.manifest.items() if key != "classes"}
    print_result({**summary(opened), "manifest": manifest})


def _description(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """How references were described, and how similar the int8 network's outputs are to single precision."""
    description = manifest.get("described")  # bundles of earlier layouts do not say
    int8 = manifest["networks"]["place"].get("eight_bits") or {}
    return description and {**description, "eight_bits_likeness": int8.get("likeness")}


def summary(bundle: Bundle) -> dict[str, Any]:
    """A bundle in a few numbers."""
    manifest = bundle.manifest
    return {
        "bundle": str(bundle.path),
        "camera": bundle.camera.spec,
        "recipe": manifest["recipe"]["name"],
        "trained": {name: network["training"] is not None for name, network in manifest["networks"].items()},
        "matcher": bundle.matcher_name,
        "described": _description(manifest),
        "counts": manifest["counts"],
        "accuracy": manifest["accuracy"],
        "bytes": sum(part["bytes"] for part in manifest["parts"].values()),
    }
