"""Which library runs a bundle's networks fastest on this machine: measured once, on views of its own map."""

from __future__ import annotations

import dataclasses

from nadirfix.bundle import parts
from nadirfix.bundle.describe import Lookout
from nadirfix.bundle.eight_bits import altitude_examples, place_examples
from nadirfix.bundle.opened import Bundle
from nadirfix.options import QuantiseOptions
from nadirfix.output import Progress, quiet
from nadirfix.runtime.probe import fastest_way
from nadirfix.runtime.ways import remembered_way

__all__ = ["find_fastest", "is_known"]

_VIEWS = QuantiseOptions(views=12)
_STAGE = "trying which library is fastest here"


def is_known(bundle: Bundle) -> bool:
    """Whether this machine has measured this bundle's networks before."""
    return all(remembered_way(bundle.network_files(part)) for part in (parts.ALTITUDE, parts.PLACE))


def find_fastest(bundle: Bundle, progress: Progress = quiet) -> dict[str, str]:
    """Measure every way to run both networks, keep what was found, and say what it is."""
    recipe = dataclasses.replace(bundle.recipe, quantise=_VIEWS)
    size = recipe.place_network.width_px, recipe.place_network.height_px
    lookout = Lookout(bundle.texture, bundle.canonical, bundle.references, size)
    found = {}
    for done, (part, shown) in enumerate(
        {parts.ALTITUDE: altitude_examples, parts.PLACE: place_examples}.items()
    ):
        progress(_STAGE, done, 2)
        scores = part == parts.ALTITUDE and bundle.altitude_classes is None
        way = fastest_way(bundle.network_files(part), shown(lookout, recipe), scores=scores)
        found[part] = f"{way.library}, {way.precision}"
    progress(_STAGE, 2, 2)
    return found
