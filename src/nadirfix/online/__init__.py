"""Locating a photo: from its bytes to a position with its reasons. One screen of calls, no maths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nadirfix.bundle.plan import Plan
from nadirfix.camera import Camera
from nadirfix.image.crop import Crop, canonical_crop, network_frame
from nadirfix.image.decode import Photo
from nadirfix.online.altitude import PhotoAltitude, find_altitude
from nadirfix.online.answer import Answer, Evidence, assemble_fix, retrieved
from nadirfix.online.photo import DecodedPhoto, read_photo
from nadirfix.online.retrieve import retrieve
from nadirfix.online.verify import answer_by_verification, answer_by_votes
from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.wce import fuse
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["locate", "open_networks"]

_USUAL = LocateOptions()


def locate(
    photo: Photo,
    *,
    bundle: Bundle,
    camera: Camera | None = None,
    altitude_m: float | None = None,
    altitude_sigma_m: float | None = None,
    options: LocateOptions = _USUAL,
) -> Fix:
    """Where a photo was taken, and from how high: a position with its reasons, or "no fix" with its reason.

    The camera is the one given, else the photo's own tags, else the bundle's nominal one. An altitude above
    ground that is given is believed, within its deviation; otherwise it is read from the picture, and weighed
    with what the photo's tags say. Where the bundle carries a matcher the answer is verified against the map,
    where nothing was trained the whole frame votes; ``options`` switch both off.
    """
    plan = Plan.of(bundle, options, altitude_given=altitude_m is not None)
    open_networks(bundle, plan)
    watch = Stopwatch()
    with watch.stage("decode"):
        decoded = read_photo(photo, camera, bundle, options, altitude_m=altitude_m)
    with watch.stage("altitude"):
        given = PhotoAltitude(altitude_m, sigma_m=altitude_sigma_m)
        altitude = find_altitude(decoded, given, bundle, options, plan)
    with watch.stage("crop"):
        crop = _canonical(decoded, altitude, bundle, plan)
    found = retrieve(crop.pixels, plan, bundle=bundle, options=options, watch=watch)
    with watch.stage("fuse"):
        fused = fuse(found.candidates, options) if len(found.candidates) else None
    evidence = Evidence(decoded, altitude, found, fused, crop.clamped)
    answer = _answer(evidence, bundle, plan, options, watch)
    return assemble_fix(photo, evidence, answer, watch.timings_ms())


def _answer(
    evidence: Evidence, bundle: Bundle, plan: Plan, options: LocateOptions, watch: Stopwatch
) -> Answer:
    """The answer of the stage that decides."""
    if plan.verifies:
        return answer_by_verification(evidence, bundle, plan, options=options, watch=watch)
    if plan.votes:
        return answer_by_votes(evidence, bundle, plan, options=options, watch=watch)
    return Answer(retrieved(evidence), warnings=evidence.warnings)


def open_networks(bundle: Bundle, plan: Plan) -> None:
    """Open what the plan needs, so that the first photo's timings are like the others'."""
    import faiss  # noqa: F401

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
