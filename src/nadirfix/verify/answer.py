"""From the map's verdict to the answer: refined, with a radius, or refused with a reason."""

from __future__ import annotations

from dataclasses import replace

from nadirfix.camera import Camera
from nadirfix.options_verify import VerifyOptions
from nadirfix.types import Fix
from nadirfix.verify.compare import Sighting
from nadirfix.verify.decide import Verdict
from nadirfix.verify.pose import aircraft_of
from nadirfix.verify.trust import aircraft_covariance_m2, centre_covariance_m2, confidence_of, radius95_m

__all__ = ["verified_fix"]


def verified_fix(
    fix: Fix, verdict: Verdict, camera: Camera, *, map_gsd_m: float, options: VerifyOptions
) -> Fix:
    """The fix as the map has it: what was believed before is replaced, or taken back."""
    seen = [s for s in verdict.sightings if s.fitted is not None]
    told = [_fix_of(fix, s, camera, map_gsd_m, options) for s in seen[: options.told]]
    if verdict.reason is None:
        return replace(told[0], hypotheses=tuple(told[1:]))
    refused = replace(
        fix,
        status="no_fix",
        position=None,
        heading_deg=None,
        weights=None,
        verified=False,
        confidence=told[0].confidence if told else 0.0,
        reason=verdict.reason,
        inliers=seen[0].inliers if seen else 0,
    )
    return replace(refused, hypotheses=tuple(told))


def _fix_of(fix: Fix, sighting: Sighting, camera: Camera, map_gsd_m: float, options: VerifyOptions) -> Fix:
    """A sighting as an answer."""
    view, trust = sighting.view, options.trust
    covariance_m2 = centre_covariance_m2(sighting, trust, map_gsd_m=map_gsd_m)
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
        verified=True,
        inliers=sighting.inliers,
        tilt_deg=view.tilt_deg,
        tilt_toward_deg=view.tilt_toward_deg,
        aircraft=aircraft_of(view),
        aircraft_radius95_m=radius95_m(below_m2),
    )
