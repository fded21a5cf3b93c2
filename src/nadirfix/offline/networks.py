"""Where the networks of a bundle come from: the package, or training, which alone loads torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from nadirfix.errors import WeightsError
from nadirfix.offline.shipped_networks import ShippedNetworks, shipped_altitude, shipped_place, trains
from nadirfix.offline.workdir import BuildContext
from nadirfix.options.recipe import Recipe
from nadirfix.runtime.packaged import ShippedNetwork

if TYPE_CHECKING:
    from nadirfix.offline.trained_networks import TrainedNetworks

__all__ = ["choose_networks", "require_training_libraries"]

_TRAINING_LIBRARIES = ("torch", "transformers", "safetensors", "onnx", "onnxscript")


def choose_networks(context: BuildContext, *, train: bool, device: str) -> TrainedNetworks | ShippedNetworks:
    """What makes the bundle's networks; torch is loaded here, if at all, and not with this module."""
    if shipped := _both_shipped(context.recipe, train=train):
        return ShippedNetworks(context, altitude=shipped[0], place=shipped[1])
    from nadirfix.offline.trained_networks import TrainedNetworks

    return TrainedNetworks(context, train=train, device=device)


def require_training_libraries(recipe: Recipe, *, train: bool) -> None:
    """Networks that do not ship are made with torch, which a machine that only locates does not have."""
    if _both_shipped(recipe, train=train):
        return
    missing = [name for name in _TRAINING_LIBRARIES if find_spec(name) is None]
    if missing:
        raise WeightsError(
            "weights.no_torch",
            "building a bundle with this recipe needs the training libraries",
            seen=f"{', '.join(missing)} not installed",
            do="install them with: pip install 'nadirfix[train]', or build without --train from what ships",
        )


def _both_shipped(recipe: Recipe, *, train: bool) -> tuple[ShippedNetwork, ShippedNetwork] | None:
    """Both networks as the package ships them; None where one is to be trained, or is not among them."""
    if train and (trains(recipe.altitude_training) or trains(recipe.place_training)):
        return None
    altitude, place = shipped_altitude(recipe), shipped_place(recipe)
    return (altitude, place) if altitude and place else None
