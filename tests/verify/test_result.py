"""What a verified frame covers, and how much of the map it takes to verify it."""

from __future__ import annotations

import numpy as np

from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Fix, Point, View
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import Registration
from tests.places import CAMERA, photo_from, place, view_of

OPTIONS = VerifyOptions()
HERE = Point(500_000.0, 5_400_000.0, 32633)


def test_corners_of_a_tilted_frame_are_those_the_camera_sees() -> None:
    view = View(HERE, 300.0, 75.0, 6.0, 200.0)
    fix = Fix(
        photo="", status="fix", verified=True, position=HERE, altitude_m=300.0, heading_deg=75.0,
        footprint_m=CAMERA.footprint_m(300.0), tilt_deg=6.0, tilt_toward_deg=200.0,
    )  # fmt: skip
    wide, high = float(CAMERA.width_px), float(CAMERA.height_px)
    u, v = np.array([0.0, 0.0, wide, wide]), np.array([0.0, high, high, 0.0])
    east, north = project(ground_from_pixel(view, CAMERA, (CAMERA.width_px, CAMERA.height_px)), u, v)
    corners = [Point.from_lonlat(*corner, epsg=32633) for corner in fix.to_dict()["footprint"]]
    for corner, e, n in zip(corners, east, north, strict=True):
        assert corner.distance_m(HERE.moved(float(e), float(n))) < 0.01


def test_a_photo_from_hand_height_does_not_need_acres_of_map(sift: Detector) -> None:
    """Matched around 35 m at the photo's own scale it would be a window of thousands of pixels a side."""
    sizes: list[tuple[int, ...]] = []

    def watched(grey: np.ndarray, valid: np.ndarray | None = None):
        sizes.append(grey.shape)
        return sift(grey, valid)

    photo = photo_from(place(), view_of(place()))
    registration = Registration(photo, CAMERA, texture=place(), detector=watched, options=OPTIONS.match)
    assert registration.match(view_of(place(), altitude_m=0.3)).fitted is None
    assert max(max(shape) for shape in sizes) <= 3 * OPTIONS.match.width_px
