"""Beyond retrieval: views the photo may show, held against the map until it confirms one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nadirfix.altitude.levels import KnownAltitude, likely_altitudes
from nadirfix.options_frame import VoteOptions
from nadirfix.options_verify import VerifyOptions
from nadirfix.retrieval.hypotheses import Scale, hypotheses
from nadirfix.shot import Height, Shot, estimate_height
from nadirfix.types import Fix, Hypothesis, View
from nadirfix.verify.answer import verified_fix
from nadirfix.verify.compare import Comparison
from nadirfix.verify.decide import Verdict, decide

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.verify.features import Detector

__all__ = ["confirmed", "from_candidates", "moved", "voted"]

Tries = Callable[[], list[Hypothesis]]


def voted(shot: Shot, height: Height, bundle: Bundle, options: VoteOptions) -> list[Hypothesis]:
    """Views the photo may show, from the whole frame, at every altitude that comes into question."""
    known = []
    if height.estimate is None and height.altitude_m is not None:
        known = [KnownAltitude(height.altitude_m, height.sigma_m or 0.0)]
    asked = height.estimate is None and (height.sigma_m or not known)
    estimate = estimate_height(shot, bundle).estimate if asked else height.estimate
    levels = likely_altitudes(estimate, known, options)
    scales = [Scale(shot.camera.gsd_m(level.altitude_m), level.share) for level in levels]
    return hypotheses(shot.pixels, shot.camera, scales, lookup=bundle.lookup, options=options)


def confirmed(
    fix: Fix,
    shot: Shot,
    tries: Iterable[Tries],
    detector: Detector,
    bundle: Bundle,
    *,
    options: VerifyOptions,
) -> tuple[Fix, dict[str, float]]:
    """The fix as the map has it, and every part's milliseconds; later tries only while it is in doubt."""
    compare = Comparison(shot.pixels, shot.camera, texture=bundle.texture, detector=detector, options=options)
    verdict = Verdict((), "there is no hypothesis to look at")
    for hypotheses_to_try in tries:
        verdict = decide(hypotheses_to_try(), compare, options)
        if verdict.confirmed:
            break
    told = verified_fix(fix, verdict, shot.camera, map_gsd_m=bundle.texture.gsd_m, options=options)
    return told, compare.spent_ms


def from_candidates(fix: Fix) -> list[Hypothesis]:
    """Each candidate's place and heading, at the altitude that was found; the nearest-looking first."""
    found, altitude_m = fix.candidates, fix.altitude_m
    if found is None or altitude_m is None:
        return []
    return [
        Hypothesis(View(found.point(i), altitude_m, float(found.heading_deg[i])), -distance)
        for i, distance in enumerate(found.distance.tolist())
    ]


def moved(fix: Fix, best: Hypothesis, shot: Shot) -> Fix:
    """The fix, moved to where the frame's votes have it."""
    view = best.view
    return replace(
        fix,
        status="fix",
        reason=None,
        position=view.center,
        altitude_m=view.altitude_m,
        gsd_m=shot.camera.gsd_m(view.altitude_m),
        heading_deg=view.heading_deg,
        footprint_m=shot.camera.footprint_m(view.altitude_m),
    )
