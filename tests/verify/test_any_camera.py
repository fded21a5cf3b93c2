"""Photos of every shape, zoomed, cropped, resized and turned are located to a metre and half a percent."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from PIL import ExifTags, Image

from nadirfix.camera import Camera
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.types import Fix, View
from nadirfix.verify.features import Detector
from tests.image.test_undistort import upright
from tests.photos import encoded, exif, rational
from tests.places import CAMERA, place, view_of
from tests.verify.test_verified_locate import bundle_of

TAG = ExifTags.Base
TRUE = view_of(place(), altitude_m=140.0, heading_deg=47.0)
NEAR = View(TRUE.center.moved(15.0, 10.0), 125.0, 38.0)
SHAPES = {
    "4:3": CAMERA,
    "3:2": Camera(1080, 720, 620.0, 620.0),
    "16:9": Camera(1280, 720, 700.0, 700.0),
    "square": Camera(800, 800, 560.0, 560.0),
    "portrait": CAMERA.turned(),
    "panorama": Camera(1600, 400, 700.0, 700.0),
    "a video's part of the sensor": Camera(1600, 1200, 940.0, 940.0).cropped(1280, 720),
    "pixels that are not square": Camera(1024, 600, 600.0, 470.0),
}


def pixels_of(camera: Camera) -> np.ndarray:
    """What the camera sees: rendered with square pixels, and squeezed only where its own are not."""
    square = Camera(
        camera.width_px, round(camera.height_px * camera.fx_px / camera.fy_px), *[camera.fx_px] * 2
    )
    pixels = place().render(TRUE, square).pixels
    return cv2.resize(pixels, (camera.width_px, camera.height_px), interpolation=cv2.INTER_AREA)


def located(photo: bytes, detector: Detector, camera: Camera | None = None) -> Fix:
    options = LocateOptions(cells=0)
    return locate(photo, bundle=bundle_of(detector, NEAR), camera=camera, altitude_m=130.0, options=options)


def assert_true(fix: Fix) -> None:
    assert (fix.status, fix.verified) == ("fix", True)
    assert fix.position is not None
    assert fix.position.distance_m(TRUE.center) < 1.0
    assert fix.altitude_m == pytest.approx(TRUE.altitude_m, rel=0.005)
    assert fix.heading_deg == pytest.approx(TRUE.heading_deg, abs=0.3)


@pytest.mark.parametrize("camera", SHAPES.values(), ids=SHAPES)
def test_every_shape_is_located(sift: Detector, camera: Camera) -> None:
    fix = located(encoded(Image.fromarray(pixels_of(camera)), "PNG"), sift, camera)
    assert_true(fix)
    assert fix.footprint_m == pytest.approx(camera.footprint_m(140.0), rel=0.005)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_is_located_by_its_tags(sift: Detector, orientation: int) -> None:
    """The tags are those of the sensor, whose pixels are not square."""
    held = Camera(1000, 760, 600.0, 560.0) if orientation < 5 else Camera(760, 1000, 560.0, 600.0)
    back = {6: 8, 8: 6}.get(orientation, orientation)
    tags = exif(
        {TAG.Orientation: orientation},
        photo={
            TAG.FocalLength: rational(8.0),
            TAG.FocalPlaneXResolution: rational(75.0),
            TAG.FocalPlaneYResolution: rational(70.0),
            TAG.FocalPlaneResolutionUnit: 4,
        },
    )
    stored = upright(pixels_of(held), back)
    assert stored.shape[:2] == (760, 1000)
    assert_true(located(encoded(Image.fromarray(stored), "JPEG", exif=tags, quality=95), sift))


def test_a_photo_resized_after_it_was_taken(sift: Detector) -> None:
    large = Camera(2560, 1440, 1400.0, 1400.0)
    small = cv2.resize(pixels_of(large), (1120, 630), interpolation=cv2.INTER_AREA)
    size = {TAG.ExifImageWidth: 2560, TAG.ExifImageHeight: 1440}
    focal_35mm = round(1400 * math.hypot(36, 24) / math.hypot(2560, 1440))
    tags = exif(photo={**size, TAG.FocalLengthIn35mmFilm: focal_35mm})
    fix = located(encoded(Image.fromarray(small), "JPEG", exif=tags, quality=95), sift)
    assert fix.position is not None
    assert fix.position.distance_m(TRUE.center) < 1.0
    assert fix.altitude_m == pytest.approx(TRUE.altitude_m, rel=0.5 / focal_35mm + 0.005)
    assert_true(located(encoded(Image.fromarray(small), "PNG"), sift, large))


def test_a_digitally_zoomed_photo(sift: Detector) -> None:
    """The middle half of the sensor, enlarged twice; 23 mm as 31 mm are a sensor of 32 mm, not of 64."""
    sensor = Camera(1024, 768, 917.0, 917.0)
    part = pixels_of(sensor.cropped(512, 384))
    photo = cv2.resize(part, (1024, 768), interpolation=cv2.INTER_CUBIC)
    assert Camera.from_equivalent_focal(1024, 768, 31).fx_px == pytest.approx(917.0, rel=1e-3)
    tags = exif(
        photo={
            TAG.FocalLength: rational(23.0),
            TAG.FocalLengthIn35mmFilm: 31,
            TAG.DigitalZoomRatio: rational(2.0),
        }
    )
    assert_true(located(encoded(Image.fromarray(photo), "JPEG", exif=tags, quality=95), sift))
