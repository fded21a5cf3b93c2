"""Beyond retrieval: views the photo may show, held against the map until it confirms one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.posterior import likely_altitudes
from nadirfix.online.photo import Height, Shot, estimate_height
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import RenderOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import Frame, Scale
from nadirfix.retrieval.hypotheses import hypotheses, hypotheses_of_middle
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix, Hypothesis
from nadirfix.verify.registration import Comparison
from nadirfix.verify.result import verified_fix
from nadirfix.verify.search import decide, from_middle_to_whole

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["confirmed"]

#: An altitude that was given and is this much off, relatively, is worth a remark: take-off, sea or lens.
_FAR_OFF = 0.1


def confirmed(
    fix: Fix,
    shot: Shot,
    height: Height,
    bundle: Bundle,
    *,
    embedding: NDArray[np.float32],
    options: LocateOptions,
    watch: Stopwatch,
) -> Fix:
    """What the whole frame votes for, held against the map where the bundle carries something to do so.

    The embedding is that of the photo's middle: what looks like it is known already, and is asked first.
    """
    asked, known = options.verification, height.altitude_m is not None
    detector = bundle.matcher(asked.features) if options.verify and known else None
    # Networks that never saw the map tell its cells apart badly; all crops of the frame together do not.
    frame = options.whole_frame and known and bundle.described
    votes = options.votes or (asked.votes if detector or frame else None)
    if votes is None:
        return fix

    guess = _Guesses(shot, height, bundle, embedding, watch)
    if detector is None:
        return _moved(fix, guess.voted(votes)[0], shot, height)
    ground = bundle.texture.rendered_with(RenderOptions(supersample=asked.supersample))
    camera = shot.camera
    compare = Comparison(shot.pixels, camera, texture=ground, detector=detector, options=asked, watch=watch)
    verdict = decide(from_middle_to_whole(guess, votes, asked), compare, asked)
    told = verified_fix(fix, verdict, camera, options=asked)
    return replace(told, warnings=shot.warnings + _contradiction(told, height)) if told.verified else told


def _contradiction(told: Fix, height: Height) -> tuple[str, ...]:
    """What was said of the altitude, where the map says something else; an estimate is simply replaced."""
    given_m, found_m = height.altitude_m, told.altitude_m
    if height.estimate is not None or given_m is None or found_m is None:
        return ()
    if abs(found_m - given_m) <= max(3 * (height.sigma_m or 0.0), _FAR_OFF * given_m):
        return ()
    return (f"{given_m:.0f} m above ground were given, the map shows the photo from {found_m:.0f} m",)


class _Guesses:
    """Views a photo may show: from its middle, which costs nothing more, and from all of its frame."""

    def __init__(
        self, shot: Shot, height: Height, bundle: Bundle, embedding: NDArray[np.float32], watch: Stopwatch
    ) -> None:
        self._shot, self._height, self._bundle, self._watch = shot, height, bundle, watch
        self._embedding = embedding

    @cached_property
    def _frame(self) -> Frame:
        frame = Frame(self._shot.pixels, self._shot.camera, self._bundle.lookup)
        if self._height.gsd_m is not None:
            frame.remember_middle(self._height.gsd_m, self._bundle.describe(self._embedding))
        return frame

    def of_middle(self, how: VoteOptions) -> list[Hypothesis]:
        """From the crop the published answer looks at, at the altitude it was cut for, among all cells."""
        if self._height.gsd_m is None:
            return []
        with self._watch.stage("votes"):
            return hypotheses_of_middle(self._frame, Scale(self._height.gsd_m, 1.0), how)

    def voted(self, how: VoteOptions) -> list[Hypothesis]:
        """From the whole frame, at every altitude that comes into question."""
        with self._watch.stage("votes"):
            return hypotheses(self._frame, self._scales(how), how)

    def _scales(self, how: VoteOptions) -> list[Scale]:
        height, shot = self._height, self._shot
        asked = height.estimate is None and (height.sigma_m or not height.known)
        estimate = estimate_height(shot, self._bundle).estimate if asked else height.estimate
        levels = likely_altitudes(estimate, height.known, how)
        return [
            Scale(shot.camera.gsd_m(self._as_cut(level.altitude_m, how)), level.share) for level in levels
        ]

    def _as_cut(self, altitude_m: float, how: VoteOptions) -> float:
        """The altitude, or the one the middle was cut for where they are as good as the same."""
        before_m = self._height.altitude_m
        same = before_m is not None and abs(math.log(altitude_m / before_m)) < how.scale / 2
        return before_m if same and before_m is not None else altitude_m


def _moved(fix: Fix, best: Hypothesis, shot: Shot, height: Height) -> Fix:
    """The fix, moved to where the frame's votes have it; an altitude that was given is believed."""
    view, camera = best.view, shot.camera
    there = replace(fix, status="fix", reason=None, position=view.center, heading_deg=view.heading_deg)
    if height.estimate is None:
        return there
    gsd_m, footprint_m = camera.gsd_m(view.altitude_m), camera.footprint_m(view.altitude_m)
    return replace(there, altitude_m=view.altitude_m, gsd_m=gsd_m, footprint_m=footprint_m)
