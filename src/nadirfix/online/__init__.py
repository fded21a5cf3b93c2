"""Locating a photo: from its bytes to a position with its reasons. One screen of calls, no maths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nadirfix.bundle.plan import Plan
from nadirfix.camera import Camera
from nadirfix.image.crop import Crop, canonical_crop, network_frame
from nadirfix.image.decode import Decoder, decode
from nadirfix.image.photo_source import Photo
from nadirfix.online.altitude import PhotoAltitude, find_altitude
from nadirfix.online.answer import Answer, Evidence, assemble_fix, retrieved
from nadirfix.online.photo import DecodedPhoto, read_photo
from nadirfix.online.prior import contradictions, given_prior, rows_in_question, with_deviations
from nadirfix.online.refusal import with_likely_reason
from nadirfix.online.retrieve import retrieve
from nadirfix.online.verify import answer_by_verification, answer_by_votes
from nadirfix.options.locate import LocateOptions
from nadirfix.parallel import one_blas_thread
from nadirfix.prior import Prior
from nadirfix.retrieval.wce import fuse
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["gather_evidence", "locate", "open_networks"]

_USUAL = LocateOptions()


@one_blas_thread()
def locate(
    photo: Photo,
    *,
    bundle: Bundle,
    camera: Camera | None = None,
    altitude_m: float | None = None,
    altitude_sigma_m: float | None = None,
    prior: Prior | None = None,
    options: LocateOptions = _USUAL,
    decoder: Decoder = decode,
) -> Fix:
    """Where a photo was taken, and from how high: a position with its reasons, or "no fix" with its reason.

    The photo is a path, the bytes of a file, a Pillow image or an array of eight bits, rows × columns × 3 or
    grey, which has no tags. The camera is the one given, else the photo's own tags, else the bundle's nominal
    one. An altitude above ground that is given is believed, within its deviation; otherwise it is read from
    the picture, and weighed with what the photo's tags say. What else is known of the photo, its ``prior``,
    narrows the search. Where the bundle carries a matcher the answer is verified against the map, and where
    the map confirms nothing that agrees with what was given the search goes on without it; where nothing was
    trained the whole frame votes; ``options`` switch both off. A ``decoder`` of one's own may have limits.
    """
    given = given_prior(prior, altitude_m, altitude_sigma_m, options)
    plan = Plan.of(bundle, options, altitude_given=given.altitude_m is not None)
    open_networks(bundle, plan)
    watch = Stopwatch()
    with watch.stage("decode"):
        decoded = read_photo(photo, camera, bundle, options, altitude_m=given.altitude_m, decoder=decoder)
    known = with_deviations(given.over(decoded.by_tags), options.priors)
    evidence, answer = _search(decoded, known, bundle, plan, options, watch=watch)
    off_map = evidence.found.within is not None and evidence.fused is None
    for less in known.loosened():
        looser = Plan.of(bundle, options, altitude_given=less.altitude_m is not None)
        if answer.best.position is not None or not (plan.verifies and looser.verifies):
            break
        evidence, answer = _search(decoded, less, bundle, looser, options, watch=watch)
    answer = with_likely_reason(answer, evidence, known, bundle, options.priors, off_map=off_map)
    answer = replace(answer, warnings=answer.warnings + contradictions(answer.best, known, options.priors))
    return assemble_fix(photo, evidence, answer, watch.timings_ms())


def _search(
    photo: DecodedPhoto, known: Prior, bundle: Bundle, plan: Plan, options: LocateOptions, *, watch: Stopwatch
) -> tuple[Evidence, Answer]:
    """What the answer rests on and the answer, among all that agrees with what is known."""
    photo = photo.rectified(known.gimbal, options.priors, watch)
    evidence = gather_evidence(photo, known, bundle, plan, options, watch=watch)
    return evidence, _answer(evidence, bundle, plan, options, watch)


def gather_evidence(
    photo: DecodedPhoto, known: Prior, bundle: Bundle, plan: Plan, options: LocateOptions, *, watch: Stopwatch
) -> Evidence:
    """What is known of a photo before anything is verified: its altitude, and what its middle looks like."""
    with watch.stage("altitude"):
        given = PhotoAltitude(known.altitude_m, sigma_m=known.altitude_sigma_m)
        altitude = find_altitude(photo, given, bundle, options, plan)
    with watch.stage("crop"):
        crop = _canonical(photo, altitude, bundle, plan)
    within = rows_in_question(known, photo.camera, altitude, bundle, options.priors)
    found = retrieve(crop.pixels, plan, bundle=bundle, options=options, watch=watch, within=within)
    with watch.stage("fuse"):
        fused = fuse(found.candidates, options) if len(found.candidates) else None
    return Evidence(photo, altitude, found, fused, crop.clamped, known)


def _answer(
    evidence: Evidence, bundle: Bundle, plan: Plan, options: LocateOptions, watch: Stopwatch
) -> Answer:
    """The answer of the stage that decides; there is none where the pilot puts the photo off the map."""
    if evidence.found.within is not None and evidence.fused is None:
        return Answer(retrieved(evidence), warnings=evidence.warnings)
    if plan.verifies:
        return answer_by_verification(evidence, bundle, plan, options=options, watch=watch)
    if plan.votes:
        return answer_by_votes(evidence, bundle, plan, options=options, watch=watch)
    return Answer(retrieved(evidence), warnings=evidence.warnings)


def open_networks(bundle: Bundle, plan: Plan) -> None:
    """Open what the plan needs, so that the first photo's timings are like the others'."""
    _ = bundle.place_network, bundle.cell_classifier, bundle.index, bundle.projection
    if plan.estimates_altitude:
        _ = bundle.altitude_network
    if plan.ties_matter and bundle.similarity_tolerance > 0:
        _ = bundle.float32_place_network
    if plan.verifies:
        _ = bundle.matcher_network, bundle.texture


def _canonical(photo: DecodedPhoto, altitude: PhotoAltitude, bundle: Bundle, plan: Plan) -> Crop:
    """The middle of the photo at the references' scale, or the whole of it where that is wanted."""
    network = bundle.recipe.place_network
    size = {"width_px": network.width_px, "height_px": network.height_px}
    if plan.cropped and altitude.gsd_m is not None:
        resampling = bundle.recipe.enlarge
        return canonical_crop(
            photo.pixels, photo.camera, altitude.gsd_m, bundle.canonical, **size, enlarge=resampling
        )
    whole = network_frame(photo.pixels, photo.camera, bundle.camera, **size)
    return Crop(whole, photo.camera.resized(**size), clamped=False)
