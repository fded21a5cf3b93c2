"""A photo held against the map: the true view comes back in metres, and no other place is confirmed."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Fix, Hypothesis, View
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import Comparison
from nadirfix.verify.result import verified_fix
from nadirfix.verify.search import Verdict, Wave, decide
from tests.places import CAMERA, other_place, photo_from, place, view_of

OPTIONS = VerifyOptions()


def comparison(pixels: np.ndarray, detector: Detector, *, ground: Texture | None = None) -> Comparison:
    return Comparison(pixels, CAMERA, texture=ground or place(), detector=detector, options=OPTIONS)


def displaced(
    view: View, *, east_m: float = 18.0, north_m: float = -15.0, turn: float = 11.0, scale: float = 1.1
) -> View:
    return View(view.center.moved(east_m, north_m), view.altitude_m * scale, view.heading_deg + turn)


def turn_deg(a: View, b: View) -> float:
    return abs((a.heading_deg - b.heading_deg + 180) % 360 - 180)


def verdict(pixels: np.ndarray, detector: Detector, *views: View, ground: Texture | None = None) -> Verdict:
    wave = Wave([Hypothesis(view, 1.0) for view in views])
    return decide([wave], comparison(pixels, detector, ground=ground), OPTIONS)


@pytest.mark.parametrize(("altitude_m", "scale"), [(110.0, 0.9), (150.0, 1.1), (230.0, 0.88)])
def test_a_displaced_hypothesis_leads_to_the_true_view(
    detector: Detector, altitude_m: float, scale: float
) -> None:
    """Within 1 m, 0.2° and 0.3 % from 23 m, 11° and up to 12 % away."""
    true = view_of(place(), altitude_m=altitude_m)
    compare = comparison(photo_from(place(), true), detector)
    found = compare.second_look(compare.first_look(displaced(true, scale=scale))).view
    assert found.center.distance_m(true.center) < 1.0
    assert turn_deg(found, true) < 0.2
    assert found.altitude_m == pytest.approx(true.altitude_m, rel=0.003)


def test_a_photo_of_another_date_is_placed_within_two_metres(xfeat: Detector) -> None:
    true = view_of(place(), altitude_m=180.0, heading_deg=250.0)
    told = verdict(photo_from(place("new"), true), xfeat, displaced(true))
    assert told.confirmed is not None
    assert told.confirmed.view.center.distance_m(true.center) < 2.0


def test_a_leaning_camera_is_noticed(detector: Detector) -> None:
    true = view_of(place(), altitude_m=160.0, tilt_deg=5.0, tilt_toward_deg=120.0)
    told = verdict(photo_from(place(), true), detector, displaced(view_of(place(), altitude_m=160.0)))
    assert told.confirmed is not None
    found = told.confirmed.view
    assert found.center.distance_m(true.center) < 1.0
    assert found.tilt_deg == pytest.approx(5.0, abs=1.0)


def test_another_camera_and_pixels_that_are_not_square(sift: Detector) -> None:
    camera = Camera(700, 500, 380.0, 430.0)
    true = view_of(place(), altitude_m=140.0, heading_deg=300.0)
    pixels = place().render(true, camera).pixels
    compare = Comparison(pixels, camera, texture=place(), detector=sift, options=OPTIONS)
    found = compare.second_look(compare.first_look(displaced(true))).view
    assert found.center.distance_m(true.center) < 1.0
    assert found.altitude_m == pytest.approx(true.altitude_m, rel=0.005)


def test_the_map_of_another_place_confirms_nothing(detector: Detector) -> None:
    true = view_of(place())
    views = [displaced(true, turn=t) for t in (0.0, 90.0, 180.0, 270.0)]
    told = verdict(photo_from(place(), true), detector, *views, ground=other_place())
    assert told.confirmed is None
    assert "confirms none of 4 places" in str(told.reason)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_an_empty_photo_is_refused_for_its_lack_of_texture(detector: Detector, level: int) -> None:
    plain = np.full((CAMERA.height_px, CAMERA.width_px, 3), level, np.uint8)
    told = verdict(plain, detector, view_of(place()))
    assert told.confirmed is None
    assert "too little texture" in str(told.reason)


def test_noise_is_refused(detector: Detector) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (CAMERA.height_px, CAMERA.width_px, 3), np.uint8)
    assert verdict(noise, detector, view_of(place()), view_of(place(), heading_deg=220.0)).confirmed is None


def test_a_hypothesis_off_the_map_is_looked_at_without_harm(detector: Detector) -> None:
    true = view_of(place())
    photo = photo_from(place(), true)
    told = verdict(photo, detector, view_of(place(), east_m=5000.0), displaced(true))
    assert told.confirmed is not None
    assert told.confirmed.view.center.distance_m(true.center) < 1.0
    assert verdict(photo, detector, view_of(place(), east_m=5000.0)).confirmed is None


def test_the_first_hypothesis_the_map_confirms_ends_the_search(sift: Detector) -> None:
    true = view_of(place())
    wrong = [view_of(place(), east_m=e, north_m=150.0, heading_deg=200.0) for e in (-150.0, 150.0, 100.0)]
    told = verdict(photo_from(place(), true), sift, wrong[0], displaced(true), *wrong[1:])
    assert told.confirmed is not None
    assert len(told.sightings) == 2


def test_two_equal_places_are_both_told_and_neither_is_chosen(detector: Detector) -> None:
    """The same square of ground twice on one map, side by side."""
    square = place().planes[0].read((300, 700), (300, 700))[0]
    west, _, _, north = place().bounds
    twice = Texture.from_array(
        np.hstack([square, square]), None, affine=(0.5, 0, west, 0, -0.5, north), epsg=32633
    )
    left = View(twice.center.moved(-100.0, 0.0), 100.0, 10.0)
    right = View(left.center.moved(200.0, 0.0), 100.0, 10.0)
    photo = photo_from(twice, left)
    told = verdict(photo, detector, right, left, ground=twice)
    assert told.confirmed is None
    assert "two places 200 m apart look alike" in str(told.reason)
    fix = Fix(photo="p", status="fix", position=left.center)
    answer = verified_fix(fix, told, CAMERA, options=OPTIONS)
    assert (answer.status, answer.position, answer.verified) == ("no_fix", None, False)
    found = [other.position for other in answer.hypotheses]
    for true in (left.center, right.center):
        assert min(true.distance_m(p) for p in found if p is not None) < 1.0


def test_alike_hypotheses_are_looked_at_once(sift: Detector) -> None:
    photo = photo_from(other_place(), view_of(other_place()))
    near = [view_of(place(), east_m=float(e), heading_deg=40.0 + e) for e in range(6)]
    assert len(verdict(photo, sift, *near).sightings) == 1


def test_the_answer_tells_what_the_map_said(sift: Detector) -> None:
    true = view_of(place())
    told = verdict(photo_from(place(), true), sift, displaced(true))
    before = Fix(photo="p.jpg", status="fix", position=displaced(true).center, altitude_m=170.0)
    fix = verified_fix(before, told, CAMERA, options=OPTIONS)
    line = fix.to_dict()
    assert (line["status"], line["verified"], line["photo"]) == ("fix", True, "p.jpg")
    assert line["radius95_m"] > fix.position.distance_m(true.center)
    assert line["radius95_m"] < 10.0
    assert 0.98 < line["confidence"] <= 1.0
    assert line["inliers"] > 30
    assert line["gsd_m"] == pytest.approx(150.0 / 600.0, rel=0.003)
    assert line["aircraft"]["radius95_m"] > line["radius95_m"]
    assert line["hypotheses"] == []


def test_equal_looks_are_equal(detector: Detector) -> None:
    true = view_of(place())
    photo = photo_from(place(), true)
    one, two = (verdict(photo, detector, displaced(true)).confirmed for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.view == two.view
