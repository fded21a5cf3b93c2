"""A photo registered against the map: the true view comes back in metres, and no other place is confirmed."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Hypothesis, View
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import Registration
from nadirfix.verify.result import verified_places
from nadirfix.verify.search import HypothesisStage, VerificationResult, verify_hypotheses
from tests.places import CAMERA, other_place, photo_from, place, view_of

OPTIONS = VerifyOptions()


def registered(pixels: np.ndarray, detector: Detector, *, ground: Texture | None = None) -> Registration:
    return Registration(pixels, CAMERA, texture=ground or place(), detector=detector, options=OPTIONS.match)


def displaced(
    view: View, *, east_m: float = 18.0, north_m: float = -15.0, turn: float = 11.0, scale: float = 1.1
) -> View:
    return View(view.center.moved(east_m, north_m), view.altitude_m * scale, view.heading_deg + turn)


def turn_deg(a: View, b: View) -> float:
    return abs((a.heading_deg - b.heading_deg + 180) % 360 - 180)


def verified(
    pixels: np.ndarray, detector: Detector, *views: View, ground: Texture | None = None
) -> VerificationResult:
    stage = HypothesisStage([Hypothesis(view, 1.0) for view in views])
    return verify_hypotheses([stage], registered(pixels, detector, ground=ground), OPTIONS)


@pytest.mark.parametrize(("altitude_m", "scale"), [(110.0, 0.9), (150.0, 1.1), (230.0, 0.88)])
def test_a_displaced_hypothesis_leads_to_the_true_view(
    detector: Detector, altitude_m: float, scale: float
) -> None:
    """Within 1 m, 0.2° and 0.3 % from 23 m, 11° and up to 12 % away."""
    true = view_of(place(), altitude_m=altitude_m)
    registration = registered(photo_from(place(), true), detector)
    found = registration.match_finer(registration.match(displaced(true, scale=scale))).view
    assert found.center.distance_m(true.center) < 1.0
    assert turn_deg(found, true) < 0.2
    assert found.altitude_m == pytest.approx(true.altitude_m, rel=0.003)


def test_a_photo_of_another_date_is_placed_within_two_metres(standard: Detector) -> None:
    true = view_of(place(), altitude_m=180.0, heading_deg=250.0)
    result = verified(photo_from(place("new"), true), standard, displaced(true))
    assert result.confirmed is not None
    assert result.confirmed.view.center.distance_m(true.center) < 2.0


def test_a_tilted_camera_is_noticed(detector: Detector) -> None:
    true = view_of(place(), altitude_m=160.0, tilt_deg=5.0, tilt_toward_deg=120.0)
    result = verified(photo_from(place(), true), detector, displaced(view_of(place(), altitude_m=160.0)))
    assert result.confirmed is not None
    found = result.confirmed.view
    assert found.center.distance_m(true.center) < 1.0
    assert found.tilt_deg == pytest.approx(5.0, abs=1.0)


def test_another_camera_and_pixels_that_are_not_square(sift: Detector) -> None:
    camera = Camera(700, 500, 380.0, 430.0)
    true = view_of(place(), altitude_m=140.0, heading_deg=300.0)
    pixels = place().render(true, camera).pixels
    registration = Registration(pixels, camera, texture=place(), detector=sift, options=OPTIONS.match)
    found = registration.match_finer(registration.match(displaced(true))).view
    assert found.center.distance_m(true.center) < 1.0
    assert found.altitude_m == pytest.approx(true.altitude_m, rel=0.005)


def test_the_map_of_another_place_confirms_nothing(detector: Detector) -> None:
    true = view_of(place())
    views = [displaced(true, turn=t) for t in (0.0, 90.0, 180.0, 270.0)]
    result = verified(photo_from(place(), true), detector, *views, ground=other_place())
    assert result.confirmed is None
    assert "confirms none of 4 places" in str(result.reason)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_an_empty_photo_is_refused_for_its_lack_of_texture(detector: Detector, level: int) -> None:
    plain = np.full((CAMERA.height_px, CAMERA.width_px, 3), level, np.uint8)
    result = verified(plain, detector, view_of(place()))
    assert result.confirmed is None
    assert "too little texture" in str(result.reason)


def test_noise_is_refused(detector: Detector) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (CAMERA.height_px, CAMERA.width_px, 3), np.uint8)
    assert verified(noise, detector, view_of(place()), view_of(place(), heading_deg=220.0)).confirmed is None


def test_a_hypothesis_off_the_map_is_matched_without_harm(detector: Detector) -> None:
    true = view_of(place())
    photo = photo_from(place(), true)
    result = verified(photo, detector, view_of(place(), east_m=5000.0), displaced(true))
    assert result.confirmed is not None
    assert result.confirmed.view.center.distance_m(true.center) < 1.0
    assert verified(photo, detector, view_of(place(), east_m=5000.0)).confirmed is None


def test_the_first_hypothesis_the_map_confirms_ends_the_search(sift: Detector) -> None:
    true = view_of(place())
    wrong = [view_of(place(), east_m=e, north_m=150.0, heading_deg=200.0) for e in (-150.0, 150.0, 100.0)]
    result = verified(photo_from(place(), true), sift, wrong[0], displaced(true), *wrong[1:])
    assert result.confirmed is not None
    assert len(result.results) == 2


def test_two_equal_places_are_both_reported_and_neither_is_chosen(detector: Detector) -> None:
    """The same square of ground twice on one map, side by side."""
    square = place().planes[0].read((300, 700), (300, 700))[0]
    west, _, _, north = place().bounds
    twice = Texture.from_array(
        np.hstack([square, square]), None, affine=(0.5, 0, west, 0, -0.5, north), epsg=32633
    )
    left = View(twice.center.moved(-100.0, 0.0), 100.0, 10.0)
    right = View(left.center.moved(200.0, 0.0), 100.0, 10.0)
    photo = photo_from(twice, left)
    result = verified(photo, detector, right, left, ground=twice)
    assert result.confirmed is None
    assert "two places 200 m apart look alike" in str(result.reason)
    found = [place.view.center for place in verified_places(result, OPTIONS)]
    for true in (left.center, right.center):
        assert min(true.distance_m(p) for p in found) < 1.0


def test_near_duplicates_are_matched_once(sift: Detector) -> None:
    photo = photo_from(other_place(), view_of(other_place()))
    near = [view_of(place(), east_m=float(e), heading_deg=40.0 + e) for e in range(6)]
    assert len(verified(photo, sift, *near).results) == 1


def test_equal_registrations_are_equal(detector: Detector) -> None:
    true = view_of(place())
    photo = photo_from(place(), true)
    one, two = (verified(photo, detector, displaced(true)).confirmed for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.view == two.view
