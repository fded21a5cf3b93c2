"""Which library runs a bundle's networks fastest on this machine: measured once, on views of its own map."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from nadirfix.bundle import layout as parts
from nadirfix.bundle.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.files import Progress, quiet
from nadirfix.offline.describe import Lookout
from nadirfix.offline.int8 import altitude_examples, place_examples
from nadirfix.options.recipe import QuantiseOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.runtime.backend import remembered_way
from nadirfix.runtime.benchmark import fastest_way
from nadirfix.runtime.network import Floats
from nadirfix.types import Point, View

__all__ = ["find_fastest", "is_known"]

_VIEWS = QuantiseOptions(views=12)
#: From how high the matcher's examples are seen: the middle of what photos are taken from.
_SEEN_FROM_M = 250.0
_STAGE = "trying which library is fastest here"


def is_known(bundle: Bundle) -> bool:
    """Whether this machine has measured this bundle's networks before."""
    return all(remembered_way(bundle.network_files(part)) for part in _parts(bundle))


def find_fastest(bundle: Bundle, progress: Progress = quiet) -> dict[str, str]:
    """Measure every way to run the bundle's networks, keep what was found, and say what it is."""
    found, asked = {}, _parts(bundle)
    for done, part in enumerate(asked):
        progress(_STAGE, done, len(asked))
        scores = part == parts.ALTITUDE and bundle.altitude_classes is None
        steady = part == parts.PLACE and not (bundle.described or bundle.matcher_name)
        way = fastest_way(bundle.network_files(part), _SHOWN[part](bundle), scores=scores, steady=steady)
        found[part] = f"{way.library}, {way.precision}"
    progress(_STAGE, len(asked), len(asked))
    return found


def _parts(bundle: Bundle) -> tuple[str, ...]:
    """The networks the bundle carries: a matcher of points is one only where it is XFeat."""
    matcher = (parts.MATCHER,) if bundle.matcher_name == "xfeat" else ()
    return parts.ALTITUDE, parts.PLACE, *matcher


def _lookout(bundle: Bundle) -> Lookout:
    size = bundle.recipe.place_network.width_px, bundle.recipe.place_network.height_px
    return Lookout(bundle.texture, bundle.canonical, bundle.references, size)


def _altitude_examples(bundle: Bundle) -> Floats:
    return altitude_examples(_lookout(bundle), dataclasses.replace(bundle.recipe, quantise=_VIEWS))


def _place_examples(bundle: Bundle) -> Floats:
    return place_examples(_lookout(bundle), dataclasses.replace(bundle.recipe, quantise=_VIEWS))


def _matcher_examples(bundle: Bundle) -> Floats:
    """Grey views of the map from all over it, as wide as photos are looked at."""
    width_px = VerifyOptions().width_px
    camera = bundle.camera.resized(width_px, width_px * 3 // 4)
    known = bundle.references
    rows = np.linspace(0, len(known.east_m) - 1, _VIEWS.views).astype(int)
    return np.stack([_grey(bundle, camera, int(row)) for row in rows])[:, None]


def _grey(bundle: Bundle, camera: Camera, row: int) -> Floats:
    known = bundle.references
    place = Point(float(known.east_m[row]), float(known.north_m[row]), bundle.epsg)
    seen = bundle.texture.render(View(place, _SEEN_FROM_M, float(known.heading_deg[row])), camera)
    return np.asarray(seen.pixels.mean(axis=2), np.float32)


_SHOWN: dict[str, Callable[[Bundle], Floats]] = {
    parts.ALTITUDE: _altitude_examples,
    parts.PLACE: _place_examples,
    parts.MATCHER: _matcher_examples,
}
