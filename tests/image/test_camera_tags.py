"""Digital zoom, sensor sizes, calibrations and turned pictures: each rule on a header made up for it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from nadirfix.camera import Camera, Lens
from nadirfix.image.decode import decode
from nadirfix.image.tags import PhotoTags, choose_camera, read_tags
from nadirfix.image.undistort import undistorted
from tests.image.test_undistort import upright
from tests.lenses import Plane
from tests.photos import encoded, exif, jpeg, rational, xmp_attributes, xmp_elements

TAG = ExifTags.Base
BY_DIAGONAL = 500 / math.hypot(36, 24)
#: A lens of a 4000 × 3000 camera, and as DJI writes it.
LENS = Lens(
    model="brown-conrady", fx_px=3520, fy_px=3490, radial=(-0.31, 0.14, -0.04), tangential=(0.004, -0.003),
    center_px=(-48, 31),
)  # fmt: skip
DEWARP = "2022-03-02;3520.0,3490.0,-48.0,31.0,-0.31,0.14,0.004,-0.003,-0.04"


def tags_with(xmp: dict[str, str] | None = None, *, size: tuple[int, int] = (400, 300), **photo) -> PhotoTags:
    values = {TAG[name]: rational(v) if isinstance(v, float) else v for name, v in photo.items()}
    return read_tags(jpeg(size, xmp=xmp_attributes(xmp) if xmp else None, tags=exif(photo=values)))


def focal_px(tags: PhotoTags) -> float:
    assert tags.camera is not None, tags.notes
    assert tags.camera.fx_px == pytest.approx(tags.camera.fy_px)
    return tags.camera.fx_px


@pytest.mark.parametrize("zoom", [0.0, 1.0, 1.005, math.nan])
def test_no_digital_zoom(zoom: float) -> None:
    value = IFDRational(0, 0) if math.isnan(zoom) else rational(zoom)
    tags = tags_with(FocalLengthIn35mmFilm=30, DigitalZoomRatio=value)
    assert focal_px(tags) == pytest.approx(30 * BY_DIAGONAL)


def test_digital_zoom_that_is_not_counted_multiplies_the_focal_length() -> None:
    """6 mm as 29 mm are a sensor of 9 mm; were the zoom in it, it would be one of 72 mm."""
    tags = tags_with(FocalLengthIn35mmFilm=29, FocalLength=6.0, DigitalZoomRatio=8.0)
    assert focal_px(tags) == pytest.approx(8 * 29 * BY_DIAGONAL)
    assert any("zoomed digitally 8 times" in note for note in tags.notes)


def test_digital_zoom_that_is_counted_already() -> None:
    """4.2 mm as 58 mm are a sensor of 3.1 mm, smaller than any; without the zoom it is one of 6.3 mm."""
    tags = tags_with(FocalLengthIn35mmFilm=58, FocalLength=4.2, DigitalZoomRatio=2.0)
    assert focal_px(tags) == pytest.approx(58 * BY_DIAGONAL)


@pytest.mark.parametrize(
    "photo",
    [
        {"FocalLengthIn35mmFilm": 24},
        {"FocalLengthIn35mmFilm": 24, "FocalLength": 4.5},
        {"FocalLength": 8.0, "FocalPlaneXResolution": 50.0, "FocalPlaneResolutionUnit": 4},
    ],
    ids=["no focal length", "both could be", "pixel density"],
)
def test_digital_zoom_nobody_can_tell_is_not_guessed(photo: dict) -> None:
    tags = tags_with({"CalibratedFocalLength": "380"}, DigitalZoomRatio=2.0, **photo)
    assert tags.camera is None
    assert any("zoomed digitally 2 times" in note for note in tags.notes)


@pytest.mark.parametrize("unit", [(4, 1.0), (3, 10.0), (5, 0.001)])
def test_the_sensor_s_size_in_place_of_its_resolution(unit: tuple[int, float]) -> None:
    """640 × 512 pixels of 17 µm behind 13 mm; as densities the two would make pixels of 5:4."""
    number, unit_mm = unit
    plane = {"FocalPlaneXResolution": 10.88 / unit_mm, "FocalPlaneYResolution": 8.704 / unit_mm}
    tags = tags_with(size=(640, 512), FocalLength=13.0, FocalPlaneResolutionUnit=number, **plane)
    assert focal_px(tags) == pytest.approx(13 / 0.017, rel=1e-4)
    assert any("10.88 × 8.704 mm" in note for note in tags.notes)


def test_a_square_picture_s_resolutions_are_resolutions() -> None:
    plane = {"FocalPlaneXResolution": 50.0, "FocalPlaneYResolution": 50.0, "FocalPlaneResolutionUnit": 4}
    assert focal_px(tags_with(size=(400, 400), FocalLength=8.0, **plane)) == pytest.approx(400)


def test_a_pinhole_camera_of_150_degrees_is_none() -> None:
    tags = tags_with(FocalLengthIn35mmFilm=6, FocalLength=1.8)
    assert tags.camera is None
    assert "not a usable focal length" in tags.notes[0]
    assert "give --camera" in tags.notes[-1]


@pytest.mark.parametrize(("equivalent", "warned"), [(15, True), (18, True), (19, False), (24, False)])
def test_a_wide_lens_of_unknown_bend_is_warned_of(equivalent: int, warned: bool) -> None:
    tags = tags_with(FocalLengthIn35mmFilm=equivalent)
    assert focal_px(tags) == pytest.approx(equivalent * BY_DIAGONAL)
    assert any("bends straight lines" in note for note in tags.notes) == warned


@pytest.mark.parametrize(
    ("size", "warned"), [((400, 225), "9 %"), ((225, 400), "9 %"), ((400, 267), ""), ((400, 300), "")]
)
def test_a_picture_cut_from_the_sensor_is_warned_of(size: tuple[int, int], warned: str) -> None:
    """A 4:3 sensor as wide as 16:9 has a diagonal of 5 in place of 4.59."""
    notes = [note for note in tags_with(size=size, FocalLengthIn35mmFilm=24).notes if "4:3" in note]
    assert len(notes) == bool(warned)
    assert all(warned in note for note in notes)


def test_a_stitched_panorama_has_no_focal_length() -> None:
    tags = tags_with({"ProjectionType": "cylindrical"}, FocalLengthIn35mmFilm=24)
    assert tags.camera is None
    assert "stitched" in tags.notes[0]


@pytest.mark.parametrize("size", [(400, 300), (400, 225), (300, 300), (300, 400), (800, 200)])
def test_every_shape_is_by_its_own_diagonal(size: tuple[int, int]) -> None:
    tags = tags_with(size=size, FocalLengthIn35mmFilm=24)
    assert focal_px(tags) == pytest.approx(24 * math.hypot(*size) / math.hypot(36, 24))


def test_a_picture_a_program_turned_has_its_camera_turned() -> None:
    """4000 × 3000 as taken, 3000 × 4000 as stored: nothing but a quarter turn does that."""
    plane = {"FocalPlaneXResolution": 50.0, "FocalPlaneYResolution": 60.0, "FocalPlaneResolutionUnit": 4}
    declared = {"ExifImageWidth": 400, "ExifImageHeight": 300}
    tags = tags_with(size=(300, 400), FocalLength=8.0, **declared, **plane)
    assert tags.camera == Camera(300, 400, 480.0, 400.0)
    tags = tags_with({"DewarpData": DEWARP}, size=(300, 400), FocalLengthIn35mmFilm=24, **declared)
    assert tags.camera is not None
    assert tags.camera.lens is None
    assert any("turned by a program" in note for note in tags.notes)


@pytest.mark.parametrize("write", [xmp_attributes, xmp_elements])
def test_dewarp_data_is_the_lens_of_the_original_size(write) -> None:
    """The focal length is the calibrated one; the photo is a tenth as wide as the original."""
    xmp = write({"DewarpData": DEWARP, "DewarpFlag": "0", "CalibratedFocalLength": "3500"})
    declared = exif(photo={TAG.ExifImageWidth: 4000, TAG.ExifImageHeight: 3000})
    tags = read_tags(jpeg(xmp=xmp, tags=declared))
    assert tags.camera == Camera(4000, 3000, 3500.0, 3500.0, lens=LENS).resized(400, 300)
    assert tags.camera_source == "CalibratedFocalLength"


def test_dewarp_data_alone_gives_the_focal_length_too() -> None:
    tags = tags_with({"DewarpData": DEWARP}, ExifImageWidth=4000, ExifImageHeight=3000)
    assert tags.camera == Camera(4000, 3000, 3520.0, 3490.0, lens=LENS).resized(400, 300)
    assert tags.camera_source == "DewarpData"


def test_a_photo_the_drone_straightened_is_not_straightened_again() -> None:
    tags = tags_with({"DewarpData": DEWARP, "DewarpFlag": "1", "CalibratedFocalLength": "350"})
    assert tags.camera == Camera(400, 300, 350.0, 350.0)
    assert tags.notes == ()


@pytest.mark.parametrize(
    "data",
    [
        "0.124826,-0.233427,0.098182", "", "2022-03-02;", DEWARP + ",0", DEWARP.replace("0.14", "nan"),
        DEWARP.replace("3520.0", "0"), DEWARP.replace("-0.31", "-9.0"), DEWARP.replace("-48.0", "1900"),
    ],
)  # fmt: skip
def test_dewarp_data_that_makes_no_sense_is_noted_and_not_used(data: str) -> None:
    xmp = {"DewarpData": data, "CalibratedFocalLength": "3500"}
    tags = tags_with(xmp, ExifImageWidth=4000, ExifImageHeight=3000)
    assert tags.camera == Camera(400, 300, 350.0, 350.0)
    assert any("DewarpData" in note for note in tags.notes)


def test_dewarp_data_of_another_picture_size_is_not_used() -> None:
    center = {"CalibratedOpticalCenterX": "2000", "CalibratedOpticalCenterY": "1500"}
    tags = tags_with({"DewarpData": DEWARP, **center}, FocalLengthIn35mmFilm=30)
    assert focal_px(tags) == pytest.approx(30 * BY_DIAGONAL)
    assert tags.camera is not None
    assert tags.camera.lens is None
    assert any("DewarpData belongs to another picture size" in note for note in tags.notes)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_bent_photo_is_straightened_in_every_orientation(orientation: int) -> None:
    """Tags and pixels as stored, turned by their tag, are the straight picture as it was held."""
    camera, plane = Camera(400, 300, 350.0, 350.0, lens=LENS.resized(0.1, 0.1)), Plane()
    stored = plane.photo(camera)
    size = {TAG.ExifImageWidth: 4000, TAG.ExifImageHeight: 3000}
    xmp = xmp_attributes({"DewarpData": DEWARP, "DewarpFlag": "0", "CalibratedFocalLength": "3500"})
    tags = exif({TAG.Orientation: orientation}, photo=size)
    photo = encoded(Image.fromarray(stored), "JPEG", exif=tags, xmp=xmp, quality=98, subsampling=0)
    read = read_tags(photo)
    assert read.camera is not None
    pixels, straight = undistorted(decode(photo, max_pixels=10**6), read.camera)
    wanted = plane.photo(replace(camera, lens=None))
    assert (straight.width_px, straight.height_px) == ((300, 400) if orientation >= 5 else (400, 300))
    off = np.abs(pixels.astype(int) - upright(wanted, orientation))
    assert off.mean() < 2
    assert np.abs(pixels.astype(int) - upright(stored, orientation)).mean() > 8


def photo_of(camera: Camera, orientation: int) -> PhotoTags:
    return PhotoTags(width_px=camera.width_px, height_px=camera.height_px, orientation=orientation)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_given_camera_turns_upright_with_its_pictures(orientation: int) -> None:
    given = Camera(4000, 3000, 3500.0, 3400.0, lens=LENS)
    turned = given.oriented(orientation)
    chosen = choose_camera(photo_of(turned, orientation), explicit=given, nominal=None)
    assert chosen.camera == turned
    half = turned.resized(turned.width_px // 2, turned.height_px // 2)
    assert choose_camera(photo_of(half, orientation), explicit=given, nominal=None).camera == half


def test_a_camera_in_portrait_is_taken_as_it_is() -> None:
    given = Camera(3000, 4000, 3500.0, 3400.0)
    assert choose_camera(photo_of(given, 6), explicit=given, nominal=None).camera == given
    assert choose_camera(photo_of(given, 1), explicit=given.turned(), nominal=None).camera == given
