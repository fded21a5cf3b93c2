"""Residuals of a view are what the homography of its camera gives, and the Jacobian is their differences."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.types import Point, View
from nadirfix.verify.jacobian import Residuals

CAMERA = Camera(448, 336, 350.0, 340.0)
ORIGIN = Point(500_000.0, 5_000_000.0, 32633)
AT = np.array([3.0, -4.0, 0.05, 0.02, 0.01, -0.02])
STEPS = np.array([1e-2, 1e-2, 1e-5, 1e-5, 1e-5, 1e-5])


def example(tilt_deg: float) -> tuple[Residuals, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(7)
    photo_px = draw.uniform(0, 1, (40, 2)) * [448, 336]
    ground_m = draw.uniform(-100, 100, (40, 2))
    view = View(ORIGIN.moved(100.0, 50.0), 300.0, 77.0, tilt_deg, 200.0)
    return Residuals(photo_px, ground_m, ORIGIN, CAMERA, view), photo_px, ground_m


@pytest.mark.parametrize("tilt_deg", [0.0, 3.0, 20.0, 44.0])
def test_residuals_are_the_camera_s_homography(tilt_deg: float) -> None:
    residuals, photo_px, ground_m = example(tilt_deg)
    view = residuals.view(AT)
    east, north = project(ground_from_pixel(view, CAMERA, (448, 336)), photo_px[:, 0], photo_px[:, 1])
    here = view.center.east_m - ORIGIN.east_m, view.center.north_m - ORIGIN.north_m
    expected = np.stack([east + here[0], north + here[1]]) - ground_m.T
    np.testing.assert_allclose(residuals(AT), expected, atol=1e-6)
    np.testing.assert_allclose(residuals.with_jacobian(AT)[0], expected, atol=1e-6)


@pytest.mark.parametrize("tilt_deg", [0.0, 3.0, 20.0])
@pytest.mark.parametrize("number", range(6))
def test_jacobian_is_what_a_small_change_changes(tilt_deg: float, number: int) -> None:
    residuals, _, _ = example(tilt_deg)
    step = np.where(np.arange(6) == number, STEPS, 0.0)
    expected = (residuals(AT + step) - residuals(AT - step)) / (2 * STEPS[number])
    _, jacobian = residuals.with_jacobian(AT)
    np.testing.assert_allclose(jacobian[number], expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (0.003, -0.004), (-0.00705, 0.00707), (0.00708, 0.00708)])
@pytest.mark.parametrize("number", [3, 4, 5])
def test_jacobian_of_a_camera_that_is_hardly_tilted(tilt: tuple[float, float], number: int) -> None:
    residuals, _, _ = example(0.0)
    at = np.array([3.0, -4.0, 0.05, 0.02, *tilt])
    step = np.where(np.arange(6) == number, STEPS, 0.0)
    expected = (residuals(at + step) - residuals(at - step)) / (2 * STEPS[number])
    np.testing.assert_allclose(residuals.with_jacobian(at)[1][number], expected, rtol=1e-6, atol=1e-4)


def test_a_tilt_beyond_belief_stays() -> None:
    residuals, photo_px, ground_m = example(58.0)
    far = np.array([0.0, 0.0, 0.0, 0.0, -0.2, -0.5])
    assert residuals.view(far).tilt_deg == pytest.approx(59.0)
    view = residuals.view(far)
    east, north = project(ground_from_pixel(view, CAMERA, (448, 336)), photo_px[:, 0], photo_px[:, 1])
    np.testing.assert_allclose(residuals(far), np.stack([east + 100, north + 50]) - ground_m.T, atol=1e-6)


def test_an_altitude_beyond_belief_stays_and_has_no_gradient() -> None:
    residuals, _, _ = example(0.0)
    far = np.array([0.0, 0.0, 1.5, 0.0, 0.0, 0.0])
    assert residuals.view(far).altitude_m == pytest.approx(300 * np.e)
    assert not residuals.with_jacobian(far)[1][2].any()
