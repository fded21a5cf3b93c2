"""The networks of a bundle taken as the package ships them: nothing is trained, and torch is not needed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import layout as parts
from nadirfix.files import atomic_file
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.grid import ClassOrder
from nadirfix.offline.altitude_fit import fit_classes
from nadirfix.offline.compress import int8_to_float16
from nadirfix.offline.describe import save_array
from nadirfix.offline.int8 import altitude_examples, describing_variant, quantise_network
from nadirfix.offline.workdir import BuildContext, WorkDir
from nadirfix.options.recipe import Recipe
from nadirfix.options.training import TrainOptions
from nadirfix.runtime import load_network
from nadirfix.runtime.packaged import ShippedNetwork, shipped_network

__all__ = [
    "ShippedNetworks",
    "fit_altitude",
    "install_altitude",
    "install_place",
    "shipped_altitude",
    "shipped_place",
    "trains",
]


class ShippedNetworks:
    """Installs both networks in a bundle; each leaves a note when it is done."""

    def __init__(self, context: BuildContext, *, altitude: ShippedNetwork, place: ShippedNetwork) -> None:
        self._context, self._altitude, self._place = context, altitude, place

    def cells_to_learn(self) -> None:
        """Nothing is trained, so any cell will do."""

    def altitude(self) -> dict[str, Any]:
        """Install the altitude network; its card for the manifest."""
        return self._context.workdir.note("altitude.json") or install_altitude(self._altitude, self._context)

    def place(self, _order: ClassOrder) -> dict[str, Any]:
        """Install the place network; its card for the manifest."""
        return self._context.workdir.note("place.json") or install_place(self._place, self._context.workdir)


def trains(options: TrainOptions) -> bool:
    """Whether there is anything to train: a budget of nothing leaves a network as it starts."""
    return options.schedule == "plateau" or options.budget_steps > 0 or options.budget_s > 0


def shipped_altitude(recipe: Recipe) -> ShippedNetwork | None:
    """The altitude network the recipe means, where the package ships just that one."""
    return shipped_network(recipe.altitude_network)


def shipped_place(recipe: Recipe) -> ShippedNetwork | None:
    """The place network the recipe means, where the package ships just that one."""
    return shipped_network(recipe.place_network)


def install_altitude(network: ShippedNetwork, context: BuildContext) -> dict[str, Any]:
    """Write a shipped altitude network into the bundle, and fit the classes it comes without."""
    _write(network, context.workdir, parts.ALTITUDE)
    return context.workdir.write_note("altitude.json", {**network.card, **fit_altitude(context)})


def fit_altitude(context: BuildContext) -> dict[str, Any]:
    """Fit altitude classes to the map for an embedder that is installed already; how that went."""
    workdir, recipe = context.workdir, context.recipe
    quantise_network(parts.ALTITUDE, lambda: altitude_examples(context, recipe), recipe, workdir)
    fitted = fit_classes(
        context.texture,
        load_network(describing_variant(workdir, parts.ALTITUDE).path, threads=1).run,
        camera=recipe.camera,
        bins=AltitudeBins.from_options(recipe.bins),
        network=recipe.altitude_network,
        options=recipe.fit,
        progress=context.progress,
    )
    save_array(workdir.part(parts.ALTITUDE_CLASSES), fitted.rows)
    sharp_m = sharp_altitude_m(context.texture, recipe.camera, recipe.altitude_network.width_px)
    return {"fitted": fitted.record, "sharp_altitude_m": sharp_m}


def install_place(network: ShippedNetwork, workdir: WorkDir) -> dict[str, Any]:
    """Write a shipped place network into the bundle."""
    _write(network, workdir, parts.PLACE)
    return workdir.write_note("place.json", network.card)


def _write(network: ShippedNetwork, workdir: WorkDir, part: str) -> None:
    # Without onnx nothing is quantised, and the package's own variant is all there is.
    content = int8_to_float16(network.content) if find_spec("onnx") else network.content
    with atomic_file(workdir.part(part)) as scratch:
        scratch.write_bytes(content)
