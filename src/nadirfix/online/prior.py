"""What is known of a photo beforehand: what it narrows, and what the map says to it (ADR 47)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.prior import above_ground
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.geo.angle import wrap_deg
from nadirfix.online.altitude import PhotoAltitude
from nadirfix.online.answer import Placement
from nadirfix.options.locate import LocateOptions, PriorOptions
from nadirfix.prior import Prior
from nadirfix.retrieval.crops import ReferenceSearch
from nadirfix.retrieval.search_area import rows_within
from nadirfix.types import Point, View
from nadirfix.verify.search import HypothesisStage

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["agreeing_stages", "contradictions", "given_prior", "rows_in_question", "with_deviations"]

#: Hypotheses may be turned so far from the view they lead to, and a little farther.
_TURN_TOLERANCE_DEG = 20.0
#: Uneven ground passes for a tilt of some degrees, which contradicts no gimbal.
_TILT_TOLERANCE_DEG = 5.0
#: An altitude that is this much off, relatively, is worth a warning however exactly it was given.
_FAR_OFF = 0.1


def given_prior(
    prior: Prior | None, altitude_m: float | None, sigma_m: float | None, options: LocateOptions
) -> Prior:
    """What is given for a photo, with its altitude above ground whichever way it was given."""
    known = prior or Prior()
    if altitude_m is None and sigma_m is None:
        return above_ground(known, options.tags)
    if known.altitude_m is not None:
        raise InputError(
            "altitude.invalid",
            "the altitude is given twice",
            seen=f"{altitude_m} m, and {known.altitude_m} m in the prior",
            do="give it once",
        )
    return replace(known, altitude_m=altitude_m, altitude_sigma_m=sigma_m, altitude_above="ground")


def with_deviations(prior: Prior, options: PriorOptions) -> Prior:
    """The same, every place and heading with a deviation, and no place more exact than a map."""
    near_m = prior.near_sigma_m or options.place_m
    turn_deg = prior.heading_sigma_deg or options.heading_deg
    if prior.heading_deg is None and prior.gimbal is not None and prior.gimbal.by_hand:
        prior = replace(prior, heading_deg=prior.gimbal.heading_deg)
    return replace(
        prior,
        near_sigma_m=None if prior.near is None else max(near_m, options.least_m),
        heading_sigma_deg=None if prior.heading_deg is None else turn_deg,
    )


def rows_in_question(
    known: Prior, camera: Camera, altitude: PhotoAltitude, bundle: Bundle, options: PriorOptions,
    *, among: ReferenceSearch | None = None,
) -> NDArray[np.int64] | None:  # fmt: skip
    """References that may show a part of the photo; None where nothing is known that narrows them.

    The place may be the aircraft's or the frame centre's, so it reaches half a frame and half a reference
    farther. Where the altitude is estimated too low, edges of the frame lose references, its middle none.
    """
    if not known.narrows:
        return None
    highest_m = altitude.altitude_m or float(bundle.bins.centers_m[-1])
    reach_m = (math.hypot(*camera.footprint_m(highest_m)) + max(bundle.canonical.footprint_m)) / 2
    reach_m += _ahead_m(known, highest_m, options)
    references = bundle.references if among is None else among.references
    return rows_within(references, known, epsg=bundle.epsg, reach_m=reach_m, deviations=options.reach)


def agreeing_stages(
    stages: Iterable[HypothesisStage], known: Prior, camera: Camera, options: PriorOptions
) -> Iterator[HypothesisStage]:
    """The stages without hypotheses that what is known rules out; made one by one, as they are needed."""
    for stage in stages:
        kept = [h for h in stage.hypotheses if _agrees(h.view, known, camera, options)]
        yield HypothesisStage(kept, stage.limit)


def _agrees(view: View, known: Prior, camera: Camera, options: PriorOptions) -> bool:
    """Whether a view's frame reaches the place, and its top the heading, within their deviations."""
    if known.near is not None:
        half_m = math.hypot(*camera.footprint_m(view.altitude_m)) / 2
        half_m += _ahead_m(known, view.altitude_m, options)
        if _distance_m(view.center, known.near) > options.reach * (known.near_sigma_m or 0.0) + half_m:
            return False
    if known.heading_deg is None:
        return True
    off_deg = abs(wrap_deg(view.heading_deg - known.heading_deg))
    return off_deg <= options.reach * (known.heading_sigma_deg or 0.0) + _TURN_TOLERANCE_DEG


