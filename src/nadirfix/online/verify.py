"""Beyond retrieval: views the photo may show, verified against the map until it confirms one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nadirfix.altitude.posterior import Level, likely_altitudes
from nadirfix.altitude.sweep import AltitudePosterior
from nadirfix.online.altitude import estimate_altitude, sweep_altitudes
from nadirfix.online.answer import Answer, Evidence, refused, verified, voted
from nadirfix.online.prior import agreeing_stages
from nadirfix.options.locate import LocateOptions
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import PhotoCrops, Scale
from nadirfix.retrieval.hypotheses import hypotheses, hypotheses_of_middle
from nadirfix.timing import Stopwatch
from nadirfix.types import Hypothesis
from nadirfix.verify.registration import MAP_SAMPLING, Registration
from nadirfix.verify.result import verified_places
from nadirfix.verify.search import VerificationResult, hypothesis_stages, verify_hypotheses

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

__all__ = ["answer_by_verification", "answer_by_votes", "answer_of"]


def answer_by_votes(
    evidence: Evidence, bundle: Bundle, plan: Plan, *, options: LocateOptions, watch: Stopwatch
) -> Answer:
    """The view most crops of the frame vote for."""
    crops = _crops_of(evidence, bundle, plan)
    best = _PhotoHypotheses(evidence, bundle, plan, crops, watch).from_votes(options.votes)[0]
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
    sweeps, crops = ((options.sweep, None) if plan.sweeps else (None,)), _crops_of(evidence, bundle, plan)
    sources = [_PhotoHypotheses(evidence, bundle, plan, crops, watch, sweep=one) for one in sweeps]
    stages = hypothesis_stages(sources, options.votes, verification.search)
    agreeing = agreeing_stages(stages, evidence.known, photo.camera, options.priors)
    result = verify_hypotheses(agreeing, registration, verification)
    return answer_of(evidence, result, verification)


def answer_of(evidence: Evidence, result: VerificationResult, options: VerifyOptions) -> Answer:
    """The confirmed place, or none and the reason; other places the photo matched are reported with it."""
    places, confirmed = verified_places(result, options), result.reason is None
    reported = places[int(confirmed) : options.search.reported]
    others = tuple(verified(evidence, place, confirmed=False) for place in reported)
    if result.reason is not None:
        inliers = places[0].inliers if places else 0
        code = result.code or "changed_ground"
        none = refused(code, result.reason, verified=False, inliers=inliers)
        return Answer(none, others, evidence.warnings)
    return Answer(verified(evidence, places[0], confirmed=True), others, evidence.photo.warnings)


def _crops_of(evidence: Evidence, bundle: Bundle, plan: Plan) -> PhotoCrops:
    """The photo's crops, of which the middle that was retrieved with is described already."""
    photo, altitude = evidence.photo, evidence.altitude
    search, within = bundle.reference_search, evidence.found.within
    if within is not None:
        search = replace(search, nearest=partial(bundle.index.nearest, within=within))
    crops = PhotoCrops(photo.pixels, photo.camera, search)
    if plan.cropped and altitude.gsd_m is not None:
        crops.cache_middle(altitude.gsd_m, bundle.describe(evidence.found.embedding))
    return crops


class _PhotoHypotheses:
    """Views a photo may show: from its middle, which costs nothing more, and from all of its frame."""

    def __init__(
        self,
        evidence: Evidence,
        bundle: Bundle,
        plan: Plan,
        crops: PhotoCrops,
        watch: Stopwatch,
        *,
        sweep: SweepOptions | None = None,
    ) -> None:
        self._photo, self._altitude, self._bundle = evidence.photo, evidence.altitude, bundle
        self._plan, self._crops, self._watch, self._sweep = plan, crops, watch, sweep
        self._posterior: AltitudePosterior | None = None

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

    def _scales(self, options: VoteOptions) -> list[Scale]:
        camera = self._photo.camera
        return [
            Scale(camera.gsd_m(self._as_cut(level.altitude_m, options)), level.share)
            for level in self._levels(options)
        ]

    def _levels(self, options: VoteOptions) -> list[Level]:
        """Altitudes in question: by the spectrum, by what is known and, where it is wanted, by the map."""
        altitude, estimate = self._altitude, self._altitude.estimate
        if estimate is None and (altitude.sigma_m or not altitude.known):
            estimate = estimate_altitude(self._photo, self._bundle).estimate
        if self._sweep is None:
            return likely_altitudes(estimate, altitude.known, options)
        return likely_altitudes(
            estimate, altitude.known, options,
            sweep=self._swept(options.retrieve), beyond_classes=self._sweep.beyond_classes,
        )  # fmt: skip

    def _swept(self, nearest: int) -> AltitudePosterior | None:
        """The altitude by the map; made once."""
        if self._sweep is None or self._posterior is not None:
            return self._posterior
        with self._watch.stage("sweep"):
            self._posterior = sweep_altitudes(self._crops, self._bundle, self._sweep, nearest=nearest)
        return self._posterior

    def _as_cut(self, altitude_m: float, options: VoteOptions) -> float:
        """The altitude, or the one the middle was cut for where they are as good as the same."""
        before_m = self._altitude.altitude_m
        same = before_m is not None and abs(math.log(altitude_m / before_m)) < options.scale / 2
        return before_m if same and before_m is not None else altitude_m
