"""Beyond retrieval: views the photo may show, held against the map until it confirms one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nadirfix.altitude.levels import KnownAltitude, likely_altitudes
from nadirfix.options import LocateOptions, RenderOptions
from nadirfix.options_frame import VoteOptions
from nadirfix.retrieval.hypotheses import Scale, hypotheses
from nadirfix.shot import Height, Shot, estimate_height
from nadirfix.stopwatch import Stopwatch
from nadirfix.types import Fix, Hypothesis
from nadirfix.verify.answer import verified_fix
from nadirfix.verify.compare import Comparison
from nadirfix.verify.decide import decide, from_likely_to_all

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["confirmed"]

#: An altitude that was given and is this much off, relatively, is worth a remark: take-off, sea or lens.
_FAR_OFF = 0.1


def confirmed(
    fix: Fix, shot: Shot, height: Height, bundle: Bundle, *, options: LocateOptions, watch: Stopwatch
) -> Fix:
    """What the whole frame votes for, held against the map where the bundle carries something to do so."""
    asked, known = options.verification, height.altitude_m is not None
    detector = bundle.matcher(asked.features) if options.verify and known else None
    # Networks that never saw the map tell its cells apart badly; all crops of the frame together do not.
    frame = options.whole_frame and known and bundle.described
    votes = options.votes or (asked.votes if detector or frame else None)
    if votes is None:
        return fix

    def voted(how: VoteOptions) -> list[Hypothesis]:
        with watch.stage("votes"):
            return _voted(shot, height, bundle, how)

    if detector is None:
        return _moved(fix, voted(votes)[0], shot, height)
    ground = bundle.texture.rendered_with(RenderOptions(supersample=asked.supersample))
    camera = shot.camera
    compare = Comparison(shot.pixels, camera, texture=ground, detector=detector, options=asked, watch=watch)
    # An altitude that was given is not doubted: asking others would only repeat what was looked at.
    allowed = asked if height.estimate is not None else replace(asked, scales=0)
    verdict = decide(from_likely_to_all(voted, votes, allowed), compare, asked)
    told = verified_fix(fix, verdict, camera, map_gsd_m=ground.gsd_m, options=asked)
    return replace(told, warnings=shot.warnings + _contradiction(told, height)) if told.verified else told


def _contradiction(told: Fix, height: Height) -> tuple[str, ...]:
    """What was said of the altitude, where the map says something else; an estimate is simply replaced."""
    given_m, found_m = height.altitude_m, told.altitude_m
    if height.estimate is not None or given_m is None or found_m is None:
        return ()
    if abs(found_m - given_m) <= max(3 * (height.sigma_m or 0.0), _FAR_OFF * given_m):
        return ()
    return (f"{given_m:.0f} m above ground were given, the map shows the photo from {found_m:.0f} m",)


def _voted(shot: Shot, height: Height, bundle: Bundle, options: VoteOptions) -> list[Hypothesis]:
    """Views the photo may show, from the whole frame, at every altitude that comes into question."""
    known = []
    if height.estimate is None and height.altitude_m is not None:
        known = [KnownAltitude(height.altitude_m, height.sigma_m or 0.0)]
    asked = height.estimate is None and (height.sigma_m or not known)
    estimate = estimate_height(shot, bundle).estimate if asked else height.estimate
    levels = likely_altitudes(estimate, known, options)
    shares = [1 / len(levels) if options.even else level.share for level in levels]
    scales = [Scale(shot.camera.gsd_m(level.altitude_m), s) for level, s in zip(levels, shares, strict=True)]
    return hypotheses(shot.pixels, shot.camera, scales, lookup=bundle.lookup, options=options)


def _moved(fix: Fix, best: Hypothesis, shot: Shot, height: Height) -> Fix:
    """The fix, moved to where the frame's votes have it; an altitude that was given is believed."""
    view, camera = best.view, shot.camera
    there = replace(fix, status="fix", reason=None, position=view.center, heading_deg=view.heading_deg)
    if height.estimate is None:
        return there
    gsd_m, footprint_m = camera.gsd_m(view.altitude_m), camera.footprint_m(view.altitude_m)
    return replace(there, altitude_m=view.altitude_m, gsd_m=gsd_m, footprint_m=footprint_m)
