"""Both networks of a bundle in eight bits: what they are shown for it, and what the manifest says of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import layout as parts
from nadirfix.errors import MapError
from nadirfix.geo.texture import Texture
from nadirfix.offline.altitude_fit import Looks, draw_views, other_day
from nadirfix.offline.describe import Lookout
from nadirfix.offline.quantise import quantise
from nadirfix.offline.workdir import Work
from nadirfix.options.recipe import Recipe
from nadirfix.parallel import cores
from nadirfix.runtime.network import Floats

__all__ = ["Form", "Mapped", "altitude_examples", "place_examples", "put_in_eight_bits", "quickest_form"]

About = dict[str, Any]

#: With fewer views ranges would be measured on too little.
_FEWEST = 8


class Mapped(Protocol):
    """Anything that knows the map's picture."""

    @property
    def texture(self) -> Texture:
        """The map's picture."""


@dataclass(frozen=True, slots=True)
class Form:
    """A network's file, and what it counts in."""

    path: Path
    precision: str


def put_in_eight_bits(
    part: str, examples: Callable[[], Floats], recipe: Recipe, work: Work, *, scores: bool = False
) -> About | None:
    """Write a network in eight bits where it bears it, unless an earlier build did; how that went.

    None where eight bits are not asked for. What the network is shown is made only when it is needed.
    """
    if recipe.quantise.views == 0:
        return None
    known = work.note(_note(part))
    if known is None:
        known = work.write_note(_note(part), _attempt(part, examples, recipe, work, scores=scores))
    return {key: value for key, value in known.items() if key != "quicker"}


def _attempt(part: str, examples: Callable[[], Floats], recipe: Recipe, work: Work, *, scores: bool) -> About:
    if find_spec("onnx") is None:
        return {"kept": False, "why": "onnx is not installed"}
    try:
        shown = examples()
    except MapError as error:  # so small a map that none fits
        return {"kept": False, "why": str(error)}
    if len(shown) < _FEWEST:
        return {"kept": False, "why": f"only {len(shown)} views fit on the map"}
    target = work.part(parts.eight_bit(part))
    return quantise(work.part(part), target, shown, recipe.quantise, scores=scores)


def quickest_form(work: Work, part: str) -> Form:
    """The form of a network that is quicker here, of those that say the same."""
    known = work.note(_note(part)) or {}
    if known.get("kept") and known.get("quicker"):
        return Form(work.part(parts.eight_bit(part)), "eight_bit")
    return Form(work.part(part), "single")


def _note(part: str) -> str:
    return f"{part}.int8.json"


def place_examples(lookout: Lookout, recipe: Recipe) -> Floats:
    """What the place network sees: references from all over the map, in the light of other days."""
    rows = np.linspace(0, len(lookout) - 1, recipe.quantise.views).astype(int)

    def look(row: int) -> Floats:
        draw = np.random.default_rng([recipe.fit.seed, row])
        changed = other_day(np.moveaxis(lookout.picture(row), 0, -1), draw, recipe.fit)
        return np.moveaxis(changed, -1, 0)

    return _seen(look, rows.tolist())


def altitude_examples(ground: Mapped, recipe: Recipe) -> Floats:
    """What the altitude network sees: views of the map from every altitude, in the light of other days."""
    options = replace(recipe.fit, views=recipe.quantise.views)
    views = draw_views(ground.texture, recipe.camera, AltitudeBins.from_options(recipe.bins), options)
    looks = Looks(ground.texture, recipe.camera, recipe.altitude_network, options)
    return _seen(lambda row: looks.of(views, row), list(range(len(views))))


def _seen(look: Callable[[int], Floats], rows: list[int]) -> Floats:
    with ThreadPoolExecutor(cores()) as pool:
        seen = list(pool.map(look, rows))
    return np.stack(seen).astype(np.float32) if seen else np.zeros((0, 3, 1, 1), np.float32)
