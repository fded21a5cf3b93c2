"""Whatever is done to a picture is done to its camera: the ground it covers does not notice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nadirfix.camera import Camera
from nadirfix.image.focal import same_shape

sizes = st.integers(16, 20_000)
focals = st.floats(10, 50_000)
altitudes_m = st.floats(1, 10_000)
cameras = st.builds(Camera, sizes, sizes, focals, focals)


@given(cameras, altitudes_m, sizes, sizes)
def test_resizing_keeps_the_footprint(
    camera: Camera, altitude_m: float, width_px: int, height_px: int
) -> None:
    resized = camera.resized(width_px, height_px)
    assert resized.footprint_m(altitude_m) == pytest.approx(camera.footprint_m(altitude_m), rel=1e-12)
    back = resized.resized(camera.width_px, camera.height_px)
    assert (back.fx_px, back.fy_px) == pytest.approx((camera.fx_px, camera.fy_px), rel=1e-12)


@given(cameras, altitudes_m, st.data())
def test_cropping_keeps_the_ground_sampling_distance(camera: Camera, altitude_m: float, data) -> None:
    width_px = data.draw(st.integers(1, camera.width_px))
    height_px = data.draw(st.integers(1, camera.height_px))
    cropped = camera.cropped(width_px, height_px)
    assert cropped.gsd_m(altitude_m) == camera.gsd_m(altitude_m)
    whole, part = camera.footprint_m(altitude_m), cropped.footprint_m(altitude_m)
    shares = (width_px / camera.width_px, height_px / camera.height_px)
    assert part == pytest.approx((whole[0] * shares[0], whole[1] * shares[1]), rel=1e-12)


@given(cameras)
def test_turning_four_times_changes_nothing(camera: Camera) -> None:
    turned = camera.turned()
    assert turned.footprint_m(100) == camera.footprint_m(100)[::-1]
    assert turned.turned() == camera


@given(sizes, sizes, st.integers(100, 500_000), st.integers(100, 500_000))
def test_camera_is_what_it_is_typed_as(width_px: int, height_px: int, fx: int, fy: int) -> None:
    camera = Camera(width_px, height_px, fx / 10, fy / 10)
    assert Camera.parse(camera.spec) == camera


@given(cameras, altitudes_m)
def test_altitude_and_ground_sampling_distance_are_inverse(camera: Camera, altitude_m: float) -> None:
    assert camera.altitude_m(camera.gsd_m(altitude_m)) == pytest.approx(altitude_m, rel=1e-12)


@given(st.integers(200, 10_000), st.integers(200, 10_000), st.floats(0.05, 1))
def test_any_resizer_s_rounding_is_the_same_shape(width_px: int, height_px: int, scale: float) -> None:
    assert same_shape((round(width_px * scale), round(height_px * scale)), (width_px, height_px))
    assert not same_shape((width_px, height_px - height_px // 20), (width_px, height_px))
