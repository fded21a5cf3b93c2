"""The keypoint extractor of a bundle: by which fixes will be verified against the map."""

from __future__ import annotations

from typing import Any

from nadirfix.bundle import layout as parts
from nadirfix.errors import WeightsError
from nadirfix.offline.workdir import WorkDir
from nadirfix.options.recipe import Recipe
from nadirfix.train.xfeat import export_xfeat, missing_xfeat_packages, xfeat_metadata

__all__ = ["matcher_card", "write_matcher"]


def matcher_card(recipe: Recipe) -> dict[str, Any] | None:
    """The manifest's entry for the matcher; None where the recipe has none.

    One that cannot be had is an error: a bundle without it would answer worse, and nobody asked for that.
    """
    if recipe.matcher == "xfeat":
        if missing := missing_xfeat_packages():
            raise _no_matcher(missing)
        return xfeat_metadata()
    return {"name": recipe.matcher} if recipe.matcher == "sift" else None


def write_matcher(workdir: WorkDir) -> None:
    """Write the matcher's network, where it has one and it is not there yet."""
    target, card = workdir.part(parts.MATCHER), workdir.inputs["matcher"]
    if card is not None and card["name"] == "xfeat" and not target.exists():
        export_xfeat(target)


def _no_matcher(missing: list[str]) -> WeightsError:
    return WeightsError(
        "weights.no_matcher",
        "the recipe's matcher cannot be put into the bundle",
        seen=f'matcher = "xfeat", and {", ".join(missing)} not installed',
        do="install them with: pip install 'nadirfix[train,verify]', or take another matcher in the recipe",
    )
