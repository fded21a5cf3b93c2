"""A photo's own tags give its camera and pose, or say in words why they cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.errors import InputError
from nadirfix.image.decode import decode
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.image.tags import PhotoTags, choose_camera, read_tags
from nadirfix.types import Point, View
from tests.photos import corners, encoded, exif, jpeg, rational, xmp_attributes, xmp_elements

TAG = ExifTags.Base
NOTHING = "no tag says what the focal length is: give --camera WIDTHxHEIGHT@FOCAL in pixels, or a camera file"


def plane_tags(
    unit: int | None, pixels_per_unit: float, *, focal_mm: float = 8.0, **more: object
) -> Image.Exif:
    photo = {
        TAG.FocalLength: rational(focal_mm),
        TAG.FocalPlaneXResolution: rational(pixels_per_unit),
        TAG.FocalPlaneYResolution: rational(pixels_per_unit),
        **{TAG[name]: value for name, value in more.items()},
    }
    if unit is not None:
        photo[TAG.FocalPlaneResolutionUnit] = unit
    return exif(photo=photo)


def test_equivalent_focal_length_is_by_the_diagonal() -> None:
    tags = read_tags(jpeg((400, 300), tags=exif(photo={TAG.FocalLengthIn35mmFilm: 24})))
    assert tags.camera is not None
    assert tags.camera.fx_px == tags.camera.fy_px == pytest.approx(24 * 500 / math.hypot(36, 24))
    assert tags.camera_source == "FocalLengthIn35mmFilm"


@pytest.mark.parametrize(("unit", "millimetres"), [(None, 25.4), (2, 25.4), (3, 10.0), (4, 1.0), (5, 0.001)])
def test_focal_plane_in_every_unit(unit: int | None, millimetres: float) -> None:
    # 8 mm over pixels of 20 µm: 400 px.
    tags = read_tags(jpeg(tags=plane_tags(unit, 50 * millimetres)))
    assert tags.camera is not None
    assert tags.camera.fx_px == pytest.approx(400, rel=1e-3 if unit == 5 else 1e-6)


def test_unknown_unit_is_not_guessed() -> None:
    tags = read_tags(jpeg(tags=plane_tags(1, 50)))
    assert tags.camera is None
    assert "FocalPlaneResolutionUnit is 1" in tags.notes[0]


@pytest.mark.parametrize("write", [xmp_attributes, xmp_elements])
@pytest.mark.parametrize("prefix", ["drone-dji", "drone", "x"])
def test_calibrated_focal_length_comes_first(write, prefix: str) -> None:
    xmp = write({"CalibratedFocalLength": "380.5"}, prefix=prefix)
    tags = read_tags(jpeg(xmp=xmp, tags=exif(photo={TAG.FocalLengthIn35mmFilm: 32})))
    assert tags.camera == Camera(400, 300, 380.5, 380.5)
    assert tags.camera_source == "CalibratedFocalLength"
    assert tags.notes == ()


def test_sources_that_disagree_are_named() -> None:
    xmp = xmp_attributes({"CalibratedFocalLength": "800"})
    tags = read_tags(jpeg(xmp=xmp, tags=exif(photo={TAG.FocalLengthIn35mmFilm: 32})))
    assert tags.camera == Camera(400, 300, 800.0, 800.0)
    assert "370 px" in tags.notes[0]
    assert "800 px" in tags.notes[0]


def test_resized_photo_scales_its_camera() -> None:
    size = {"ExifImageWidth": 4000, "ExifImageHeight": 3000}
    tags = read_tags(jpeg(tags=plane_tags(4, 500, **size)))
    assert tags.camera is not None
    assert tags.camera.fx_px == pytest.approx(400)
    assert "resized from 4000 × 3000" in tags.notes[0]


def test_cropped_photo_has_no_camera() -> None:
    size = {"ExifImageWidth": 400, "ExifImageHeight": 400}
    tags = read_tags(jpeg(tags=plane_tags(4, 50, **size)))
    assert tags.camera is None
    assert tags.camera_source == ""
    assert "400 × 400" in tags.notes[0]
    assert "400 × 300" in tags.notes[0]


def test_calibration_of_another_size_is_not_used() -> None:
    values = {
        "CalibratedFocalLength": "3666",
        "CalibratedOpticalCenterX": "2736",
        "CalibratedOpticalCenterY": "1824",
    }
    tags = read_tags(jpeg(xmp=xmp_attributes(values)))
    assert tags.camera is None
    assert "another picture size" in tags.notes[0]


@pytest.mark.parametrize("value", ["0", "-380", "nan", "inf", "much", "3", "1e9"])
def test_absurd_calibration_is_noted_and_not_used(value: str) -> None:
    tags = read_tags(jpeg(xmp=xmp_attributes({"CalibratedFocalLength": value})))
    assert tags.camera is None
    assert "CalibratedFocalLength is not a usable focal length" in tags.notes[0]


@pytest.mark.parametrize("focal_mm", [IFDRational(0, 1), IFDRational(1, 0), IFDRational(0, 0)])
def test_absurd_focal_length_is_noted_and_the_next_source_used(focal_mm: IFDRational) -> None:
    tags = plane_tags(4, 50, FocalLength=focal_mm, FocalLengthIn35mmFilm=24)
    tags_read = read_tags(jpeg(tags=tags))
    assert tags_read.camera_source == "FocalLengthIn35mmFilm"
    assert "FocalLength with FocalPlaneXResolution is not a usable focal length" in tags_read.notes[0]


def test_zero_equivalent_focal_length_means_unknown() -> None:
    tags = read_tags(jpeg(tags=exif(photo={TAG.FocalLengthIn35mmFilm: 0})))
    assert tags.camera is None


def test_focal_length_without_a_pixel_size_is_not_enough() -> None:
    tags = read_tags(jpeg(tags=exif(photo={TAG.FocalLength: rational(8.8)})))
    assert tags.camera is None
    assert "8.8 mm" in tags.notes[0]


def test_photo_without_tags_has_notes() -> None:
    tags = read_tags(encoded(Image.fromarray(corners(40, 30)), "PNG"))
    assert tags == PhotoTags(width_px=40, height_px=30, notes=(NOTHING,))


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_turns_pixels_and_camera_together(orientation: int, kind: str) -> None:
    upright = corners(400, 300)
    photo = encoded(
        Image.fromarray(stored(upright, orientation)),
        kind,
        exif=exif(
            {TAG.Orientation: orientation},
            photo={
                TAG.FocalLength: rational(8),
                TAG.FocalPlaneXResolution: rational(60 if orientation < 5 else 50),
                TAG.FocalPlaneYResolution: rational(50 if orientation < 5 else 60),
                TAG.FocalPlaneResolutionUnit: 4,
            },
        ),
        quality=95 if kind != "TIFF" else None,
    )
    decoded, tags = decode(photo, max_pixels=10**6), read_tags(photo)
    assert np.abs(decoded[20::40, 20::40].astype(int) - upright[20::40, 20::40]).max() < 20
    assert tags.orientation == orientation
    assert (tags.width_px, tags.height_px) == (400, 300)
    assert tags.camera == Camera(400, 300, 480.0, 400.0)


def stored(upright: np.ndarray, orientation: int) -> np.ndarray:
    """The pixels a camera stores, from the EXIF definition of where row 0 and column 0 are in the picture."""
    turned = upright.transpose(1, 0, 2) if orientation >= 5 else upright
    flip_rows = orientation in (3, 4, 6, 7)  # row 0 is the picture's bottom (3, 4) or right side (6, 7)
    flip_columns = orientation in (2, 3, 7, 8)  # column 0 is its right side (2, 3) or bottom (7, 8)
    return np.ascontiguousarray(turned[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1])


def test_meaningless_orientation_counts_as_upright() -> None:
    photo = jpeg((40, 30), tags=exif({TAG.Orientation: 9}))
    assert decode(photo, max_pixels=10**6).shape == (30, 40, 3)
    assert "Orientation is 9" in read_tags(photo).notes[0]


@pytest.mark.parametrize("write", [xmp_attributes, xmp_elements])
@pytest.mark.parametrize("maker", ["Gimbal", "Camera"])
def test_pose_of_several_makers(write, maker: str) -> None:
    angles = {f"{maker}YawDegree": "-12.50", f"{maker}PitchDegree": "-89.90", f"{maker}RollDegree": "+0.00"}
    tags = read_tags(jpeg(xmp=write({"RelativeAltitude": "+123.40", **angles}, prefix="d")))
    assert tags.relative_altitude_m == 123.40
    assert (tags.gimbal_yaw_deg, tags.gimbal_pitch_deg) == (-12.5, -89.9)
    assert tags.heading_deg == 347.5


def test_rolled_over_gimbal_still_gives_the_heading() -> None:
    angles = {"GimbalYawDegree": "-170", "GimbalPitchDegree": "-90", "GimbalRollDegree": "180"}
    assert read_tags(jpeg(xmp=xmp_attributes(angles))).heading_deg == pytest.approx(10)


def test_all_zero_gimbal_is_missing() -> None:
    angles = {f"Gimbal{axis}Degree": "+0.00" for axis in ("Yaw", "Pitch", "Roll")}
    tags = read_tags(jpeg(xmp=xmp_attributes(angles)))
    assert tags.gimbal_yaw_deg is None
    assert tags.gimbal_pitch_deg is None
    assert tags.heading_deg is None
    assert any("all zero" in note for note in tags.notes)


def test_flight_yaw_is_not_the_camera_s() -> None:
    assert read_tags(jpeg(xmp=xmp_attributes({"FlightYawDegree": "45"}))).gimbal_yaw_deg is None


def test_altitude_that_is_no_number_is_noted() -> None:
    tags = read_tags(jpeg(xmp=xmp_attributes({"RelativeAltitude": "high"})))
    assert tags.relative_altitude_m is None
    assert "RelativeAltitude is 'high'" in tags.notes[0]


def test_garbage_xmp_is_noted_and_exif_still_read() -> None:
    tags = read_tags(jpeg(xmp=b"<x:xmpmeta <<<", tags=exif(photo={TAG.FocalLengthIn35mmFilm: 24})))
    assert tags.camera is not None
    assert "XMP block is damaged" in tags.notes[0]


def test_xml_bomb_is_refused() -> None:
    bomb = b'<!DOCTYPE b [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><b CalibratedFocalLength="380">&b;</b>'
    tags = read_tags(jpeg(xmp=bomb))
    assert tags.camera is None
    assert "unsafe (EntitiesForbidden)" in tags.notes[0]


def test_damaged_exif_costs_the_tags_and_not_the_photo() -> None:
    whole = jpeg(tags=exif(photo={TAG.FocalLengthIn35mmFilm: 24}))
    start = whole.index(b"Exif\0\0") + 6
    damaged = whole[:start] + b"\xff" * 16 + whole[start + 16 :]
    assert read_tags(damaged).camera is None
    assert decode(damaged, max_pixels=10**6).shape == (300, 400, 3)


def test_gps_position() -> None:
    gps = {
        ExifTags.GPS.GPSLatitudeRef: "S",
        ExifTags.GPS.GPSLatitude: (rational(1), rational(30), rational(36)),
        ExifTags.GPS.GPSLongitudeRef: "E",
        ExifTags.GPS.GPSLongitude: (rational(115), rational(3), rational(0)),
    }
    assert read_tags(jpeg(tags=exif(gps=gps))).lonlat == pytest.approx((115.05, -1.51))


def test_gps_at_null_island_is_no_place() -> None:
    zero = (rational(0), rational(0), rational(0))
    tags = read_tags(jpeg(tags=exif(gps={ExifTags.GPS.GPSLatitude: zero, ExifTags.GPS.GPSLongitude: zero})))
    assert tags.lonlat is None
    assert "no place a drone flies" in tags.notes[0]


@pytest.mark.parametrize("focal", [(371.23456, 402.98765), (399.999, 399.999), (1234.5678, 1234.5678)])
def test_written_camera_is_read_back_to_a_hundred_thousandth(focal: tuple[float, float]) -> None:
    camera = Camera(400, 300, *focal)
    tags = read_tags(encode_jpeg(corners(400, 300), camera, quality=95))
    assert tags.camera is not None
    assert tags.camera.fx_px == pytest.approx(camera.fx_px, rel=1e-5)
    assert tags.camera.fy_px == pytest.approx(camera.fy_px, rel=1e-5)
    assert tags.notes == ()


def test_pose_is_written_only_on_request() -> None:
    tags = read_tags(encode_jpeg(corners(400, 300), Camera(400, 300, 400.0, 400.0), quality=95))
    assert (tags.lonlat, tags.relative_altitude_m, tags.heading_deg) == (None, None, None)


@pytest.mark.parametrize("tilt_deg", [0.0, 5.0])
def test_written_pose_is_read_back(tilt_deg: float) -> None:
    view = View(Point(500_100.0, 4_649_776.0, 32633), 250.0, 222.5, tilt_deg, 90.0)
    tags = read_tags(encode_jpeg(corners(400, 300), Camera(400, 300, 400.0, 400.0), quality=95, pose=view))
    assert tags.lonlat is not None
    # The drone is behind the frame centre by h·tan(tilt), here to the west.
    drone = view.center.moved(-250 * math.tan(math.radians(tilt_deg)), 0)
    assert Point.from_lonlat(*tags.lonlat).distance_m(drone) < 0.001
    assert tags.relative_altitude_m == 250
    assert tags.gimbal_pitch_deg == tilt_deg - 90
    assert tags.heading_deg == pytest.approx(222.5, abs=1e-3)


def tags_of(width_px: int, height_px: int, camera: Camera | None = None) -> PhotoTags:
    return PhotoTags(
        width_px=width_px, height_px=height_px, camera=camera, camera_source="EXIF", notes=("n",)
    )


def test_explicit_camera_wins_and_is_scaled_to_the_photo() -> None:
    own = Camera(1024, 768, 999.0, 999.0)
    chosen = choose_camera(tags_of(1024, 768, own), explicit=DEFAULT_CAMERA, nominal=own)
    assert chosen.camera == Camera(1024, 768, 600.0, 600.0)
    assert chosen.warnings == ()


def test_own_camera_comes_before_the_nominal_one() -> None:
    own = Camera(1024, 768, 999.0, 999.0)
    chosen = choose_camera(tags_of(1024, 768, own), explicit=None, nominal=DEFAULT_CAMERA)
    assert (chosen.camera, chosen.source) == (own, "EXIF")


def test_nominal_camera_comes_with_a_warning() -> None:
    chosen = choose_camera(tags_of(1025, 768), explicit=None, nominal=DEFAULT_CAMERA)
    assert chosen.source == "nominal"
    assert DEFAULT_CAMERA.spec in chosen.warnings[-1]


@pytest.mark.parametrize("explicit", [DEFAULT_CAMERA, None])
def test_camera_of_another_shape_is_refused_with_both_sizes(explicit: Camera | None) -> None:
    with pytest.raises(InputError, match="photo 1000x1000, camera 2048x1536@1200") as caught:
        choose_camera(tags_of(1000, 1000), explicit=explicit, nominal=DEFAULT_CAMERA)
    assert caught.value.code == "camera.invalid"


def test_no_camera_at_all_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        choose_camera(tags_of(1000, 1000), explicit=None, nominal=None)
    assert caught.value.code == "camera.unknown"
