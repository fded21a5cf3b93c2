"""Both networks of a bundle in eight bits: what they are shown for it, and what the manifest says of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.altitude.fit import Looks, draw_views, other_day
from nadirfix.bundle import parts
from nadirfix.bundle.describe import Lookout
from nadirfix.bundle.quantise import quantise
from nadirfix.bundle.work import Work
from nadirfix.options import Recipe
from nadirfix.runtime.network import Floats

__all__ = ["altitude_examples", "place_examples", "put_in_eight_bits"]

About = dict[str, Any]

#: With fewer views ranges would be measured on too little.
_FEWEST = 8


def put_in_eight_bits(lookout: Lookout, recipe: Recipe, work: Work, about: About) -> About:
    """Write both networks in eight bits where they bear it; what is known of each, with how that went."""

    def altitude() -> Floats:
        return altitude_examples(lookout, recipe)

    def place() -> Floats:
        return place_examples(lookout, recipe)

    shown = {"altitude": (parts.ALTITUDE, altitude), "place": (parts.PLACE, place)}
    return {name: {**said, "eight_bits": _one(*shown[name], recipe, work)} for name, said in about.items()}


def _one(part: str, examples: Callable[[], Floats], recipe: Recipe, work: Work) -> About | None:
    """One network, unless an earlier build came so far; None where eight bits are not asked for."""
    if recipe.quantise.views == 0:
        return None
    if find_spec("onnx") is None:
        return {"kept": False, "why": "onnx is not installed"}
    note = f"{part}.int8.json"
    known = work.note(note)
    if known is not None:
        return known
    shown = examples()
    if len(shown) < _FEWEST:
        return {"kept": False, "why": f"only {len(shown)} views fit on the map"}
    target = work.part(parts.eight_bit(part))
    scores = part == parts.ALTITUDE and not work.part(parts.ALTITUDE_CLASSES).exists()
    return work.write_note(note, quantise(work.part(part), target, shown, recipe.quantise, scores=scores))


def place_examples(lookout: Lookout, recipe: Recipe) -> Floats:
    """What the place network sees: references from all over the map, in the light of other days."""
    rows = np.linspace(0, len(lookout) - 1, recipe.quantise.views).astype(int)

    def look(row: int) -> Floats:
        draw = np.random.default_rng([recipe.fit.seed, row])
        changed = other_day(np.moveaxis(lookout.picture(row), 0, -1), draw, recipe.fit)
        return np.moveaxis(changed, -1, 0)

    return _seen(look, rows.tolist())


def altitude_examples(lookout: Lookout, recipe: Recipe) -> Floats:
    """What the altitude network sees: views of the map from every altitude, in the light of other days."""
    options = replace(recipe.fit, views=recipe.quantise.views)
    views = draw_views(lookout.texture, recipe.camera, AltitudeBins.from_options(recipe.bins), options)
    looks = Looks(lookout.texture, recipe.camera, recipe.altitude_network, options)
    return _seen(lambda row: looks.of(views, row), list(range(len(views))))


def _seen(look: Callable[[int], Floats], rows: list[int]) -> Floats:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        seen = list(pool.map(look, rows))
    return np.stack(seen).astype(np.float32) if seen else np.zeros((0, 3, 1, 1), np.float32)
