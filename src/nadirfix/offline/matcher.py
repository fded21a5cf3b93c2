"""The keypoint extractor of a bundle: by which fixes will be verified against the map (ADR 48)."""

from __future__ import annotations

from typing import Any

from nadirfix.bundle import layout as parts
from nadirfix.errors import WeightsError
from nadirfix.files import atomic_file
from nadirfix.offline.workdir import WorkDir
from nadirfix.options.recipe import Recipe
from nadirfix.runtime.packaged import shipped_matcher
from nadirfix.train.xfeat import export_xfeat, missing_xfeat_packages, xfeat_metadata

__all__ = ["matcher_card", "write_matcher"]


def matcher_card(recipe: Recipe) -> dict[str, Any] | None:
    """The manifest's entry for the matcher, None where there is none; refused where it cannot be had."""
    if recipe.matcher == "standard":
        return shipped_matcher().card
    if recipe.matcher == "xfeat":
        _require_xfeat()
        return xfeat_metadata()
    return {"name": recipe.matcher} if recipe.matcher == "sift" else None


def _require_xfeat() -> None:
    if missing := missing_xfeat_packages():
        raise WeightsError(
            "weights.no_torch",
            'the matcher "xfeat" needs packages that are not installed',
            seen=f"{', '.join(missing)} not installed",
            do="pip install 'nadirfix[train,verify]', or leave matcher = \"standard\", which needs none",
        )


def write_matcher(workdir: WorkDir) -> None:
    """Write the matcher's network, where it has one and it is not there yet."""
    target, card = workdir.part(parts.MATCHER), workdir.inputs["matcher"]
    if card is None or target.exists():
        return
    if card["name"] == "standard":
        with atomic_file(target) as scratch:
            scratch.write_bytes(shipped_matcher().content)
    elif card["name"] == "xfeat":
        export_xfeat(target)
