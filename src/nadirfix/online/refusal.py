"""Why the map confirms nothing, as far as that can be told: first what a pilot can change."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from nadirfix.camera import Camera
from nadirfix.image.crop import photo_gsd_m
from nadirfix.online.answer import Answer, Evidence
from nadirfix.options.locate import PriorOptions
from nadirfix.prior import Prior
from nadirfix.types import ReasonCode

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["LocatableRange", "with_likely_reason"]

#: So many pixels of the map must lie across a frame: with fewer there is hardly a keypoint to match.
_FEWEST_MAP_PX = 128


@dataclass(frozen=True, slots=True)
class LocatableRange:
    """From how low the map resolves enough of a frame, and up to which altitude the bundle was made for."""

    lowest_m: float
    highest_m: float

    @classmethod
    def of(cls, camera: Camera, bundle: Bundle) -> LocatableRange:
        """The range of one camera on this map."""
        wide_px = _FEWEST_MAP_PX * bundle.texture.gsd_m
        gsd_m = photo_gsd_m(bundle.recipe.bins.max_m, nominal=bundle.camera, photo=camera)
        return cls(wide_px * camera.fx_px / camera.width_px, camera.altitude_m(gsd_m))


def with_likely_reason(
    answer: Answer, evidence: Evidence, given: Prior, bundle: Bundle, priors: PriorOptions, *, off_map: bool
) -> Answer:
    """The answer with what most likely stood in its way, where the map confirms none of the places.

    ``off_map``: the map has no ground where the photo was said to be taken.
    """
    best = answer.best
    if best.reason_code != "changed_ground":
        return answer
    found = _off_map(given) if off_map else _likely(evidence, given, bundle, priors)
    if found is None:
        return answer
    code, why = found
    return replace(answer, best=replace(best, reason_code=code, reason=f"{best.reason}; {why}"))


def _off_map(given: Prior) -> tuple[ReasonCode, str] | None:
    if given.near is None:
        return None
    lon_deg, lat_deg = given.near.lonlat
    reach_m = given.near_sigma_m or 0.0
    return (
        "off_map",
        f"the place that was given, {lon_deg:.5f}, {lat_deg:.5f} ± {reach_m:.0f} m, is off the map",
    )


def _likely(
    evidence: Evidence, given: Prior, bundle: Bundle, priors: PriorOptions
) -> tuple[ReasonCode, str] | None:
    return _camera(evidence) or _tilt(given, priors) or _range(evidence, given, bundle)


def _tilt(given: Prior, priors: PriorOptions) -> tuple[ReasonCode, str] | None:
    gimbal = given.gimbal
    if gimbal is None or gimbal.tilt_deg <= priors.most_tilt_deg:
        return None
    return "too_tilted", (
        f"pitch {gimbal.pitch_deg:.0f}° is {gimbal.tilt_deg:.0f}° from straight down, "
        f"photos are rectified up to {priors.most_tilt_deg:.0f}°"
    )


def _camera(evidence: Evidence) -> tuple[ReasonCode, str] | None:
    if not evidence.photo.camera_assumed:
        return None
    spec = evidence.photo.camera.spec
    return (
        "camera_unknown",
        f"the camera is not known, {spec} was assumed, and with it the scale may be wrong",
    )


def _range(evidence: Evidence, given: Prior, bundle: Bundle) -> tuple[ReasonCode, str] | None:
    """An altitude that was given or is in the tags, else one that the picture puts at an end of the range."""
    limits = LocatableRange.of(evidence.photo.camera, bundle)
    known_m = _known_altitude_m(evidence, given)
    if known_m is not None and known_m < limits.lowest_m:
        return "below_range", (
            f"from {known_m:.0f} m the frame shows too little: this map resolves nothing below about "
            f"{math.ceil(limits.lowest_m)} m with this camera"
        )
    if known_m is not None and known_m > limits.highest_m:
        return "above_range", (
            f"{known_m:.0f} m is above the {limits.highest_m:.0f} m the bundle was made for with this camera"
        )
    return None if known_m is not None else _edge(evidence)


def _known_altitude_m(evidence: Evidence, given: Prior) -> float | None:
    if given.altitude_m is not None:
        return given.altitude_m
    return evidence.photo.tagged[0].altitude_m if evidence.photo.tagged else None


def _edge(evidence: Evidence) -> tuple[ReasonCode, str] | None:
    """The spectrum names the first or the last altitude it tells: the photo may come from beyond it."""
    estimate = evidence.altitude.estimate
    if estimate is None or not estimate.at_edge:
        return None
    low = estimate.altitude_m <= float(estimate.centers_m[0])
    code: ReasonCode = "below_range" if low else "above_range"
    side = f"{estimate.altitude_m:.0f} m, the {'lowest' if low else 'highest'} altitude the bundle tells"
    return code, f"by the picture it was taken from {side}, or beyond"
