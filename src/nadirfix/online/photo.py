"""A photo as it was taken: its pixels, the camera that took them, and what its tags say of its pose."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.exif import tagged_altitudes
from nadirfix.altitude.prior import is_altitude
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.crop import crop_window_px, photo_gsd_m
from nadirfix.image.decode import Decoder, DecodeResolution, decode
from nadirfix.image.focal_doubt import focal_sigma
from nadirfix.image.level import Levelling, levelled
from nadirfix.image.photo_source import Photo
from nadirfix.image.tags import NOMINAL, PhotoTags, choose_camera, read_tags
from nadirfix.image.undistort import straight_camera, undistorted
from nadirfix.options.locate import LocateOptions, PriorOptions
from nadirfix.prior import Prior
from nadirfix.timing import Stopwatch
from nadirfix.types import KnownAltitude, Point
from nadirfix.types.gimbal import Gimbal

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["DecodedPhoto", "read_photo"]

#: A photo this many times as fine as the altitude network's input has the same spectrum whole or halved; at
#: half of that the finest detail is 3 % weaker and one photo in twenty changes its altitude class.
_FINE_ENOUGH = 8
#: Below this there is nothing to see.
_MIN_SIDE_PX = 32


@dataclass(frozen=True, slots=True, eq=False)
class DecodedPhoto:
    """A photo, straightened and maybe rectified: pixels, their camera, and what the pilot should know."""

    pixels: NDArray[np.uint8]
    camera: Camera  # the one that would take these pixels
    warnings: tuple[str, ...]
    reduction: int = 1  # how many of the photo's own pixels, each way, make one of these
    tagged: tuple[KnownAltitude, ...] = ()  # what its tags say of the altitude
    camera_assumed: bool = False  # neither given nor told by its tags
    by_tags: Prior = field(default_factory=Prior)  # how its camera hung; the aircraft's place, if wanted
    levelling: Levelling | None = None  # how it was rectified, if it was
    focal_sigma: float = 0.0  # relative deviation of the focal length

    @property
    def taken_by(self) -> Camera:
        """The camera that took the photo, which may have been tilted."""
        return self.camera if self.levelling is None else self.levelling.camera

    def rectified(self, gimbal: Gimbal | None, options: PriorOptions, watch: Stopwatch) -> DecodedPhoto:
        """The photo as seen straight down, where a gimbal tells of a tilt that can be taken out."""
        if gimbal is None or gimbal.is_upright or gimbal.tilt_deg > options.most_tilt_deg:
            return self
        with watch.stage("rectify"):
            pixels, camera, made = levelled(self.pixels, self.camera, gimbal)
        return replace(self, pixels=pixels, camera=camera, levelling=made)


def read_photo(
    photo: Photo,
    given: Camera | None,
    bundle: Bundle,
    options: LocateOptions,
    *,
    altitude_m: float | None = None,
    decoder: Decoder = decode,
) -> DecodedPhoto:
    """Read a photo and choose its camera: the one given, else its own tags, else the bundle's nominal one.

    A large photo is decoded no finer than any stage needs it, from the altitude given or any other. Where
    the camera's lens bends its pictures, the photo is straightened before anything else.
    """
    tags = read_tags(photo, max_pixels=options.max_pixels)
    _check_size(tags.width_px, tags.height_px)
    chosen = choose_camera(tags, explicit=given, nominal=bundle.camera)
    camera = chosen.camera
    size_px = (camera.width_px, camera.height_px)
    resolution = DecodeResolution(size_px, _least_px(straight_camera(camera), bundle, options, altitude_m))
    pixels = decoder(photo, max_pixels=options.max_pixels, resolution=resolution)
    reduction = _reduction(pixels, camera, resolution)
    gnss, notes = _gnss(tags, options.priors)
    by_tags = replace(gnss, gimbal=tags.gimbal if options.tags.believed else None)
    warnings = chosen.warnings + _size_warnings(pixels, bundle) + notes
    tagged = tagged_altitudes(tags, options.tags)
    assumed = chosen.source == NOMINAL
    pixels, camera = undistorted(pixels, _reduced(camera, reduction))
    return DecodedPhoto(
        pixels, camera, warnings, reduction, tagged, assumed, by_tags, focal_sigma=focal_sigma(chosen)
    )


def _gnss(tags: PhotoTags, options: PriorOptions) -> tuple[Prior, tuple[str, ...]]:
    """Where the tags have the aircraft, if that is wanted: in a test a photo's own position is the answer."""
    if not options.exif_position:
        return Prior(), ()
    if tags.lonlat is None:
        return Prior(), ("the photo's tags hold no position to search near",)
    try:
        return Prior(near=Point.from_lonlat(*tags.lonlat), near_sigma_m=tags.position_error_m), ()
    except InputError:
        return Prior(), (f"the photo's tags hold a position that is not in UTM: {tags.lonlat}",)


def _least_px(
    camera: Camera, bundle: Bundle, options: LocateOptions, altitude_m: float | None
) -> tuple[int, int]:
    """The smallest photo that still has a pixel for each any stage needs, from the highest altitude."""
    frame, crop = bundle.recipe.altitude_network, bundle.recipe.place_network
    gsd_m = photo_gsd_m(float(bundle.bins.centers_m[-1]), nominal=bundle.camera, photo=camera)
    gsd_m = max(gsd_m, camera.gsd_m(altitude_m) if altitude_m and is_altitude(altitude_m) else 0.0)
    (window_px, tall_px), _ = crop_window_px(camera, gsd_m, bundle.canonical)
    across = math.ceil(crop.width_px * camera.width_px / window_px)
    down = math.ceil(crop.height_px * camera.height_px / tall_px)
    matched, finer = options.verification.match.width_px, 1 if altitude_m else _FINE_ENOUGH
    return max(finer * frame.width_px, matched, across), max(finer * frame.height_px, matched, down)


def _reduction(pixels: NDArray[np.uint8], camera: Camera, resolution: DecodeResolution) -> int:
    """How much smaller the photo came out than its camera takes them."""
    by = resolution.reduction((camera.width_px, camera.height_px))
    return by if pixels.shape[1::-1] == (camera.width_px // by, camera.height_px // by) else 1


def _reduced(camera: Camera, by: int) -> Camera:
    """The camera that takes so much smaller photos."""
    return camera.resized(camera.width_px // by, camera.height_px // by) if by > 1 else camera


def _check_size(width_px: int, height_px: int) -> None:
    if min(height_px, width_px) < _MIN_SIDE_PX:
        raise InputError(
            "photo.too_small",
            "the photo has too few pixels",
            seen=f"{width_px} × {height_px} px, at least {_MIN_SIDE_PX} each way are needed",
            do="give the original photo, not a thumbnail",
        )


def _size_warnings(pixels: NDArray[np.uint8], bundle: Bundle) -> tuple[str, ...]:
    height_px, width_px = pixels.shape[:2]
    networks = bundle.recipe.altitude_network, bundle.recipe.place_network
    wide, high = max(n.width_px for n in networks), max(n.height_px for n in networks)
    if width_px >= wide and height_px >= high:
        return ()
    return (f"the photo has {width_px} × {height_px} px, the networks take {wide} × {high}: enlarged",)
