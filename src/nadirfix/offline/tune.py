"""Which backend runs a bundle's networks fastest on this machine: measured once, on views of its own map."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from nadirfix.bundle import layout as parts
from nadirfix.bundle.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.files import Progress, quiet
from nadirfix.offline.describe import ReferenceRenderer
from nadirfix.offline.int8 import altitude_examples, place_examples
from nadirfix.options.recipe import QuantiseOptions
from nadirfix.options.verify import MatchOptions
from nadirfix.runtime.backend import remembered_backend
from nadirfix.runtime.benchmark import fastest_backend
from nadirfix.runtime.network import Floats
from nadirfix.types import Point, View

__all__ = ["is_tuned", "measured_parts", "tune_backends"]

_VIEWS = QuantiseOptions(views=12)
#: The altitude of the matcher's examples: the middle of what photos are taken from.
_ALTITUDE_M = 250.0
_STAGE = "measuring which library is fastest here"


def is_tuned(bundle: Bundle) -> bool:
    """Whether this machine has measured this bundle's networks before."""
    return all(remembered_backend(bundle.network_files(part)) for part in measured_parts(bundle))


def tune_backends(bundle: Bundle, progress: Progress = quiet) -> dict[str, str]:
    """Measure every backend for the bundle's networks; keep and return the fastest that agrees."""
    fastest, networks = {}, measured_parts(bundle)
    for done, part in enumerate(networks):
        progress(_STAGE, done, len(networks))
        backend = fastest_backend(bundle.network_files(part), _EXAMPLES[part](bundle))
        fastest[part] = f"{backend.library}, {backend.precision}"
    progress(_STAGE, len(networks), len(networks))
    return fastest


def measured_parts(bundle: Bundle) -> tuple[str, ...]:
    """The networks the bundle carries; not every matcher is one."""
    matcher = (parts.MATCHER,) if parts.MATCHER in bundle.manifest["parts"] else ()
    return parts.ALTITUDE, parts.PLACE, *matcher


def _renderer(bundle: Bundle) -> ReferenceRenderer:
    size = bundle.recipe.place_network.size_px
    return ReferenceRenderer(bundle.texture, bundle.canonical, bundle.references, size)


def _altitude_examples(bundle: Bundle) -> Floats:
    return altitude_examples(_renderer(bundle), dataclasses.replace(bundle.recipe, quantise=_VIEWS))


def _place_examples(bundle: Bundle) -> Floats:
    return place_examples(_renderer(bundle), dataclasses.replace(bundle.recipe, quantise=_VIEWS))


def _matcher_examples(bundle: Bundle) -> Floats:
    """Grey views of the map from all over it, as wide as photos are matched."""
    width_px = MatchOptions().width_px
    camera = bundle.camera.resized(width_px, width_px * 3 // 4)
    rows = np.linspace(0, len(bundle.references.east_m) - 1, _VIEWS.views).astype(int)
    return np.stack([_grey(bundle, camera, int(row)) for row in rows])[:, None]


def _grey(bundle: Bundle, camera: Camera, row: int) -> Floats:
    table = bundle.references
    center = Point(float(table.east_m[row]), float(table.north_m[row]), bundle.epsg)
    rendered = bundle.texture.render(View(center, _ALTITUDE_M, float(table.heading_deg[row])), camera)
    return np.asarray(rendered.pixels.mean(axis=2), np.float32)


_EXAMPLES: dict[str, Callable[[Bundle], Floats]] = {
    parts.ALTITUDE: _altitude_examples,
    parts.PLACE: _place_examples,
    parts.MATCHER: _matcher_examples,
}
