"""A photo as it was taken: its pixels, the camera that took them, and from how high."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.exif import tagged_altitudes
from nadirfix.altitude.posterior import likely_altitudes, seen_altitude
from nadirfix.altitude.prior import is_altitude, is_deviation
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.blank import without_blank
from nadirfix.image.crop import crop_window_px, network_frame, photo_gsd_m
from nadirfix.image.decode import Fineness, Photo, decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import NetworkOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.types import AltitudeEstimate, KnownAltitude

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["Height", "Shot", "estimate_height", "height_of", "planes", "read_shot"]


#: A photo this many times as fine as the altitude network looks has the same spectrum whole or halved; at
#: half of that the finest detail is 3 % weaker and one photo in twenty changes its altitude class.
_FINE_ENOUGH = 8


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A photo as it was taken: pixels, the camera that took them, and what the pilot should know."""

    pixels: NDArray[np.uint8]
    camera: Camera  # the one that would take these pixels
    warnings: tuple[str, ...]
    reduced: int = 1  # how many of the photo's own pixels, each way, make one of these
    tagged: tuple[KnownAltitude, ...] = ()  # what its tags say of the altitude


@dataclass(frozen=True, slots=True, eq=False)
class Height:
    """From how high: given, estimated, or not asked for."""

    altitude_m: float | None = None
    gsd_m: float | None = None
    estimate: AltitudeEstimate | None = None
    warnings: tuple[str, ...] = ()
    sigma_m: float | None = None  # of an altitude that was given
    known: tuple[KnownAltitude, ...] = ()  # what was told, by whomever

    @property
    def sources(self) -> tuple[KnownAltitude, ...]:
        """All that is believed of the altitude before the map is asked: the picture's word and others'."""
        return self.known if self.estimate is None else (seen_altitude(self.estimate), *self.known)


def read_shot(
    photo: Photo,
    given: Camera | None,
    bundle: Bundle,
    options: LocateOptions,
    *,
    altitude_m: float | None = None,
) -> Shot:
    """Read a photo and choose its camera: the one given, else its own tags, else the bundle's nominal one.

    A large photo is decoded no finer than anything here looks at it, from the altitude given or any other.
    """
    tags = read_tags(photo)
    _check_size(tags.width_px, tags.height_px, options)
    chosen = choose_camera(tags, explicit=given, nominal=bundle.camera)
    camera = chosen.camera
    fineness = Fineness((camera.width_px, camera.height_px), _least_px(camera, bundle, options, altitude_m))
    pixels = decode(photo, max_pixels=options.max_pixels, fineness=fineness)
    reduced = _reduced(pixels, camera, fineness)
    seen = camera.resized(camera.width_px // reduced, camera.height_px // reduced) if reduced > 1 else camera
    warnings = chosen.warnings + _size_warnings(pixels, bundle)
    return Shot(pixels, seen, warnings, reduced, tagged_altitudes(tags, options.tags))


def _least_px(
    camera: Camera, bundle: Bundle, options: LocateOptions, altitude_m: float | None
) -> tuple[int, int]:
    """The smallest photo that still has a pixel for each that is looked at, from the highest altitude."""
    frame, crop = bundle.recipe.altitude_network, bundle.recipe.place_network
    gsd_m = photo_gsd_m(float(bundle.bins.centers_m[-1]), nominal=bundle.camera, photo=camera)
    gsd_m = max(gsd_m, camera.gsd_m(altitude_m) if altitude_m and is_altitude(altitude_m) else 0.0)
    (window_px, tall_px), _ = crop_window_px(camera, gsd_m, bundle.canonical)
    across = math.ceil(crop.width_px * camera.width_px / window_px)
    down = math.ceil(crop.height_px * camera.height_px / tall_px)
    matched, spared = options.verification.width_px, 1 if altitude_m else _FINE_ENOUGH
    return max(spared * frame.width_px, matched, across), max(spared * frame.height_px, matched, down)


def _reduced(pixels: NDArray[np.uint8], camera: Camera, fineness: Fineness) -> int:
    """How much smaller the photo came out than its camera takes them."""
    found = fineness.reduction((camera.width_px, camera.height_px))
    return found if pixels.shape[1::-1] == (camera.width_px // found, camera.height_px // found) else 1


def height_of(shot: Shot, bundle: Bundle, given: Height, options: LocateOptions) -> Height:
    """The altitude that was given, or what the picture and the photo's tags say of it."""
    _check_altitude(given)
    if given.altitude_m is not None:
        told = KnownAltitude(given.altitude_m, given.sigma_m or 0.0)
        return replace(given, gsd_m=shot.camera.gsd_m(given.altitude_m), known=(told,))
    votes = options.votes or options.verification.votes
    return _with_tags(estimate_height(shot, bundle), shot, votes) if options.crop else Height()


def _with_tags(seen: Height, shot: Shot, votes: VoteOptions) -> Height:
    """The picture's word weighed with that of the tags, each by its deviation."""
    if not shot.tagged:
        return seen
    altitude_m = likely_altitudes(seen.estimate, shot.tagged, votes)[0].altitude_m
    return Height(altitude_m, shot.camera.gsd_m(altitude_m), seen.estimate, known=shot.tagged)


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
    shown = without_blank(frame)
    return log_spectrum(shown, settings) if settings.input == "spectrum" else planes(shown)


def planes(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Channels first, as networks want it."""
    return np.moveaxis(picture, -1, 0)


def _check_size(width_px: int, height_px: int, options: LocateOptions) -> None:
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
    if altitude_m is not None and not is_altitude(altitude_m):
        raise InputError(
            "altitude.invalid",
            "an altitude must be a number of metres above ground that a photo can be taken from",
            seen=f"{altitude_m}",
            do="give 0.1 to 1 000 000 metres above ground, or leave it out to have it estimated",
        )
    if sigma_m is not None and (altitude_m is None or not is_deviation(sigma_m)):
        raise InputError(
            "altitude.invalid",
            "the deviation of an altitude must be 0 to 1 000 000 m, and belong to an altitude",
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
