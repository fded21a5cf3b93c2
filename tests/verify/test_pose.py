"""From points to a view: the true one comes back, and its covariance is the spread over many trials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Point, View
from nadirfix.verify.calibration import aircraft_covariance_m2, centre_covariance_m2, radius95_m, uncovered_m
from nadirfix.verify.pose import (
    FittedView,
    aircraft_of,
    fit_view,
    ground_residuals_m,
    solve_view,
    view_from_homography,
)
from nadirfix.verify.registration import MatchResult
from nadirfix.verify.tilt import TiltPrior

CAMERA = Camera(512, 384, 300.0, 300.0)
SIZE = (CAMERA.width_px, CAMERA.height_px)
ORIGIN = Point(500_000.0, 5_400_000.0, 32633)
OPTIONS = VerifyOptions()


def view(**more: float) -> View:
    known = {"altitude_m": 220.0, "heading_deg": 73.0, **more}
    return View(ORIGIN.moved(12.0, -7.0), **known)


def pixels(count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform([0, 0], SIZE, (count, 2))


def ground_points(of: View, keypoints_px: np.ndarray) -> np.ndarray:
    """Where pixels look, in metres from the origin."""
    east, north = project(ground_from_pixel(of, CAMERA, SIZE), keypoints_px[:, 0], keypoints_px[:, 1])
    away = [of.center.east_m - ORIGIN.east_m, of.center.north_m - ORIGIN.north_m]
    return np.stack([east, north], axis=1) + away


def fitted(
    keypoints_px: np.ndarray, places_m: np.ndarray, start: View, tilt_sigma_deg: float = 0.7
) -> FittedView:
    prior = TiltPrior(tilt_sigma_deg)
    return fit_view(keypoints_px, places_m, ORIGIN, camera=CAMERA, start=start, tilt=prior)


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


def test_points_are_chosen_by_a_view_that_has_settled() -> None:
    true, rng = view(tilt_deg=2.0), np.random.default_rng(3)
    points = pixels(80, rng)
    there = ground_points(true, points) + rng.normal(0, 0.5, (80, 2))
    there[::7] += rng.normal(0, 9.0, there[::7].shape)
    start = View(true.center.moved(30.0, -25.0), 260.0, 85.0)
    known = {"camera": CAMERA, "tilt": TiltPrior(0.7)}
    found = solve_view(points, there, ORIGIN, start=start, **known)
    again = solve_view(points, there, ORIGIN, start=found, **known)
    assert found.center.distance_m(again.center) < 0.02
    assert found.center.distance_m(fitted(points, there, start).view.center) < 1e-6


def test_exact_points_give_the_exact_view_from_a_start_that_is_off() -> None:
    true, rng = view(), np.random.default_rng(0)
    start = View(true.center.moved(8.0, 5.0), 240.0, 80.0)
    points = pixels(60, rng)
    found = fitted(points, ground_points(true, points), start)
    assert found.view.center.distance_m(true.center) < 1e-3
    assert found.view.altitude_m == pytest.approx(true.altitude_m, rel=1e-5)
    assert turn_deg(found.view, true) < 1e-3
    assert found.residual_m.max() < 1e-3


def test_a_tilt_that_many_points_support_is_found_and_moves_the_aircraft() -> None:
    true, rng = view(tilt_deg=6.0, tilt_toward_deg=200.0), np.random.default_rng(1)
    points = pixels(300, rng)
    found = fitted(points, ground_points(true, points), view()).view
    assert found.tilt_deg == pytest.approx(6.0, abs=0.05)
    assert found.tilt_toward_deg == pytest.approx(200.0, abs=0.5)
    assert found.center.distance_m(true.center) < 0.05
    away_m = 220.0 * np.tan(np.radians(6.0))
    assert aircraft_of(true).distance_m(true.center) == pytest.approx(away_m)
    assert aircraft_of(found).distance_m(aircraft_of(true)) < 0.5


def test_few_noisy_points_do_not_make_a_tilt() -> None:
    rng, tilts = np.random.default_rng(2), []
    for _ in range(20):
        points = pixels(10, rng)
        ground_m = ground_points(view(), points) + rng.normal(0, 12.0, (10, 2))
        both = [fitted(points, ground_m, view(), tilt_sigma_deg=sigma).view.tilt_deg for sigma in (0.7, 45.0)]
        tilts.append(both)
    upright, free = np.median(tilts, axis=0)
    assert 2 * upright < free


def test_outliers_do_not_pull_the_view_away() -> None:
    true, rng = view(), np.random.default_rng(3)
    points = pixels(80, rng)
    ground_m = ground_points(true, points) + rng.normal(0, 0.3, (80, 2))
    ground_m[:8] += rng.uniform(5, 9, (8, 2))
    assert fitted(points, ground_m, true).view.center.distance_m(true.center) < 0.25


@pytest.mark.parametrize("kind", ["one spot", "a line", "nonsense"])
def test_points_that_say_little_are_fitted_without_harm(kind: str) -> None:
    rng = np.random.default_rng(8)
    points = {
        "one spot": np.full((5, 2), 100.0),
        "a line": np.linspace(0, 1, 20)[:, None] * SIZE,
        "nonsense": pixels(12, rng),
    }[kind]
    ground_m = ground_points(view(), points) if kind != "nonsense" else rng.uniform(-400, 400, (12, 2))
    found = fitted(points, ground_m, View(view().center.moved(3.0, 2.0), 225.0, 75.0))
    assert np.isfinite(found.covariance).all()
    assert np.isfinite(found.residual_m).all()
    if kind == "one spot":
        assert found.covariance[2, 2] > 0.1, "one spot says nothing about altitude"


@pytest.mark.parametrize("count", [30, 150])
def test_covariance_is_what_many_trials_show(count: int) -> None:
    true, rng = view(), np.random.default_rng(count)
    centres, predicted = [], []
    for _ in range(150):
        points = pixels(count, rng)
        found = fitted(points, ground_points(true, points) + rng.normal(0, 1.0, (count, 2)), true)
        centres.append([found.view.center.east_m, found.view.center.north_m])
        predicted.append(found.covariance[:2, :2])
    observed = np.cov(np.array(centres).T)
    ratio = np.sqrt(np.trace(np.mean(predicted, axis=0)) / np.trace(observed))
    assert 0.85 < ratio < 1.5


def test_points_that_err_together_make_the_view_less_sure_than_their_number_says() -> None:
    """Half of the frame displaced by a metre: that many points, and still metres of doubt."""
    true, rng = view(), np.random.default_rng(5)
    points = pixels(400, rng)
    alone = ground_points(true, points) + rng.normal(0, 1.0, (400, 2))
    corner = (points // (np.array(SIZE) / 4)).astype(int)
    together = ground_points(true, points) + rng.normal(0, 1.0, (4, 4, 2))[corner[:, 0], corner[:, 1]]
    deviations = [
        np.sqrt(np.trace(fitted(points, ground_m, true).covariance[:2, :2])) for ground_m in (alone, together)
    ]
    assert deviations[1] > 2 * deviations[0]


def test_radius_holds_95_of_100_draws() -> None:
    rng = np.random.default_rng(6)
    for covariance in (np.eye(2), np.array([[9.0, 2.0], [2.0, 1.0]]), np.diag([4.0, 1e-6])):
        draws = rng.multivariate_normal([0, 0], covariance, 200_000)
        inside = np.mean(np.hypot(*draws.T) <= radius95_m(covariance))
        assert inside == pytest.approx(0.95, abs=0.004)


def test_radius_never_ends_at_nothing_and_the_aircraft_is_less_sure_than_the_frame_centre() -> None:
    points = pixels(200, np.random.default_rng(7))
    exact = fitted(points, ground_points(view(), points), view())
    result = MatchResult(view(), 200, exact, points / SIZE, ground_points(view(), points), gsd_m=0.7)
    centre_m2 = centre_covariance_m2(result, OPTIONS)
    assert radius95_m(centre_m2) > 0.5
    assert radius95_m(aircraft_covariance_m2(result, OPTIONS, focal_sigma=0.0)) > radius95_m(centre_m2)


def test_what_is_uncovered_is_counted_by_cells_of_the_frame() -> None:
    """Points all over the left half, compared at 0.7 m a pixel: half of three pixels."""
    points = pixels(4000, np.random.default_rng(8)) * [0.5, 1.0]
    result = MatchResult(view(), 4000, None, points / SIZE, np.zeros((4000, 2)), gsd_m=0.7)
    assert uncovered_m(result, OPTIONS) == pytest.approx(0.5 * 3.0 * 0.7)


def test_the_less_of_the_frame_is_covered_the_wider_the_radius() -> None:
    points, exact = pixels(4000, np.random.default_rng(8)), FittedView(view(), np.ones(9), np.eye(6) * 1e-4)
    half, whole = (
        centre_covariance_m2(MatchResult(view(), 9, exact, points * part / SIZE, points, gsd_m=2.0), OPTIONS)
        for part in ([0.5, 1.0], [1.0, 1.0])
    )
    calibration, apart_m = OPTIONS.calibration, 0.5 * OPTIONS.match.inlier_px * 2.0
    fit_m2, warped_m = calibration.inflate**2 * 1e-4, calibration.uncovered * apart_m
    np.testing.assert_allclose(half, (fit_m2 + warped_m**2) * np.eye(2), atol=1e-9)
    np.testing.assert_allclose(whole, (fit_m2 + calibration.floor_m**2) * np.eye(2), atol=1e-9)
    assert warped_m > calibration.floor_m, "a frame so large is surer of its floor than of its bare half"


def test_the_radius_holds_on_warped_ground_where_only_a_part_agrees() -> None:
    """Ground warped by 2 m in waves of about the frame: points off by more than three pixels are left out."""
    rng, held, held_without = np.random.default_rng(9), [], []
    without = replace(OPTIONS, calibration=replace(OPTIONS.calibration, uncovered=0.0, floor_m=0.0))
    for _ in range(60):
        result = _on_warped_ground(rng, warp_m=2.0)
        off_m = result.view.center.distance_m(view().center)
        held.append(off_m <= radius95_m(centre_covariance_m2(result, OPTIONS)))
        held_without.append(off_m <= radius95_m(centre_covariance_m2(result, without)))
    assert np.mean(held) >= 0.8
    assert np.mean(held_without) < np.mean(held) - 0.05


def _on_warped_ground(rng: np.random.Generator, *, warp_m: float) -> MatchResult:
    """What is left of 400 matches after those that are no inliers have been left out, three times."""
    points = pixels(400, rng)
    length_px, toward, phase = rng.uniform(0.7, 2.0, 6) * SIZE[0], rng.uniform(0, 7, 6), rng.uniform(0, 7, 6)
    along = np.outer(points[:, 0], np.cos(toward)) + np.outer(points[:, 1], np.sin(toward))
    waves = np.cos(2 * np.pi * along / length_px + phase) @ rng.normal(0, 1, (6, 2)) / np.sqrt(3)
    ground_m = ground_points(view(), points) + rng.normal(0, 0.3, (400, 2)) + warp_m * waves
    start, agree, reach_m = (
        view(),
        np.ones(400, bool),
        OPTIONS.match.inlier_px * CAMERA.gsd_m(view().altitude_m),
    )
    for _ in range(4):
        found = fitted(points[agree], ground_m[agree], start)
        off = ground_residuals_m(points, ground_m, ORIGIN, camera=CAMERA, view=found.view)
        agree = off <= max(reach_m, float(np.sort(off)[20]))
    found = fitted(points[agree], ground_m[agree], found.view)
    gsd_m = CAMERA.gsd_m(found.view.altitude_m)
    return MatchResult(view(), 400, found, points[agree] / SIZE, ground_m[agree], gsd_m)