def _ahead_m(known: Prior, altitude_m: float, options: PriorOptions) -> float:
    """How far a camera that its gimbal tilted looks ahead of the aircraft."""
    if known.gimbal is None or known.gimbal.tilt_deg > options.most_tilt_deg:
        return 0.0
    return altitude_m * math.tan(math.radians(known.gimbal.tilt_deg))


def contradictions(found: Placement, known: Prior, options: PriorOptions) -> tuple[str, ...]:
    """What was given and the map contradicts, each with both sides, or could not confirm."""
    remarks = (
        _place_remark(found, known, options),
        _heading_remark(found, known, options),
        _altitude_remark(found, known),
        _gimbal_remark(found, known, options),
        _search_remark(found, known),
    )
    return tuple(remark for remark in remarks if remark)


def _place_remark(found: Placement, known: Prior, options: PriorOptions) -> str | None:
    """Aircraft or frame centre: whichever lies nearer, as it is not known which was meant."""
    if found.position is None or known.near is None or known.near_sigma_m is None:
        return None
    places = [found.position, *([found.place.aircraft.position] if found.place else [])]
    off_m = min(_distance_m(place, known.near) for place in places)
    if off_m <= options.reach * known.near_sigma_m:
        return None
    return (
        f"the place that was given contradicts the map: the photo was taken {off_m:.0f} m from it, "
        f"± {known.near_sigma_m:.0f} m were given"
    )


def _heading_remark(found: Placement, known: Prior, options: PriorOptions) -> str | None:
    if found.heading_deg is None or known.heading_deg is None or known.heading_sigma_deg is None:
        return None
    if abs(wrap_deg(found.heading_deg - known.heading_deg)) <= options.reach * known.heading_sigma_deg:
        return None
    return (
        f"the heading that was given contradicts the map: {known.heading_deg % 360:.0f}° ± "
        f"{known.heading_sigma_deg:.0f}° were given, the photo's top points to {found.heading_deg:.0f}°"
    )


def _altitude_remark(found: Placement, known: Prior) -> str | None:
    if found.altitude_m is None or known.altitude_m is None:
        return None
    off_m = abs(found.altitude_m - known.altitude_m)
    if off_m <= max(3 * (known.altitude_sigma_m or 0.0), _FAR_OFF * known.altitude_m):
        return None
    return (
        f"{known.altitude_m:.0f} m above ground were given, "
        f"the map shows the photo from {found.altitude_m:.0f} m"
    )


def _gimbal_remark(found: Placement, known: Prior, options: PriorOptions) -> str | None:
    """Where the map shows another tilt than a gimbal states, by its amount alone."""
    if found.place is None or known.gimbal is None:
        return None
    tilt_deg, gimbal = found.place.view.tilt_deg, known.gimbal
    if abs(tilt_deg - gimbal.tilt_deg) <= max(options.reach * options.gimbal_deg, _TILT_TOLERANCE_DEG):
        return None
    whose = "that was given" if gimbal.by_hand else "in the photo's tags"
    return (
        f"the gimbal {whose} contradicts the map: pitch {gimbal.pitch_deg:.0f}° is "
        f"{gimbal.tilt_deg:.0f}° from straight down, the map shows {tilt_deg:.0f}°"
    )


def _search_remark(found: Placement, known: Prior) -> str | None:
    """How far the search rests on what was given, where no place is confirmed."""
    if found.verified is None and found.position is not None and known.narrows:
        return "the answer is not verified, and only references that agree with what was given were searched"
    if found.verified is False and not known.is_empty:
        return "the map confirmed nothing that agrees with what was given, nor anything else"
    return None


def _distance_m(place: Point, given: Point) -> float:
    """Metres between both; infinite where they are too far apart to be said in one zone."""
    try:
        return place.distance_m(given)
    except InputError:
        return math.inf
