"""Locating a photo: from its bytes to a position with its reasons. One screen of calls, no maths."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.levels import KnownAltitude, likely_altitudes
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.crop import Crop, canonical_crop, network_frame, photo_gsd_m
from nadirfix.image.decode import Photo, decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.options import LocateOptions, NetworkOptions
from nadirfix.options_frame import VoteOptions
from nadirfix.retrieval.fuse import fuse
from nadirfix.retrieval.hypotheses import Scale, hypotheses
from nadirfix.stopwatch import Stopwatch
from nadirfix.types import AltitudeEstimate, Candidates, Fix, Hypothesis
from nadirfix.verify.answer import verified_fix
from nadirfix.verify.compare import Comparison
from nadirfix.verify.decide import decide, quick_then_all

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["locate"]

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
    ground that is given is believed; otherwise it is read from the picture. With ``options.votes`` the whole
    frame votes, and a deviation of the given altitude is weighed against what the picture shows.
    """
    _open_parts(bundle, options)
    watch = Stopwatch()
    with watch.stage("decode"):
        shot = _read(photo, camera, bundle, options)
    with watch.stage("altitude"):
        height = _height(shot, bundle, altitude_m, options)
    with watch.stage("crop"):
        crop = _canonical(shot, height, bundle, options)
    with watch.stage("embed"):
        embedding = bundle.place_network.run(_planes(crop.pixels)[None])[0]
    with watch.stage("classify"):
        classes = _likeliest(embedding, bundle, options)
    with watch.stage("retrieve"):
        candidates = _lookalikes(embedding, classes, bundle, options)
    with watch.stage("fuse"):
        fused = fuse(candidates, options) if len(candidates) else None
    fix = Fix(
        photo="" if isinstance(photo, bytes) else str(photo),
        status="fix" if fused else "no_fix",
        position=fused.position if fused else None,
        altitude=height.estimate,
        altitude_m=height.altitude_m,
        gsd_m=height.gsd_m,
        heading_deg=float(candidates.heading_deg[0]) % 360 if fused else None,
        footprint_m=None if height.altitude_m is None else shot.camera.footprint_m(height.altitude_m),
        candidates=candidates,
        weights=fused.weights if fused else None,
        reason=None if fused else "the likeliest cells hold no references",
        crop_clamped=crop.clamped,
        warnings=shot.warnings + height.warnings,
    )
    answer = _asked(fix, shot, height, bundle, options=options, sigma_m=altitude_sigma_m, watch=watch)
    return dataclasses.replace(answer, timings_ms=watch.timings_ms())


@dataclass(frozen=True, slots=True, eq=False)
class _Shot:
    """A photo as it was taken: pixels, the camera that took them, and what the pilot should know."""

    pixels: NDArray[np.uint8]
    camera: Camera
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Height:
    """From how high: given, estimated, or not asked for."""

    altitude_m: float | None = None
    gsd_m: float | None = None
    estimate: AltitudeEstimate | None = None
    warnings: tuple[str, ...] = ()


def _open_parts(bundle: Bundle, options: LocateOptions) -> None:
    """Bring in what every photo needs, so that the first one's timings are like the others'."""
    import faiss  # noqa: F401

    _ = bundle.place_network, bundle.voter, bundle.index, bundle.projection
    if options.crop:
        _ = bundle.altitude_network
    if options.weighted:
        import sklearn.svm  # noqa: F401
    if options.verify and bundle.matcher(options.verification.features) is not None:
        _ = bundle.texture


def _read(photo: Photo, given: Camera | None, bundle: Bundle, options: LocateOptions) -> _Shot:
    pixels = decode(photo, max_pixels=options.max_pixels)
    _check_size(pixels, options)
    chosen = choose_camera(read_tags(photo), explicit=given, nominal=bundle.camera)
    return _Shot(pixels, chosen.camera, chosen.warnings + _size_warnings(pixels, bundle))


def _height(shot: _Shot, bundle: Bundle, altitude_m: float | None, options: LocateOptions) -> _Height:
    if altitude_m is not None:
        _check_altitude(altitude_m)
        return _Height(altitude_m, shot.camera.gsd_m(altitude_m))
    return _estimated(shot, bundle) if options.crop else _Height()


def _estimated(shot: _Shot, bundle: Bundle) -> _Height:
    """What the network names is the altitude of the nominal camera; gsd follows, and from it the true one."""
    settings = bundle.recipe.altitude_network
    frame = network_frame(
        shot.pixels, shot.camera, bundle.camera, width_px=settings.width_px, height_px=settings.height_px
    )
    scores = bundle.altitude_scores(_altitude_input(frame, settings)[None])[0]
    nominal = bundle.bins.estimate(scores)
    gsd_m = photo_gsd_m(nominal.altitude_m, nominal=bundle.camera, photo=shot.camera)
    estimate = nominal.scaled(shot.camera.altitude_m(gsd_m) / nominal.altitude_m)
    return _Height(estimate.altitude_m, gsd_m, estimate, _edge_warning(estimate))


def _altitude_input(frame: NDArray[np.float32], settings: NetworkOptions) -> NDArray[np.float32]:
    return log_spectrum(frame, settings) if settings.input == "spectrum" else _planes(frame)


