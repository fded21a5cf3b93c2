"""From how high a photo was taken: given, estimated from picture or map, weighed with its tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.posterior import estimated_altitude, likely_altitudes
from nadirfix.altitude.prior import is_altitude, is_deviation
from nadirfix.altitude.sweep import geometric_series
from nadirfix.arrays import channels_first
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.black_borders import fill_black_borders
from nadirfix.image.crop import network_frame, photo_gsd_m
from nadirfix.image.spectrum import log_spectrum
from nadirfix.online.photo import DecodedPhoto
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import NetworkOptions
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import PhotoCrops
from nadirfix.retrieval.voting import Votes, joined
from nadirfix.types import AltitudeEstimate, KnownAltitude

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

__all__ = ["PhotoAltitude", "estimate_altitude", "find_altitude", "sweep_altitudes"]


@dataclass(frozen=True, slots=True, eq=False)
class PhotoAltitude:
    """From how high, before verification: given, estimated, or not known."""

    altitude_m: float | None = None
    gsd_m: float | None = None
    estimate: AltitudeEstimate | None = None
    warnings: tuple[str, ...] = ()
    sigma_m: float | None = None  # of an altitude that was given
    known: tuple[KnownAltitude, ...] = ()  # from the pilot, or from tags

    @property
    def sources(self) -> tuple[KnownAltitude, ...]:
        """All that is believed of the altitude before verification: from the picture and from others."""
        return self.known if self.estimate is None else (estimated_altitude(self.estimate), *self.known)


def find_altitude(
    photo: DecodedPhoto, given: PhotoAltitude, bundle: Bundle, options: LocateOptions, plan: Plan
) -> PhotoAltitude:
    """The altitude that was given, or what the picture and the photo's tags say of it."""
    _check_altitude(given)
    if given.altitude_m is not None:
        known = KnownAltitude(given.altitude_m, given.sigma_m or 0.0)
        return replace(given, gsd_m=photo.camera.gsd_m(given.altitude_m), known=(known,))
    if not plan.estimates_altitude:
        return PhotoAltitude()
    return _with_tags(estimate_altitude(photo, bundle), photo, options.votes)


def _with_tags(estimated: PhotoAltitude, photo: DecodedPhoto, votes: VoteOptions) -> PhotoAltitude:
    """The picture's estimate weighed with that of the tags, each by its deviation."""
    if not photo.tagged:
        return estimated
    altitude_m = likely_altitudes(estimated.estimate, photo.tagged, votes)[0].altitude_m
    return PhotoAltitude(altitude_m, photo.camera.gsd_m(altitude_m), estimated.estimate, known=photo.tagged)


def sweep_altitudes(levels: Sequence[PhotoCrops], bundle: Bundle, options: SweepOptions) -> Votes:
    """What the photo's middle resembles at every altitude, from the lowest at which it covers a reference.

    ``levels`` are the photo's crops among the references of the whole range and, where the bundle has them,
    among those for photos from low above. Only the last of them speaks for altitudes below its lowest.
    """
    covered_m = _covered_altitude_m(levels[-1])
    votes = []
    for crops in levels:
        lowest_m, highest_m = _covered_altitude_m(crops), _highest_m(crops.camera, bundle, options)
        if crops is not levels[0]:
            highest_m = min(highest_m, options.low_share * covered_m)
        altitude_m = geometric_series(lowest_m, max(highest_m, lowest_m), options.ratio)
        gsd_m = np.array([crops.camera.gsd_m(one_m) for one_m in altitude_m])
        lower = options.below if crops is levels[-1] else 1.0
        votes.append(crops.sweep(gsd_m, options, count=options.retrieve, lower=lower))
    return joined(votes)


def _covered_altitude_m(crops: PhotoCrops) -> float:
    """The altitude at which the frame just covers a reference."""
    camera = crops.camera
    wide_m, high_m = crops.search.canonical.footprint_m
    return max(wide_m * camera.fx_px / camera.width_px, high_m * camera.fy_px / camera.height_px)


def _highest_m(camera: Camera, bundle: Bundle, options: SweepOptions) -> float:
    return camera.altitude_m(photo_gsd_m(options.highest_m, nominal=bundle.camera, photo=camera))


def estimate_altitude(photo: DecodedPhoto, bundle: Bundle) -> PhotoAltitude:
    """What the network names is the altitude of the nominal camera; gsd follows, and from it the true one."""
    network = bundle.recipe.altitude_network
    size = {"width_px": network.width_px, "height_px": network.height_px}
    frame = network_frame(photo.pixels, photo.camera, bundle.camera, **size)
    scores = bundle.altitude_scores(_network_input(frame, network)[None])[0]
    nominal = bundle.bins.estimate(scores)
    gsd_m = photo_gsd_m(nominal.altitude_m, nominal=bundle.camera, photo=photo.camera)
    estimate = nominal.scaled(photo.camera.altitude_m(gsd_m) / nominal.altitude_m)
    return PhotoAltitude(estimate.altitude_m, gsd_m, estimate, _edge_warning(estimate))


def _network_input(frame: NDArray[np.float32], network: NetworkOptions) -> NDArray[np.float32]:
    filled = fill_black_borders(frame)
    return log_spectrum(filled, network) if network.input == "spectrum" else channels_first(filled)


def _check_altitude(given: PhotoAltitude) -> None:
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
