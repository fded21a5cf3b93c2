"""Verifying hypotheses against the map, likeliest first, until one is confirmed or none is left (ADR 27)."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from nadirfix.geo.angle import wrap_deg
from nadirfix.options.verify import SearchOptions, VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.types import Hypothesis, ReasonCode, View
from nadirfix.verify.calibration import confidence_of, inlier_score
from nadirfix.verify.registration import PROMISING_INLIERS, MatchResult, Registration

__all__ = [
    "HypothesisSource",
    "HypothesisStage",
    "VerificationResult",
    "hypothesis_stages",
    "match_view",
    "verify_hypotheses",
]

#: A photo with fewer keypoints has too little texture to go by.
_MIN_KEYPOINTS = 40
#: The search ends with a match of this confidence.
_SURE_CONFIDENCE = 0.999
#: A competing place with this share of the inlier score is as good.
_COMPETING_SHARE = 0.6
#: Hypotheses nearer than this, and turned and scaled alike, are one.
_DUPLICATE_M, _DUPLICATE_DEG, _DUPLICATE_SCALE = 15.0, 10.0, 1.06


@dataclass(frozen=True, slots=True, eq=False)
class VerificationResult:
    """What the map says of all hypotheses: the one it confirms, or why there is none."""

    results: tuple[MatchResult, ...]  # of every view that was matched, the highest inlier score first
    reason: str | None  # None: the first one is confirmed
    code: ReasonCode | None = None  # the same for programs

    @property
    def confirmed(self) -> MatchResult | None:
        """The match that is believed, if there is one."""
        return self.results[0] if self.reason is None else None

    @property
    def distinct(self) -> tuple[MatchResult, ...]:
        """The best match at each place where there are inliers, the highest inlier score first."""
        best: list[MatchResult] = []
        for result in self.results:
            if result.fitted is not None and not any(_same_place(result.view, other.view) for other in best):
                best.append(result)
        return tuple(best)


@dataclass(frozen=True, slots=True, eq=False)
class HypothesisStage:
    """Hypotheses of one source, the likeliest first, and how many of them are verified."""

    hypotheses: Sequence[Hypothesis]
    limit: int = sys.maxsize


class HypothesisSource(Protocol):
    """Where hypotheses come from."""

    def from_middle(self, options: VoteOptions) -> list[Hypothesis]:
        """What looks like the middle of the photo, for nothing: it has been retrieved already."""

    def from_sweep(self, options: VoteOptions) -> list[Hypothesis]:
        """What looks like its middle at some altitude; nothing where none was swept for."""

    def from_spectrum(self, options: VoteOptions) -> list[Hypothesis]:
        """What its middle looks like at the altitudes the spectrum and what is known speak for."""

    def from_frame(self, options: VoteOptions) -> list[Hypothesis]:
        """What crops of the whole frame vote for, at the altitudes all of that and the map speak for."""

    def from_frame_by_spectrum(self, options: VoteOptions) -> list[Hypothesis]:
        """The same at the altitudes of the spectrum alone; nothing where the map was not swept."""


def hypothesis_stages(
    source: HypothesisSource, votes: VoteOptions, options: SearchOptions
) -> Iterator[HypothesisStage]:
    """What looks like the photo's middle; if the map confirms none of that, its middle at every altitude.

    And if it confirms none of those either, the whole frame at every altitude: those the map speaks for, then
    those of the spectrum alone. Each stage costs more than the one before and is made only when it comes to
    that.
    """
    if options.middle:
        yield HypothesisStage(source.from_middle(votes), options.middle)
    if options.swept:
        yield HypothesisStage(source.from_sweep(votes), options.swept)
    frame = replace(votes, consensus=math.inf)
    if options.altitude_sweep:
        yield HypothesisStage(source.from_spectrum(replace(frame, crops=1)), options.altitude_sweep)
    if options.whole_frame:
        yield HypothesisStage(source.from_frame(frame), options.whole_frame)
        if options.swept and (by_spectrum := source.from_frame_by_spectrum(frame)):
            yield HypothesisStage(by_spectrum, options.whole_frame)


def verify_hypotheses(
    stages: Iterable[HypothesisStage], registration: Registration, options: VerifyOptions
) -> VerificationResult:
    """Match hypotheses in their order and stop at the first the map confirms and no other competes with.

    Stages are taken one by one, so that those it never comes to are never made.
    """
    keypoints = registration.keypoint_count()
    if keypoints < _MIN_KEYPOINTS:
        few = f"too little texture in the photo: {keypoints} keypoints, at least {_MIN_KEYPOINTS} are needed"
        return VerificationResult((), few, "too_little_texture")
    results = _matched(stages, registration, options)
    best_first = sorted(results, key=lambda r: (-inlier_score(r, options.calibration), -r.inliers))
    reason, code = _objection(best_first, options)
    return VerificationResult(tuple(best_first), reason, code)


def _matched(
    stages: Iterable[HypothesisStage], registration: Registration, options: VerifyOptions
) -> list[MatchResult]:
    """Matches until one is sure and enough competing places were matched in vain."""
    results: list[MatchResult] = []
    tried: list[View] = []
    for stage in stages:
        untried = _untried(stage, tried)
        while batch := list(islice(untried, options.search.batch_size)):
            found, sure = _match_batch(batch, tried, registration, options)
            results += found
            if sure is not None:
                competing = _competing(*sure, stage, tried, options)
                return results + [match_view(view, registration, options) for view in competing]
    return results


def _match_batch(
    batch: Sequence[Hypothesis], tried: list[View], registration: Registration, options: VerifyOptions
) -> tuple[list[MatchResult], tuple[MatchResult, float] | None]:
    """Match each of a few, then refine them, until one is sure: that one and its score come second.

    A wrong place costs refinement when some keypoints agree by chance; often the next is right beyond doubt.
    """
    results: list[MatchResult] = []
    for hypothesis, result in zip(batch, registration.match_all([h.view for h in batch]), strict=False):
        tried.append(hypothesis.view)
        results.append(result)
        if _beyond_doubt(result, options):
            return results, (result, hypothesis.score)
    for i in sorted(range(len(results)), key=lambda i: -inlier_score(results[i], options.calibration)):
        results[i] = _refined(results[i], registration, options)
        if confidence_of(results[i], options.calibration) >= _SURE_CONFIDENCE:
            return results, (results[i], batch[i].score)
    return results, None


def match_view(view: View, registration: Registration, options: VerifyOptions) -> MatchResult:
    """Match one view, and match it again at other resolutions where that is worth it."""
    return _refined(registration.match(view), registration, options)


def _refined(result: MatchResult, registration: Registration, options: VerifyOptions) -> MatchResult:
    """A finer match where there are inliers but not beyond doubt, and a coarser one where doubt is left."""
    for rematch in (registration.match_finer, registration.match_coarser):
        promising = result.inliers >= PROMISING_INLIERS and not _beyond_doubt(result, options)
        if not (options.search.refine and promising):
            break
        result = max(result, rematch(result), key=lambda r: inlier_score(r, options.calibration))
    return result


def _beyond_doubt(result: MatchResult, options: VerifyOptions) -> bool:
    return inlier_score(result, options.calibration) >= options.search.beyond_doubt


def _untried(stage: HypothesisStage, tried: Sequence[View]) -> Iterator[Hypothesis]:
    """Hypotheses of a stage that are no near-duplicates of one that has been or will be matched."""
    taken: list[View] = []
    for hypothesis in stage.hypotheses[: stage.limit]:
        if not any(_duplicates(hypothesis.view, before) for before in (*tried, *taken)):
            taken.append(hypothesis.view)
            yield hypothesis


def _competing(
    sure: MatchResult, score: float, stage: HypothesisStage, tried: Sequence[View], options: VerifyOptions
) -> list[View]:
    """Other places that must be matched before a sure one is believed: the next likeliest.

    None where another was matched in vain already. Where the match is beyond doubt, only a place that was
    retrieved with about as high a score: a perceptual alias would be.
    """
    wanted = options.search.competing - sum(not _same_place(view, sure.view) for view in tried)
    least = options.search.alias_share * score if _beyond_doubt(sure, options) else -math.inf
    others = [h.view for h in stage.hypotheses if h.view not in tried and h.score >= least]
    return [view for view in others if not _same_place(view, sure.view)][: max(wanted, 0)]


def _duplicates(a: View, b: View) -> bool:
    """Whether what is found from one view would be found from the other as well."""
    turned_deg = abs(wrap_deg(a.heading_deg - b.heading_deg))
    ratio = max(a.altitude_m, b.altitude_m) / min(a.altitude_m, b.altitude_m)
    near = a.center.distance_m(b.center) <= _DUPLICATE_M
    return near and turned_deg <= _DUPLICATE_DEG and ratio <= _DUPLICATE_SCALE


def _same_place(a: View, b: View) -> bool:
    """Whether two frames show much of the same ground; how they are turned does not matter."""
    return a.center.distance_m(b.center) <= 0.5 * min(a.altitude_m, b.altitude_m)


def _objection(
    best_first: Sequence[MatchResult], options: VerifyOptions
) -> tuple[str | None, ReasonCode | None]:
    """Why the best match is not believed, as a sentence and as a code; None where it is."""
    if not best_first:
        return (
            "there is no hypothesis: nothing on the map was found to compare the photo with",
            "changed_ground",
        )
    best, calibration = best_first[0], options.calibration
    if confidence_of(best, calibration) < options.search.min_confidence:
        reason = (
            f"the map confirms none of {len(best_first)} places: "
            f"at best {best.inliers} of {best.matches} matched points agree"
        )
        return reason, "changed_ground"
    other = next((r for r in best_first[1:] if not _same_place(r.view, best.view)), None)
    if other is None or confidence_of(other, calibration) < options.search.min_confidence:
        return None, None
    if inlier_score(other, calibration) < _COMPETING_SHARE * inlier_score(best, calibration):
        return None, None
    apart_m = best.view.center.distance_m(other.view.center)
    reason = f"two places {apart_m:.0f} m apart look alike: {best.inliers} and {other.inliers} points agree"
    return reason, "equal_places"