def _canonical(shot: _Shot, height: _Height, bundle: Bundle, options: LocateOptions) -> Crop:
    """The middle of the photo at the references' scale, or the whole of it where that is wanted."""
    settings = bundle.recipe.place_network
    size = {"width_px": settings.width_px, "height_px": settings.height_px}
    if options.crop and height.gsd_m is not None:
        return canonical_crop(shot.pixels, shot.camera, height.gsd_m, bundle.canonical, **size)
    whole = network_frame(shot.pixels, shot.camera, bundle.camera, **size)
    return Crop(whole, shot.camera.resized(**size), clamped=False)


def _likeliest(
    embedding: NDArray[np.float32], bundle: Bundle, options: LocateOptions
) -> NDArray[np.int64] | None:
    """Classes of the likeliest cells, counted through all groups; None stands for all of them."""
    if options.cells == 0:
        return None
    ranking = bundle.likeliest_cells(embedding, options.cells)
    first = np.cumsum([0, *bundle.order.sizes])
    return np.asarray(first[ranking.group] + ranking.index, np.int64)


def _lookalikes(
    embedding: NDArray[np.float32],
    classes: NDArray[np.int64] | None,
    bundle: Bundle,
    options: LocateOptions,
) -> Candidates:
    rows, distances = bundle.index.search(bundle.describe(embedding), classes, options.retrieve)
    known = bundle.references
    return Candidates(
        reference=rows,
        east_m=known.east_m[rows],
        north_m=known.north_m[rows],
        heading_deg=known.heading_deg[rows],
        distance=distances,
        cell=known.cell[rows],
        epsg=bundle.epsg,
    )


def _hypotheses(
    shot: _Shot, height: _Height, bundle: Bundle, options: VoteOptions, *, sigma_m: float | None
) -> list[Hypothesis]:
    """Views the photo may show, from the whole frame, at every altitude that comes into question."""
    known = []
    if height.estimate is None and height.altitude_m is not None:
        known = [KnownAltitude(height.altitude_m, sigma_m or 0.0)]
    asked = height.estimate is None and (sigma_m or not known)
    estimate = _estimated(shot, bundle).estimate if asked else height.estimate
    levels = likely_altitudes(estimate, known, options)
    scales = [Scale(shot.camera.gsd_m(level.altitude_m), level.share) for level in levels]
    return hypotheses(shot.pixels, shot.camera, scales, lookup=bundle.lookup, options=options)


def _at(best: Hypothesis, fix: Fix, shot: _Shot) -> Fix:
    """The fix, moved to where the frame's votes have it."""
    view = best.view
    return dataclasses.replace(
        fix,
        status="fix",
        reason=None,
        position=view.center,
        altitude_m=view.altitude_m,
        gsd_m=shot.camera.gsd_m(view.altitude_m),
        heading_deg=view.heading_deg,
        footprint_m=shot.camera.footprint_m(view.altitude_m),
    )


def _asked(
    fix: Fix,
    shot: _Shot,
    height: _Height,
    bundle: Bundle,
    *,
    options: LocateOptions,
    sigma_m: float | None,
    watch: Stopwatch,
) -> Fix:
    """What the whole frame votes for, held against the map where the bundle carries something to do so."""
    asked, known = options.verification, height.altitude_m is not None
    detector = bundle.matcher(asked.features) if options.verify and known else None
    votes = options.votes or (asked.votes if detector else None)
    if votes is None:
        return fix

    def voted(how: VoteOptions) -> list[Hypothesis]:
        with watch.stage("votes"):
            return _hypotheses(shot, height, bundle, how, sigma_m=sigma_m)

    if detector is None:
        return _at(voted(votes)[0], fix, shot)
    ground, camera = bundle.texture, shot.camera
    compare = Comparison(shot.pixels, camera, texture=ground, detector=detector, options=asked, watch=watch)
    verdict = decide(quick_then_all(voted, votes, asked), compare, asked)
    return verified_fix(fix, verdict, camera, map_gsd_m=ground.gsd_m, options=asked)


def _planes(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Channels first, as networks want it."""
    return np.moveaxis(picture, -1, 0)


def _check_size(pixels: NDArray[np.uint8], options: LocateOptions) -> None:
    height_px, width_px = pixels.shape[:2]
    if min(height_px, width_px) < options.min_side_px:
        raise InputError(
            "photo.too_small",
            "the photo has too few pixels",
            seen=f"{width_px} × {height_px} px, at least {options.min_side_px} each way are needed",
            do="give the original photo, not a thumbnail",
        )


def _size_warnings(pixels: NDArray[np.uint8], bundle: Bundle) -> tuple[str, ...]:
    height_px, width_px = pixels.shape[:2]
    networks = bundle.recipe.altitude_network, bundle.recipe.place_network
    wide, high = max(n.width_px for n in networks), max(n.height_px for n in networks)
    if width_px >= wide and height_px >= high:
        return ()
    return (f"the photo has {width_px} × {height_px} px, the networks look at {wide} × {high}: enlarged",)


def _check_altitude(altitude_m: float) -> None:
    if not 0 < altitude_m < math.inf:
        raise InputError(
            "altitude.invalid",
            "an altitude must be a positive number of metres above ground",
            seen=f"{altitude_m}",
            do="give metres above ground, or leave it out to have it estimated",
        )


def _edge_warning(estimate: AltitudeEstimate) -> tuple[str, ...]:
    if not estimate.at_edge:
        return ()
    return (
        f"the altitude is the last the bundle knows at this end ({estimate.altitude_m:.0f} m): "
        "the photo may come from beyond it",
    )
