"""What the method's own tables change, one thing at a time, and what must be trained for it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.errors import InputError
from nadirfix.options.recipe import BinOptions, Recipe
from nadirfix.options.training import TrainOptions

__all__ = ["Ablation", "ablations_of"]

_INPUTS: tuple[Literal["spectrum", "pixels"], ...] = ("spectrum", "pixels")
_HEADS: tuple[Literal["ce", "aamc", "qamc"], ...] = ("ce", "aamc", "qamc")
_WIDTHS_M = (25.0, 50.0, 75.0, 100.0)

#: References nobody will search: as few as there can be.
_FEW_REFERENCES_M = 500.0


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One row of a table: what is changed, and which of the two networks it changes."""

    table: str
    name: str
    recipe: Recipe
    changes: Literal["nothing", "altitude", "place", "both"]

    @property
    def training(self) -> Recipe:
        """The recipe that trains only what this row changes; the bundle at hand does the rest."""
        recipe = dataclasses.replace(self.recipe, matcher="none")
        if self.changes == "place":
            return dataclasses.replace(recipe, altitude_training=_untrained(recipe.altitude_training))
        if self.changes == "altitude":
            few = dataclasses.replace(recipe.references, stride_m=_FEW_REFERENCES_M, headings=1)
            training = _untrained(recipe.place_training)
            return dataclasses.replace(recipe, place_training=training, references=few)
        return recipe


def ablations_of(recipe: Recipe) -> list[Ablation]:
    """Every row of the tables that need another network, the recipe's own among them."""
    return [*_inputs(recipe), *_heads(recipe), *_bins(recipe)]


def _inputs(recipe: Recipe) -> list[Ablation]:
    found = []
    for name in _INPUTS:
        network = dataclasses.replace(recipe.altitude_network, input=name)
        changed = dataclasses.replace(recipe, altitude_network=network)
        found.append(_ablation("input", name, changed, recipe, "altitude"))
    return found


def _heads(recipe: Recipe) -> list[Ablation]:
    found = []
    for name in _HEADS:
        changed = dataclasses.replace(recipe, head=dataclasses.replace(recipe.head, kind=name))
        found.append(_ablation("head", name.upper(), changed, recipe, "place"))
    return found


def _bins(recipe: Recipe) -> list[Ablation]:
    fixed = [(f"{w:.0f} m", dataclasses.replace(recipe.bins, kind="fixed", width_m=w)) for w in _WIDTHS_M]
    kinds = [*fixed, ("variable", dataclasses.replace(recipe.bins, kind="variable"))]
    return [_bin_ablation(name, bins, recipe) for name, bins in kinds if _fits(bins)]


def _fits(bins: BinOptions) -> bool:
    """Whether such classes fill the recipe's range: 75 m do not fill 100 m."""
    try:
        return len(AltitudeBins.from_options(bins)) > 1
    except InputError:
        return False


def _bin_ablation(name: str, bins: BinOptions, recipe: Recipe) -> Ablation:
    """Narrow classes begin lower, and references are then made lower: that changes both networks."""
    changed = dataclasses.replace(recipe, bins=bins)
    lower = _canonical_m(changed) != _canonical_m(recipe)
    return _ablation("bins", name, changed, recipe, "both" if lower else "altitude")


def _ablation(
    table: str, name: str, changed: Recipe, recipe: Recipe, changes: Literal["altitude", "place", "both"]
) -> Ablation:
    same = _same(changed, recipe)
    return Ablation(table=table, name=name, recipe=changed, changes="nothing" if same else changes)


def _same(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes make the same bundle: variable classes do not care about the fixed width."""
    return dataclasses.replace(one, bins=other.bins) == other and _edges(one) == _edges(other)


def _edges(recipe: Recipe) -> list[float]:
    return [float(edge) for edge in AltitudeBins.from_options(recipe.bins).edges_m]


def _canonical_m(recipe: Recipe) -> float:
    return canonical_altitude_m(recipe.references, AltitudeBins.from_options(recipe.bins))


def _untrained(training: TrainOptions) -> TrainOptions:
    return dataclasses.replace(training, schedule="budget", budget_steps=0, budget_s=0.0)
