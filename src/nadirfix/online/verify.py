"""Beyond retrieval: views the photo may show, verified against the map until it confirms one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nadirfix.online.answer import Answer, Evidence, refused, verified, voted
from nadirfix.online.hypotheses import PhotoHypotheses
from nadirfix.online.prior import agreeing_stages
from nadirfix.options.locate import LocateOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.timing import Stopwatch
from nadirfix.verify.registration import MAP_SAMPLING, Registration
from nadirfix.verify.result import verified_places
from nadirfix.verify.search import VerificationResult, hypothesis_stages, verify_hypotheses
from nadirfix.verify.tilt import TiltPrior

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

__all__ = ["answer_by_verification", "answer_by_votes", "answer_of"]


def answer_by_votes(
    evidence: Evidence, bundle: Bundle, plan: Plan, *, options: LocateOptions, watch: Stopwatch
) -> Answer:
    """The view most crops of the frame vote for."""
    best = PhotoHypotheses(evidence, bundle, plan, options, watch).from_frame(options.votes)[0]
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
        levelling=photo.levelling,
        tilt=_tilt_prior(evidence, options),
    )
    source = PhotoHypotheses(evidence, bundle, plan, options, watch)
    stages = hypothesis_stages(source, options.votes, verification.search)
    agreeing = agreeing_stages(stages, evidence.known, photo.camera, options.priors)
    result = verify_hypotheses(agreeing, registration, verification)
    return replace(answer_of(evidence, result, verification), altitude_by_map=source.swept_altitude)


def _tilt_prior(evidence: Evidence, options: LocateOptions) -> TiltPrior | None:
    """The tilt a gimbal tells, within its deviation; None where there is none to go by."""
    gimbal, priors = evidence.known.gimbal, options.priors
    if gimbal is None or gimbal.tilt_deg > priors.most_tilt_deg:
        return None
    return TiltPrior(priors.gimbal_deg, gimbal.tilt_deg, gimbal.toward_top_deg)


def answer_of(evidence: Evidence, result: VerificationResult, options: VerifyOptions) -> Answer:
    """The confirmed place, or none and the reason; other places the photo matched are reported with it."""
    places = verified_places(result, options, focal_sigma=evidence.photo.focal_sigma)
    confirmed = result.reason is None
    reported = places[int(confirmed) : options.search.reported]
    others = tuple(verified(evidence, place, confirmed=False) for place in reported)
    if result.reason is not None:
        inliers = places[0].inliers if places else 0
        code = result.code or "changed_ground"
        none = refused(code, result.reason, verified=False, inliers=inliers)
        return Answer(none, others, evidence.warnings)
    return Answer(verified(evidence, places[0], confirmed=True), others, evidence.photo.warnings)
