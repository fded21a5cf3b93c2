"""A photo as it was taken: its pixels, the camera that took them, and from how high."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.crop import network_frame, photo_gsd_m
from nadirfix.image.decode import Photo, decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.options import LocateOptions, NetworkOptions
from nadirfix.types import AltitudeEstimate

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["Height", "Shot", "estimate_height", "height_of", "planes", "read_shot"]


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A photo as it was taken: pixels, the camera that took them, and what the pilot should know."""

    pixels: NDArray[np.uint8]
    camera: Camera
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Height:
    """From how high: given, estimated, or not asked for."""

    altitude_m: float | None = None
    gsd_m: float | None = None
    estimate: AltitudeEstimate | None = None
    warnings: tuple[str, ...] = ()
    sigma_m: float | None = None  # of an altitude that was given


def read_shot(photo: Photo, given: Camera | None, bundle: Bundle, options: LocateOptions) -> Shot:
    """Read a photo and choose its camera: the one given, else its own tags, else the bundle's nominal one."""
    pixels = decode(photo, max_pixels=options.max_pixels)
    _check_size(pixels, options)
    chosen = choose_camera(read_tags(photo), explicit=given, nominal=bundle.camera)
    return Shot(pixels, chosen.camera, chosen.warnings + _size_warnings(pixels, bundle))


def height_of(shot: Shot, bundle: Bundle, given: Height, options: LocateOptions) -> Height:
    """The altitude that was given, or what the picture says of it."""
    _check_altitude(given)
    if given.altitude_m is not None:
        return replace(given, gsd_m=shot.camera.gsd_m(given.altitude_m))
    return estimate_height(shot, bundle) if options.crop else Height()


def estimate_height(shot: Shot, bundle: Bundle) -> Height:
    """What the network names is the altitude of the nominal camera; gsd follows, and from it the true one."""
    settings = bundle.recipe.altitude_network
    frame = network_frame(
        shot.pixels, shot.camera, bundle.camera, width_px=settings.width_px, height_px=settings.height_px
    )
    scores = bundle.altitude_scores(_altitude_input(frame, settings)[None])[0]
    nominal = bundle.bins.estimate(scores)
    gsd_m = photo_gsd_m(nominal.altitude_m, nominal=bundle.camera, photo=shot.camera)
    estimate = nominal.scaled(shot.camera.altitude_m(gsd_m) / nominal.altitude_m)
    return Height(estimate.altitude_m, gsd_m, estimate, _edge_warning(estimate))


def _altitude_input(frame: NDArray[np.float32], settings: NetworkOptions) -> NDArray[np.float32]:
    return log_spectrum(frame, settings) if settings.input == "spectrum" else planes(frame)


def planes(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Channels first, as networks want it."""
    return np.moveaxis(picture, -1, 0)


def _check_size(pixels: NDArray[np.uint8], options: LocateOptions) -> None:
    height_px, width_px = pixels.shape[:2]
    if min(height_px, width_px) < options.min_side_px:
        raise InputError(
            "photo.too_small",
            "the photo has too few pixels",
            seen=f"{width_px} × {height_px} px, at least {options.min_side_px} each way are needed",
            do="give the original photo, not a thumbnail",
        )


def _size_warnings(pixels: NDArray[np.uint8], bundle: Bundle) -> tuple[str, ...]:
    height_px, width_px = pixels.shape[:2]
    networks = bundle.recipe.altitude_network, bundle.recipe.place_network
    wide, high = max(n.width_px for n in networks), max(n.height_px for n in networks)
    if width_px >= wide and height_px >= high:
        return ()
    return (f"the photo has {width_px} × {height_px} px, the networks look at {wide} × {high}: enlarged",)


def _check_altitude(given: Height) -> None:
    altitude_m, sigma_m = given.altitude_m, given.sigma_m
    if altitude_m is not None and not 0 < altitude_m < math.inf:
        raise InputError(
            "altitude.invalid",
            "an altitude must be a positive number of metres above ground",
            seen=f"{altitude_m}",
            do="give metres above ground, or leave it out to have it estimated",
        )
    if sigma_m is not None and (altitude_m is None or not 0 <= sigma_m < math.inf):
        raise InputError(
            "altitude.invalid",
            "the deviation of an altitude must be 0 m or more, and belong to an altitude",
            seen=f"altitude {altitude_m}, deviation {sigma_m}",
            do="give both in metres, or leave the deviation out",
        )


def _edge_warning(estimate: AltitudeEstimate) -> tuple[str, ...]:
    if not estimate.at_edge:
        return ()
    return (
        f"the altitude is the last the bundle knows at this end ({estimate.altitude_m:.0f} m): "
        "the photo may come from beyond it",
    )
