"""Beyond retrieval: views the photo may show, verified against the map until it confirms one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from nadirfix.altitude.posterior import likely_altitudes
from nadirfix.altitude.sweep import AltitudePosterior
from nadirfix.online.altitude import PhotoAltitude, estimate_altitude, sweep_altitudes
from nadirfix.online.answer import Answer, Evidence, refused, verified, voted
from nadirfix.options.locate import LocateOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import PhotoCrops, Scale
from nadirfix.retrieval.hypotheses import hypotheses, hypotheses_of_middle
from nadirfix.timing import Stopwatch
from nadirfix.types import Hypothesis
from nadirfix.verify.registration import MAP_SAMPLING, Registration
from nadirfix.verify.result import refused_confidence, verified_places
from nadirfix.verify.search import VerificationResult, hypothesis_stages, verify_hypotheses

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

__all__ = ["answer_by_verification", "answer_by_votes", "answer_of"]

#: An altitude that was given and is this much off, relatively, is worth a warning: take-off, sea or lens.
_FAR_OFF = 0.1


def answer_by_votes(
    evidence: Evidence, bundle: Bundle, plan: Plan, *, options: LocateOptions, watch: Stopwatch
) -> Answer:
    """The view most crops of the frame vote for."""
    best = _PhotoHypotheses(evidence, bundle, plan, options, watch).from_votes(options.votes)[0]
    return Answer(voted(evidence, best), warnings=evidence.warnings)


def answer_by_verification(
    evidence: Evidence, bundle: Bundle, plan: Plan, *, options: LocateOptions, watch: Stopwatch
) -> Answer:
    """The view the map confirms, or why it confirms none."""
    verification, photo = options.verification, evidence.photo
    registration = Registration(
        photo.pixels,
        photo.camera,
        texture=bundle.texture.rendered_with(MAP_SAMPLING),
        detector=bundle.keypoint_detector(verification.features),
        options=verification.match,
        watch=watch,
    )
    # Where the ground has changed the sweep may be wrong: then the spectrum alone has its say.
    wanted = (options, replace(options, sweep=None)) if plan.sweeps else (options,)
    sources = [_PhotoHypotheses(evidence, bundle, plan, one, watch) for one in wanted]
    stages = hypothesis_stages(sources, options.votes, verification.search)
    result = verify_hypotheses(stages, registration, verification)
    return answer_of(evidence, result, verification)


def answer_of(evidence: Evidence, result: VerificationResult, options: VerifyOptions) -> Answer:
    """The confirmed place, or none and the reason; other places the photo matched are reported with it."""
    places, confirmed = verified_places(result, options), result.reason is None
    reported = places[int(confirmed) : options.search.reported]
    others = tuple(verified(evidence, place, confirmed=False) for place in reported)
    if result.reason is not None:
        inliers = places[0].inliers if places else 0
        confidence = refused_confidence(places, options)
        return Answer(
            refused(evidence, result.reason, confidence=confidence, inliers=inliers),
            others,
            evidence.warnings,
        )
    contradiction = _contradiction(places[0].view.altitude_m, evidence.altitude)
    best = verified(evidence, places[0], confirmed=True)
    return Answer(best, others, evidence.photo.warnings + contradiction)


def _contradiction(found_m: float, altitude: PhotoAltitude) -> tuple[str, ...]:
    """A given altitude that the map contradicts; an estimate is simply replaced."""
    given_m = altitude.altitude_m
    if not altitude.is_given or given_m is None:
        return ()
    if abs(found_m - given_m) <= max(3 * (altitude.sigma_m or 0.0), _FAR_OFF * given_m):
        return ()
    return (f"{given_m:.0f} m above ground were given, the map shows the photo from {found_m:.0f} m",)


class _PhotoHypotheses:
    """Views a photo may show: from its middle, which costs nothing more, and from all of its frame."""

    def __init__(
        self, evidence: Evidence, bundle: Bundle, plan: Plan, options: LocateOptions, watch: Stopwatch
    ) -> None:
        self._photo, self._altitude, self._found = evidence.photo, evidence.altitude, evidence.found
        self._bundle, self._plan, self._options, self._watch = bundle, plan, options, watch
        self._known_crops = evidence.crops

    @cached_property
    def _crops(self) -> PhotoCrops:
        photo = self._photo
        crops = self._known_crops or PhotoCrops(photo.pixels, photo.camera, self._bundle.reference_search)
        if self._plan.cropped and self._altitude.gsd_m is not None:
            crops.cache_middle(self._altitude.gsd_m, self._bundle.describe(self._found.embedding))
        return crops

    def from_middle(self, options: VoteOptions) -> list[Hypothesis]:
        """From the crop that was retrieved with, at the altitude it was cut for, among all cells."""
        if not self._plan.cropped or self._altitude.gsd_m is None:
            return []
        with self._watch.stage("votes"):
            return hypotheses_of_middle(self._crops, Scale(self._altitude.gsd_m, 1.0), options)

    def from_votes(self, options: VoteOptions) -> list[Hypothesis]:
        """From the whole frame, at every altitude in question."""
        scales = self._scales(options)
        with self._watch.stage("votes"):
            return hypotheses(self._crops, scales, options)

    @cached_property
    def _sweep(self) -> AltitudePosterior | None:
        """The altitude by the map, where it is wanted."""
        sweep = self._options.sweep
        if self._altitude.sweep is not None or sweep is None or not self._plan.sweeps:
            return self._altitude.sweep
        with self._watch.stage("sweep"):
            return sweep_altitudes(self._crops, self._bundle, sweep, nearest=self._options.votes.retrieve)

    def _scales(self, options: VoteOptions) -> list[Scale]:
        altitude, camera, sweep = self._altitude, self._photo.camera, self._sweep
        unsure = altitude.is_given and (altitude.sigma_m or not altitude.known)
        estimate = estimate_altitude(self._photo, self._bundle).estimate if unsure else altitude.estimate
        beyond = self._options.sweep.beyond_classes if self._options.sweep and sweep else 0.0
        levels = likely_altitudes(estimate, altitude.known, options, sweep=sweep, beyond_classes=beyond)
        return [Scale(camera.gsd_m(self._as_cut(level.altitude_m, options)), level.share) for level in levels]

    def _as_cut(self, altitude_m: float, options: VoteOptions) -> float:
        """The altitude, or the one the middle was cut for where they are as good as the same."""
        before_m = self._altitude.altitude_m
        same = before_m is not None and abs(math.log(altitude_m / before_m)) < options.scale / 2
        return before_m if same and before_m is not None else altitude_m
