"""From points to a view: the true one comes back, and its covariance is the spread over many trials."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.options_verify import TrustOptions, VerifyOptions
from nadirfix.types import Point, View
from nadirfix.verify.compare import Sighting
from nadirfix.verify.pose import FittedView, aircraft_of, fit_view, view_from_homography
from nadirfix.verify.trust import aircraft_covariance_m2, centre_covariance_m2, radius95_m

CAMERA = Camera(512, 384, 300.0, 300.0)
SIZE = (CAMERA.width_px, CAMERA.height_px)
ORIGIN = Point(500_000.0, 5_400_000.0, 32633)
OPTIONS = VerifyOptions()


def view(**more: float) -> View:
    known = {"altitude_m": 220.0, "heading_deg": 73.0, **more}
    return View(ORIGIN.moved(12.0, -7.0), **known)


def pixels(count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform([0, 0], SIZE, (count, 2))


def places(of: View, points_px: np.ndarray) -> np.ndarray:
    """Where pixels look, in metres from the origin."""
    east, north = project(ground_from_pixel(of, CAMERA, SIZE), points_px[:, 0], points_px[:, 1])
    away = [of.center.east_m - ORIGIN.east_m, of.center.north_m - ORIGIN.north_m]
    return np.stack([east, north], axis=1) + away


def fitted(points_px: np.ndarray, places_m: np.ndarray, start: View, **changed: float) -> FittedView:
    options = VerifyOptions(**changed) if changed else OPTIONS
    return fit_view(points_px, places_m, ORIGIN, camera=CAMERA, start=start, options=options)


def turn_deg(a: View, b: View) -> float:
    return abs((a.heading_deg - b.heading_deg + 180) % 360 - 180)


@pytest.mark.parametrize("heading_deg", [0.0, 73.0, 181.0, 359.0])
def test_an_upright_homography_is_its_view(heading_deg: float) -> None:
    true = view(heading_deg=heading_deg)
    shift = np.eye(3)
    shift[:2, 2] = true.center.east_m - ORIGIN.east_m, true.center.north_m - ORIGIN.north_m
    found = view_from_homography(shift @ ground_from_pixel(true, CAMERA, SIZE), CAMERA, ORIGIN)
    assert found.center.distance_m(true.center) < 1e-6
    assert found.altitude_m == pytest.approx(true.altitude_m, rel=1e-9)
    assert turn_deg(found, true) < 1e-6


def test_exact_points_give_the_exact_view_from_a_start_that_is_off() -> None:
    true, rng = view(), np.random.default_rng(0)
    start = View(true.center.moved(8.0, 5.0), 240.0, 80.0)
    points = pixels(60, rng)
    found = fitted(points, places(true, points), start)
    assert found.view.center.distance_m(true.center) < 1e-3
    assert found.view.altitude_m == pytest.approx(true.altitude_m, rel=1e-5)
    assert turn_deg(found.view, true) < 1e-3
    assert found.residual_m.max() < 1e-3


def test_a_lean_that_many_points_ask_for_is_found_and_moves_the_aircraft() -> None:
    true, rng = view(tilt_deg=6.0, tilt_toward_deg=200.0), np.random.default_rng(1)
    points = pixels(300, rng)
    found = fitted(points, places(true, points), view()).view
    assert found.tilt_deg == pytest.approx(6.0, abs=0.05)
    assert found.tilt_toward_deg == pytest.approx(200.0, abs=0.5)
    assert found.center.distance_m(true.center) < 0.05
    away_m = 220.0 * np.tan(np.radians(6.0))
    assert aircraft_of(true).distance_m(true.center) == pytest.approx(away_m)
    assert aircraft_of(found).distance_m(aircraft_of(true)) < 0.5


def test_few_noisy_points_do_not_make_a_lean() -> None:
    rng, tilts = np.random.default_rng(2), []
    for _ in range(20):
        points = pixels(10, rng)
        seen = places(view(), points) + rng.normal(0, 12.0, (10, 2))
        both = [fitted(points, seen, view(), tilt_sigma_deg=sigma).view.tilt_deg for sigma in (0.7, 45.0)]
        tilts.append(both)
    upright, free = np.median(tilts, axis=0)
    assert 2 * upright < free


def test_outliers_do_not_pull_the_view_away() -> None:
    true, rng = view(), np.random.default_rng(3)
    points = pixels(80, rng)
    seen = places(true, points) + rng.normal(0, 0.3, (80, 2))
    seen[:8] += rng.uniform(5, 9, (8, 2))
    assert fitted(points, seen, true).view.center.distance_m(true.center) < 0.25


@pytest.mark.parametrize("kind", ["one spot", "a line", "nonsense"])
def test_points_that_say_little_are_fitted_without_harm(kind: str) -> None:
    rng = np.random.default_rng(8)
    points = {
        "one spot": np.full((5, 2), 100.0),
        "a line": np.linspace(0, 1, 20)[:, None] * SIZE,
        "nonsense": pixels(12, rng),
    }[kind]
    seen = places(view(), points) if kind != "nonsense" else rng.uniform(-400, 400, (12, 2))
    found = fitted(points, seen, View(view().center.moved(3.0, 2.0), 225.0, 75.0))
    assert np.isfinite(found.covariance).all()
    assert np.isfinite(found.residual_m).all()
    if kind == "one spot":
        assert found.covariance[2, 2] > 0.1, "one spot says nothing about altitude"


@pytest.mark.parametrize("count", [30, 150])
def test_covariance_is_what_many_trials_show(count: int) -> None:
    true, rng = view(), np.random.default_rng(count)
    centres, told = [], []
    for _ in range(150):
        points = pixels(count, rng)
        found = fitted(points, places(true, points) + rng.normal(0, 1.0, (count, 2)), true)
        centres.append([found.view.center.east_m, found.view.center.north_m])
        told.append(found.covariance[:2, :2])
    shown = np.cov(np.array(centres).T)
    ratio = np.sqrt(np.trace(np.mean(told, axis=0)) / np.trace(shown))
    assert 0.85 < ratio < 1.5


def test_points_that_err_together_make_the_view_less_sure_than_their_number_says() -> None:
    """Half of the frame displaced by a metre: that many points, and still metres of doubt."""
    true, rng = view(), np.random.default_rng(5)
    points = pixels(400, rng)
    alone = places(true, points) + rng.normal(0, 1.0, (400, 2))
    corner = (points // (np.array(SIZE) / 4)).astype(int)
    together = places(true, points) + rng.normal(0, 1.0, (4, 4, 2))[corner[:, 0], corner[:, 1]]
    sure = [np.sqrt(np.trace(fitted(points, seen, true).covariance[:2, :2])) for seen in (alone, together)]
    assert sure[1] > 2 * sure[0]


def test_radius_holds_95_of_100_draws() -> None:
    rng = np.random.default_rng(6)
    for covariance in (np.eye(2), np.array([[9.0, 2.0], [2.0, 1.0]]), np.diag([4.0, 1e-6])):
        draws = rng.multivariate_normal([0, 0], covariance, 200_000)
        inside = np.mean(np.hypot(*draws.T) <= radius95_m(covariance))
        assert inside == pytest.approx(0.95, abs=0.004)


def test_radius_never_ends_at_nothing_and_the_aircraft_is_less_sure_than_the_frame_centre() -> None:
    points = pixels(200, np.random.default_rng(7))
    exact = fitted(points, places(view(), points), view())
    sighting = Sighting(view(), 200, exact, points / SIZE, places(view(), points), gsd_m=0.7)
    trust = TrustOptions()
    centre_m2 = centre_covariance_m2(sighting, trust, map_gsd_m=0.5)
    assert radius95_m(centre_m2) > 0.5
    assert radius95_m(aircraft_covariance_m2(sighting, centre_m2, trust)) > radius95_m(centre_m2)


def test_points_that_err_alone_say_nothing_of_a_warp() -> None:
    rng = np.random.default_rng(5)
    seen = [_together(rng, warp_m=0.0) for _ in range(20)]
    assert np.median(seen) < 0.06, "0.3 m of scatter over 300 points"


@pytest.mark.parametrize("warp_m", [0.5, 1.5])
def test_a_warp_is_told_by_points_that_err_together(warp_m: float) -> None:
    """Waves of half a frame: what a fit of one view cannot follow is left in the means of blocks."""
    rng = np.random.default_rng(6)
    seen = [_together(rng, warp_m=warp_m) for _ in range(20)]
    assert 0.4 * warp_m < np.median(seen) < 1.0 * warp_m


def _together(rng: np.random.Generator, *, warp_m: float) -> float:
    points = pixels(300, rng)
    phase = rng.uniform(0, 2 * np.pi, 2)
    waves = np.cos(2 * np.pi * points[:, ::-1] / (np.array(SIZE[::-1]) / 2) + phase)
    seen = places(view(), points) + rng.normal(0, 0.3, (300, 2)) + warp_m * np.sqrt(2) * waves
    return fitted(points, seen, view()).together_m


def test_a_warp_widens_the_radius() -> None:
    still, warped = (
        Sighting(view(), 50, FittedView(view(), np.ones(40), np.eye(6) * 1e-4, together_m))
        for together_m in (0.0, 2.0)
    )
    trust = TrustOptions(warp=1.5)
    wider = centre_covariance_m2(warped, trust, map_gsd_m=0.5) - centre_covariance_m2(
        still, trust, map_gsd_m=0.5
    )
    np.testing.assert_allclose(wider, (1.5 * 2.0) ** 2 * np.eye(2))
