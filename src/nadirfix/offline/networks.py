"""The networks of a bundle taken as the package ships them: nothing is trained, and torch is not needed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import layout as parts
from nadirfix.files import Progress, atomic_file
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.grid import ClassOrder
from nadirfix.geo.texture import Texture
from nadirfix.offline.altitude_fit import fit_classes
from nadirfix.offline.compress import bytes_to_half
from nadirfix.offline.describe import save_array
from nadirfix.offline.int8 import altitude_examples, put_in_eight_bits, quickest_form
from nadirfix.offline.workdir import Work
from nadirfix.options.recipe import Recipe
from nadirfix.options.training import TrainOptions
from nadirfix.runtime import load_network
from nadirfix.runtime.packaged import ShippedNetwork, shipped_network

__all__ = [
    "ShippedNetworks",
    "Surroundings",
    "fit_altitude",
    "learns",
    "put_altitude",
    "put_place",
    "shipped_altitude",
    "shipped_place",
]


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """A bundle being built, its map and its recipe, and whom to tell how far it is."""

    work: Work
    texture: Texture
    recipe: Recipe
    progress: Progress


class ShippedNetworks:
    """Puts both networks of a bundle in their place; each leaves a note when it is done."""

    def __init__(self, ground: Surroundings, *, altitude: ShippedNetwork, place: ShippedNetwork) -> None:
        self.ground, self._altitude, self._place = ground, altitude, place

    def cells_to_learn(self) -> None:
        """Nothing is learned, so any cell will do."""

    def altitude(self) -> dict[str, Any]:
        """Put the altitude network in its place; what there is to say about it."""
        return self.ground.work.note("altitude.json") or put_altitude(self._altitude, self.ground)

    def place(self, _order: ClassOrder) -> dict[str, Any]:
        """Put the place network in its place; what there is to say about it."""
        return self.ground.work.note("place.json") or put_place(self._place, self.ground.work)


def learns(training: TrainOptions) -> bool:
    """Whether there is anything to train: a budget of nothing leaves a network as it starts."""
    return training.schedule == "plateau" or training.budget_steps > 0 or training.budget_s > 0


def shipped_altitude(recipe: Recipe) -> ShippedNetwork | None:
    """The altitude network the recipe means, where the package ships just that one."""
    return shipped_network(recipe.altitude_network)


def shipped_place(recipe: Recipe) -> ShippedNetwork | None:
    """The place network the recipe means, where the package ships just that one."""
    return shipped_network(recipe.place_network)


def put_altitude(network: ShippedNetwork, ground: Surroundings) -> dict[str, Any]:
    """Write a shipped altitude network into the bundle, and fit the classes it comes without."""
    _put(network, ground.work, parts.ALTITUDE)
    return ground.work.write_note("altitude.json", {**network.about, **fit_altitude(ground)})


def fit_altitude(ground: Surroundings) -> dict[str, Any]:
    """Fit classes to the map for an embedder that is in its place already; how that went."""
    work, recipe = ground.work, ground.recipe
    put_in_eight_bits(parts.ALTITUDE, lambda: altitude_examples(ground, recipe), recipe, work)
    fitted = fit_classes(
        ground.texture,
        load_network(quickest_form(work, parts.ALTITUDE).path, threads=1).run,
        camera=recipe.camera,
        bins=AltitudeBins.from_options(recipe.bins),
        network=recipe.altitude_network,
        options=recipe.fit,
        progress=ground.progress,
    )
    save_array(work.part(parts.ALTITUDE_CLASSES), fitted.rows)
    sharp_m = sharp_altitude_m(ground.texture, recipe.camera, recipe.altitude_network.width_px)
    return {"fitted": fitted.about, "sharp_altitude_m": sharp_m}


def put_place(network: ShippedNetwork, work: Work) -> dict[str, Any]:
    """Write a shipped place network into the bundle."""
    _put(network, work, parts.PLACE)
    return work.write_note("place.json", network.about)


def _put(network: ShippedNetwork, work: Work, part: str) -> None:
    # Without onnx nothing is put into eight bits, and the package's own form is all there is.
    content = bytes_to_half(network.content) if find_spec("onnx") else network.content
    with atomic_file(work.part(part)) as scratch:
        scratch.write_bytes(content)
