"""Locating a photo: from its bytes to a position with its reasons. One screen of calls, no maths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nadirfix.camera import Camera
from nadirfix.image.crop import Crop, canonical_crop, network_frame
from nadirfix.image.decode import Photo
from nadirfix.online.photo import Height, Shot, height_of, read_shot
from nadirfix.online.retrieve import may_look_twice, recognise
from nadirfix.online.verify import confirmed
from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.wce import fuse
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["locate", "open_parts"]

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
    with what the photo's tags say. Where the bundle carries a matcher the map is asked, where nothing was
    trained the whole frame votes; ``options`` switch both off.
    """
    open_parts(bundle, options)
    watch = Stopwatch()
    with watch.stage("decode"):
        shot = read_shot(photo, camera, bundle, options, altitude_m=altitude_m)
    with watch.stage("altitude"):
        given = Height(altitude_m, sigma_m=altitude_sigma_m)
        height = height_of(shot, bundle, given, options)
    with watch.stage("crop"):
        crop = _canonical(shot, height, bundle, options)
    embedding, candidates = recognise(crop.pixels, bundle=bundle, options=options, watch=watch)
    with watch.stage("fuse"):
        fused = fuse(candidates, options) if len(candidates) else None
    fix = Fix(
        photo="" if isinstance(photo, bytes) else str(photo),
        status="fix" if fused else "no_fix",
        position=fused.position if fused else None,
        altitude=height.estimate,
        altitude_sources=height.sources,
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
    answer = confirmed(fix, shot, height, bundle, embedding=embedding, options=options, watch=watch)
    return replace(_at_its_own_pixels(answer, shot), timings_ms=watch.timings_ms())


def _at_its_own_pixels(fix: Fix, shot: Shot) -> Fix:
    """The fix with the ground sampling distance of the photo as it was taken, however it was decoded."""
    if shot.reduced == 1 or fix.gsd_m is None:
        return fix
    others = tuple(_at_its_own_pixels(other, shot) for other in fix.hypotheses)
    return replace(fix, gsd_m=fix.gsd_m / shot.reduced, hypotheses=others)


def open_parts(bundle: Bundle, options: LocateOptions) -> None:
    """Bring in what every photo needs, so that the first one's timings are like the others'."""
    import faiss  # noqa: F401

    _ = bundle.place_network, bundle.voter, bundle.index, bundle.projection
    if options.crop:
        _ = bundle.altitude_network
    if may_look_twice(bundle, options):
        _ = bundle.careful_place_network
    if options.verify and bundle.matcher(options.verification.features) is not None:
        _ = bundle.texture


def _canonical(shot: Shot, height: Height, bundle: Bundle, options: LocateOptions) -> Crop:
    """The middle of the photo at the references' scale, or the whole of it where that is wanted."""
    settings = bundle.recipe.place_network
    size = {"width_px": settings.width_px, "height_px": settings.height_px}
    if options.crop and height.gsd_m is not None:
        way = bundle.recipe.enlarge
        return canonical_crop(shot.pixels, shot.camera, height.gsd_m, bundle.canonical, **size, enlarge=way)
    whole = network_frame(shot.pixels, shot.camera, bundle.camera, **size)
    return Crop(whole, shot.camera.resized(**size), clamped=False)
