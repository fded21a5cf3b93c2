"""Both networks of a bundle quantised to int8: on which examples, and what the manifest says of it."""

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
from nadirfix.offline.altitude_fit import ViewSamples, draw_views, photometric_augmentation
from nadirfix.offline.describe import ReferenceRenderer
from nadirfix.offline.quantise import quantise
from nadirfix.offline.workdir import BuildContext, WorkDir
from nadirfix.options.recipe import Recipe
from nadirfix.parallel import cores
from nadirfix.runtime.network import Floats

__all__ = [
    "HasTexture",
    "NetworkVariant",
    "altitude_examples",
    "describing_variant",
    "place_examples",
    "quantise_network",
    "quantise_networks",
]

Record = dict[str, Any]

#: With fewer views ranges would be measured on too little.
_FEWEST = 8
_STAGE = "quantising networks to int8"


class HasTexture(Protocol):
    """Anything that has the map's texture."""

    @property
    def texture(self) -> Texture:
        """The map's texture."""


@dataclass(frozen=True, slots=True)
class NetworkVariant:
    """A network's file, and its precision."""

    path: Path
    precision: str


def quantise_networks(
    renderer: ReferenceRenderer, context: BuildContext, cards: dict[str, Record]
) -> dict[str, Record]:
    """Both networks in int8, where their outputs stay the same; the cards, with how that went."""
    context.progress(_STAGE, 0, 1)
    recipe, workdir = context.recipe, context.workdir
    scores = not workdir.part(parts.ALTITUDE_CLASSES).exists()
    records = {
        "altitude": quantise_network(
            parts.ALTITUDE, lambda: altitude_examples(renderer, recipe), recipe, workdir, scores=scores
        ),
        "place": quantise_network(parts.PLACE, lambda: place_examples(renderer, recipe), recipe, workdir),
    }
    context.progress(_STAGE, 1, 1)
    return {name: {**card, "eight_bits": records[name]} for name, card in cards.items()}


def quantise_network(
    part: str,
    examples: Callable[[], Floats],
    recipe: Recipe,
    workdir: WorkDir,
    *,
    scores: bool = False,
) -> Record | None:
    """Write a network in int8 where its outputs stay the same, unless an earlier build did; how that went.

    None where int8 is not asked for. The examples are made only when they are needed.
    """
    if recipe.quantise.views == 0:
        return None
    record = workdir.note(_note(part))
    if record is None:
        record = workdir.write_note(_note(part), _attempt(part, examples, recipe, workdir, scores=scores))
    return record


def _attempt(
    part: str, make_examples: Callable[[], Floats], recipe: Recipe, workdir: WorkDir, *, scores: bool
) -> Record:
    if find_spec("onnx") is None:
        return {"kept": False, "why": "onnx is not installed"}
    try:
        examples = make_examples()
    except MapError as error:  # so small a map that none fits
        return {"kept": False, "why": str(error)}
    if len(examples) < _FEWEST:
        return {"kept": False, "why": f"only {len(examples)} views fit on the map"}
    target = workdir.part(parts.int8_part(part))
    return quantise(workdir.part(part), target, examples, recipe.quantise, scores=scores)


def describing_variant(workdir: WorkDir, part: str) -> NetworkVariant:
    """The variant the map is described with: int8 where its outputs are the same, faster here or not.

    On most processors it is two or three times as fast. What was faster on the day would be another bundle.
    """
    if (workdir.note(_note(part)) or {}).get("kept"):
        return NetworkVariant(workdir.part(parts.int8_part(part)), "eight_bit")
    return NetworkVariant(workdir.part(part), "single")


def _note(part: str) -> str:
    return f"{part}.int8.json"


def place_examples(renderer: ReferenceRenderer, recipe: Recipe) -> Floats:
    """Inputs of the place network: references from all over the map, with photometric augmentation."""
    rows = np.linspace(0, len(renderer) - 1, recipe.quantise.views).astype(int)

    def example(row: int) -> Floats:
        draw = np.random.default_rng([recipe.fit.seed, row])
        pixels = np.moveaxis(renderer.picture(row), 0, -1)
        return np.moveaxis(photometric_augmentation(pixels, draw, recipe.fit), -1, 0)

    return _stacked(example, rows.tolist())


def altitude_examples(ground: HasTexture, recipe: Recipe) -> Floats:
    """Inputs of the altitude network: views of the map from every altitude, with photometric augmentation."""
    options = replace(recipe.fit, views=recipe.quantise.views)
    views = draw_views(ground.texture, recipe.camera, AltitudeBins.from_options(recipe.bins), options)
    samples = ViewSamples(ground.texture, recipe.camera, recipe.altitude_network, options)
    return _stacked(lambda row: samples.of(views, row), list(range(len(views))))


def _stacked(example: Callable[[int], Floats], rows: list[int]) -> Floats:
    with ThreadPoolExecutor(cores()) as pool:
        examples = list(pool.map(example, rows))
    return np.stack(examples).astype(np.float32) if examples else np.zeros((0, 3, 1, 1), np.float32)
