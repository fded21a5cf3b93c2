"""A homography gives back the tilted view it was made from, and a known tilt holds whatever the heading."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.types import Point, View
from nadirfix.verify.pose import aircraft_of, fit_view
from nadirfix.verify.tilt import TiltPrior, tilted_view_from_homography

CAMERA = Camera(512, 384, 300.0, 310.0)
SIZE = CAMERA.width_px, CAMERA.height_px
ORIGIN = Point(500_000.0, 5_400_000.0, 32633)


def view(tilt_deg: float, toward_deg: float = 200.0, heading_deg: float = 73.0) -> View:
    return View(ORIGIN.moved(12.0, -7.0), 220.0, heading_deg, tilt_deg, toward_deg)


def homography(of: View) -> np.ndarray:
    shift = np.eye(3)
    shift[:2, 2] = of.center.east_m - ORIGIN.east_m, of.center.north_m - ORIGIN.north_m
    return shift @ ground_from_pixel(of, CAMERA, SIZE)


@pytest.mark.parametrize("tilt_deg", [0.5, 8.5, 30.0, 55.0])
@pytest.mark.parametrize("times", [1.0, -0.3])
def test_a_homography_is_its_tilted_view(tilt_deg: float, times: float) -> None:
    true = view(tilt_deg)
    found = tilted_view_from_homography(times * homography(true), CAMERA, ORIGIN)
    assert found is not None
    assert found.center.distance_m(true.center) < 1e-6
    assert aircraft_of(found).distance_m(aircraft_of(true)) < 1e-4
    assert found.altitude_m == pytest.approx(true.altitude_m, rel=1e-6)
    assert abs((found.heading_deg - true.heading_deg + 180) % 360 - 180) < 1e-5


def test_a_homography_that_sees_the_horizon_in_its_middle_is_no_view() -> None:
    turned = homography(view(0.0))
    turned[2] = [0.05, 0.0, 1.0 - 0.05 * 256]
    assert tilted_view_from_homography(turned, CAMERA, ORIGIN) is None


def points(of: View, count: int, noise_m: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    px = rng.uniform([0, 0], SIZE, (count, 2))
    ground_m = np.stack(project(homography(of), px[:, 0], px[:, 1]), axis=1)
    return px, ground_m + rng.normal(0, noise_m, (count, 2))


@pytest.mark.parametrize("heading_deg", [10.0, 190.0])
def test_few_noisy_points_leave_the_tilt_a_gimbal_tells(heading_deg: float) -> None:
    """Forward by 40°: eight points of 3 m each know that badly, and a start turned by 20° worse."""
    true, rng = view(40.0, heading_deg, heading_deg), np.random.default_rng(4)
    px, ground_m = points(true, 8, 3.0, rng)
    start = View(true.center, 220.0, (heading_deg + 20.0) % 360, 40.0, (heading_deg + 20.0) % 360)
    known = fit_view(px, ground_m, ORIGIN, camera=CAMERA, start=start, tilt=TiltPrior(1.0, 40.0, 0.0)).view
    assert known.tilt_deg == pytest.approx(40.0, abs=1.5)
    assert abs((known.tilt_toward_deg - known.heading_deg + 180) % 360 - 180) < 3.0
    assert aircraft_of(known).distance_m(aircraft_of(true)) < 20.0


def test_a_gimbal_that_is_off_is_overruled_by_many_points() -> None:
    true, rng = view(30.0), np.random.default_rng(5)
    px, ground_m = points(true, 400, 0.3, rng)
    off = TiltPrior(1.0, 33.0, (200.0 - 73.0) % 360)
    found = fit_view(px, ground_m, ORIGIN, camera=CAMERA, start=view(33.0), tilt=off).view
    assert found.tilt_deg == pytest.approx(30.0, abs=0.2)


def test_what_is_expected_turns_with_the_heading() -> None:
    """The derivatives, against differences."""
    prior, tilt, step = TiltPrior(2.0, 35.0, 20.0), np.array([0.3, -0.1]), 1e-6
    off, jacobian = prior.residual(tilt, 1.1)
    turned, _ = prior.residual(tilt, 1.1 + step)
    assert jacobian[:, 3] == pytest.approx((turned - off) / step, abs=1e-4)
    for axis in (0, 1):
        moved, _ = prior.residual(tilt + step * np.eye(2)[axis], 1.1)
        assert jacobian[:, 4 + axis] == pytest.approx((moved - off) / step, abs=1e-4)
    zero, _ = prior.residual(
        math.radians(35.0) * np.array([math.sin(1.1 + math.radians(20)), math.cos(1.1 + math.radians(20))]),
        1.1,
    )
    assert np.abs(zero).max() < 1e-12
