"""Where was this drone photo taken, and from how high? From the picture and a map alone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.camera import Camera, Lens
    from nadirfix.errors import (
        BundleError,
        InputError,
        MapError,
        NadirfixError,
        OutputError,
        TrainingError,
        WeightsError,
    )
    from nadirfix.evaluation.answer_files import evaluate
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.geo.texture import Texture
    from nadirfix.offline import build_bundle
    from nadirfix.online import locate
    from nadirfix.options.locate import LocateOptions
    from nadirfix.options.recipe import Recipe, load_recipe
    from nadirfix.prior import Prior
    from nadirfix.types import Aircraft, AltitudeEstimate, Candidates, Fix, Hypothesis, Point, View
    from nadirfix.types.gimbal import Gimbal

__all__ = [
    "Aircraft",
    "AltitudeEstimate",
    "Bundle",
    "BundleError",
    "Camera",
    "Candidates",
    "Fix",
    "GeoMap",
    "Gimbal",
    "Hypothesis",
    "InputError",
    "Lens",
    "LocateOptions",
    "MapError",
    "NadirfixError",
    "OutputError",
    "Point",
    "Prior",
    "Recipe",
    "Texture",
    "TrainingError",
    "View",
    "WeightsError",
    "build_bundle",
    "evaluate",
    "load_recipe",
    "locate",
]

__version__ = "0.1.0"

_NAMES_BY_HOME = {
    "bundle": ("Bundle",),
    "camera": ("Camera", "Lens"),
    "errors": (
        "BundleError",
        "InputError",
        "MapError",
        "NadirfixError",
        "OutputError",
        "TrainingError",
        "WeightsError",
    ),
    "evaluation.answer_files": ("evaluate",),
    "geo.geomap": ("GeoMap",),
    "geo.texture": ("Texture",),
    "types.gimbal": ("Gimbal",),
    "offline": ("build_bundle",),
    "online": ("locate",),
    "options.locate": ("LocateOptions",),
    "options.recipe": ("Recipe", "load_recipe"),
    "prior": ("Prior",),
    "types": ("Aircraft", "AltitudeEstimate", "Candidates", "Fix", "Hypothesis", "Point", "View"),
}
_HOME = {name: home for home, names in _NAMES_BY_HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that importing nadirfix costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
