"""From the map's verdict to the answer: refined, with a radius, or refused with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nadirfix.camera import Camera
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Fix
from nadirfix.verify.calibration import (
    aircraft_covariance_m2,
    centre_covariance_m2,
    confidence_of,
    radius95_m,
)
from nadirfix.verify.pose import aircraft_of
from nadirfix.verify.registration import Sighting
from nadirfix.verify.search import Verdict

__all__ = ["verified_fix"]


def verified_fix(fix: Fix, verdict: Verdict, camera: Camera, *, options: VerifyOptions) -> Fix:
    """The fix as the map has it: what was believed before is replaced, or taken back."""
    seen = verdict.places
    told = [_fix_of(fix, s, camera, options) for s in seen]
    if verdict.reason is None:
        return replace(told[0], verified=True, hypotheses=tuple(told[1 : options.told]))
    refused = replace(
        fix,
        status="no_fix",
        position=None,
        heading_deg=None,
        weights=None,
        verified=False,
        confidence=_refused_confidence(seen, options),
        reason=verdict.reason,
        inliers=seen[0].inliers if seen else 0,
    )
    return replace(refused, hypotheses=tuple(told[: options.told]))


def _refused_confidence(seen: Sequence[Sighting], options: VerifyOptions) -> float:
    """How likely the best place is right; refused although it is likely, another is just as likely."""
    best = confidence_of(seen[0], options.trust) if seen else 0.0
    return best if best < options.min_confidence else best / 2


def _fix_of(fix: Fix, sighting: Sighting, camera: Camera, options: VerifyOptions) -> Fix:
    """A sighting as an answer; which one is confirmed is not its own to say."""
    view, trust = sighting.view, options.trust
    covariance_m2 = centre_covariance_m2(sighting, options)
    below_m2 = aircraft_covariance_m2(sighting, covariance_m2, trust)
    return replace(
        fix,
        status="fix",
        position=view.center,
        altitude_m=view.altitude_m,
        gsd_m=camera.gsd_m(view.altitude_m),
        heading_deg=view.heading_deg,
        footprint_m=camera.footprint_m(view.altitude_m),
        confidence=confidence_of(sighting, trust),
        radius95_m=radius95_m(covariance_m2),
        covariance_m2=covariance_m2,
        reason=None,
        verified=False,
        inliers=sighting.inliers,
        tilt_deg=view.tilt_deg,
        tilt_toward_deg=view.tilt_toward_deg,
        aircraft=aircraft_of(view),
        aircraft_radius95_m=radius95_m(below_m2),
    )
