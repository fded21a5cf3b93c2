"""What an answer says of itself: which places were confirmed, how sure, and what no longer holds."""

from __future__ import annotations

import numpy as np

from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Fix, Point, View
from nadirfix.verify.features import Detector
from nadirfix.verify.pose import FittedView
from nadirfix.verify.registration import Comparison, Sighting
from nadirfix.verify.result import verified_fix
from nadirfix.verify.search import Verdict
from tests.places import CAMERA, photo_from, place, view_of

OPTIONS = VerifyOptions()
HERE = Point(500_000.0, 5_400_000.0, 32633)
BEFORE = Fix(photo="p.jpg", status="fix", position=HERE, altitude_m=200.0)


def sighting(east_m: float, parts: int) -> Sighting:
    """A place this far east with agreeing points in so many parts of the frame."""
    view = View(HERE.moved(east_m, 0.0), 200.0, 30.0)
    spot = np.arange(parts)
    share = np.stack([(spot % 12 + 0.5) / 12, (spot // 12 + 0.5) / 9], axis=1)
    fitted = FittedView(view, np.ones(parts), np.eye(6) * 1e-4)
    return Sighting(view, 100, fitted, share, np.zeros((parts, 2)), 0.5)


def told(*sightings: Sighting, reason: str | None = None) -> Fix:
    return verified_fix(BEFORE, Verdict(sightings, reason), CAMERA, options=OPTIONS)


def test_only_the_place_the_map_confirms_is_verified() -> None:
    fix = told(sighting(0.0, 60), sighting(700.0, 5))
    assert (fix.status, fix.verified) == ("fix", True)
    assert [other.verified for other in fix.hypotheses] == [False]
    refused = told(sighting(0.0, 6), sighting(700.0, 5), reason="the map confirms none")
    assert [other.verified for other in refused.hypotheses] == [False, False]


def test_other_places_are_not_the_answer_s_own() -> None:
    """Sightings from several hypotheses that led to one place are one place."""
    fix = told(sighting(0.0, 60), sighting(0.5, 40), sighting(-3.0, 20), sighting(700.0, 5))
    assert [other.position for other in fix.hypotheses] == [HERE.moved(700.0, 0.0)]


def test_both_of_two_equal_places_are_told_however_often_one_was_seen() -> None:
    often = [sighting(float(i), 60 - i) for i in range(OPTIONS.told)]
    refused = told(*often, sighting(700.0, 50), reason="two places look alike")
    assert [p.position for p in refused.hypotheses] == [HERE, HERE.moved(700.0, 0.0)]
    assert refused.confidence is not None and refused.confidence <= 0.5, "either of them may be it"


def test_corners_of_a_leaning_frame_are_those_the_camera_sees() -> None:
    view = View(HERE, 300.0, 75.0, 6.0, 200.0)
    fix = Fix(
        photo="", status="fix", position=HERE, altitude_m=300.0, heading_deg=75.0,
        footprint_m=CAMERA.footprint_m(300.0), tilt_deg=6.0, tilt_toward_deg=200.0,
    )  # fmt: skip
    wide, high = float(CAMERA.width_px), float(CAMERA.height_px)
    u, v = np.array([0.0, 0.0, wide, wide]), np.array([0.0, high, high, 0.0])
    east, north = project(ground_from_pixel(view, CAMERA, (CAMERA.width_px, CAMERA.height_px)), u, v)
    corners = [Point.from_lonlat(*corner, epsg=32633) for corner in fix.to_dict()["footprint"]]
    for corner, e, n in zip(corners, east, north, strict=True):
        assert corner.distance_m(HERE.moved(float(e), float(n))) < 0.01


def test_a_photo_from_hand_height_does_not_ask_for_acres_of_map(sift: Detector) -> None:
    """Looked at around 35 m at the photo's own scale it would be a window of thousands of pixels a side."""
    asked: list[tuple[int, ...]] = []

    def watched(grey: np.ndarray, valid: np.ndarray | None = None):
        asked.append(grey.shape)
        return sift(grey, valid)

    photo = photo_from(place(), view_of(place()))
    compare = Comparison(photo, CAMERA, texture=place(), detector=watched, options=OPTIONS)
    assert compare.first_look(view_of(place(), altitude_m=0.3)).fitted is None
    assert max(max(shape) for shape in asked) <= 3 * OPTIONS.width_px
