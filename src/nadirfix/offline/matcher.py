"""The keypoint extractor of a bundle: by which fixes will be verified against the map."""

from __future__ import annotations

from typing import Any

from nadirfix.bundle import layout as parts
from nadirfix.offline.workdir import WorkDir
from nadirfix.options.recipe import Recipe
from nadirfix.train.xfeat import export_xfeat, missing_xfeat_packages, xfeat_metadata

__all__ = ["matcher_card", "write_matcher"]


def matcher_card(recipe: Recipe) -> dict[str, Any] | None:
    """The manifest's entry for the matcher; None where there is none, or the extra is not installed."""
    if recipe.matcher == "xfeat":
        return None if missing_xfeat_packages() else xfeat_metadata()
    return {"name": recipe.matcher} if recipe.matcher == "sift" else None


def write_matcher(workdir: WorkDir) -> None:
    """Write the matcher's network, where it has one and it is not there yet."""
    target, card = workdir.part(parts.MATCHER), workdir.inputs["matcher"]
    if card is not None and card["name"] == "xfeat" and not target.exists():
        export_xfeat(target)
