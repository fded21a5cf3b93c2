"""The crop covers the canonical footprint or all the photo has, for any camera and altitude."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nadirfix.camera import Camera
from nadirfix.image.crop import Canonical, canonical_crop, crop_window_px, photo_gsd_m, resample

CAMERAS = st.builds(
    Camera, st.integers(16, 6000), st.integers(16, 6000), st.floats(200, 9000), st.floats(200, 9000)
)
CANONICALS = st.builds(Canonical, CAMERAS, st.floats(20, 200))
ALTITUDES = st.floats(20, 1500)


@given(photo=CAMERAS, canonical=CANONICALS, altitude_m=ALTITUDES)
def test_the_window_fits_and_has_the_canonical_shape(
    photo: Camera, canonical: Canonical, altitude_m: float
) -> None:
    (width, height), clamped = crop_window_px(photo, photo.gsd_m(altitude_m), canonical)
    assert 0 < width <= photo.width_px
    assert 0 < height <= photo.height_px
    ground = width / photo.fx_px * altitude_m, height / photo.fy_px * altitude_m
    wanted = canonical.footprint_m
    assert np.isclose(ground[0] / ground[1], wanted[0] / wanted[1], rtol=1e-6)
    assert clamped or np.allclose(ground, wanted, rtol=1e-6)
    assert not clamped or width == photo.width_px or height == photo.height_px


@given(photo=CAMERAS, nominal=CAMERAS, altitude_m=ALTITUDES, factor=st.integers(2, 4))
def test_altitude_does_not_depend_on_resizing(
    photo: Camera, nominal: Camera, altitude_m: float, factor: int
) -> None:
    larger = photo.resized(photo.width_px * factor, photo.height_px * factor)
    here = photo.altitude_m(photo_gsd_m(altitude_m, nominal=nominal, photo=photo))
    there = larger.altitude_m(photo_gsd_m(altitude_m, nominal=nominal, photo=larger))
    assert np.isclose(here, there, rtol=1e-9)


@settings(max_examples=60)
@given(
    frame=st.tuples(st.integers(4, 90), st.integers(4, 90)),
    share=st.floats(0.1, 1),
    size=st.tuples(st.integers(1, 120), st.integers(1, 120)),
    seed=st.integers(0, 99),
)
def test_resampling_is_mirror_symmetric_and_keeps_plain_pictures(
    frame: tuple[int, int], share: float, size: tuple[int, int], seed: int
) -> None:
    """No half-pixel shift can hide from a mirror."""
    pixels = np.random.default_rng(seed).integers(0, 256, (frame[1], frame[0], 3), dtype=np.uint8)
    window = frame[0] * share, frame[1] * share
    resampled = resample(pixels, window, width_px=size[0], height_px=size[1])
    turned = resample(pixels[::-1, ::-1].copy(), window, width_px=size[0], height_px=size[1])
    enlarges = window[0] < size[0] or window[1] < size[1]
    # OpenCV's interpolation places samples to 1/32 px; area means are exact unless blocks are averaged first.
    blocks = max(window[0] / size[0], window[1] / size[1]) >= 8
    assert resampled.shape == (size[1], size[0], 3)
    if not blocks:
        assert np.abs(resampled - turned[::-1, ::-1]).max() < (16 if enlarges else 1e-3)
    plain = resample(np.full_like(pixels, 93), window, width_px=size[0], height_px=size[1])
    assert np.allclose(plain, 93, atol=1e-3)


@settings(max_examples=25)
@given(altitude_m=st.floats(60, 700))
def test_the_middle_of_the_photo_stays_in_the_middle(altitude_m: float) -> None:
    camera = Camera(256, 192, 150.0, 150.0)
    y, x = np.indices((192, 256))
    spot = 200 * np.exp(-((x - 127.5) ** 2 + (y - 95.5) ** 2) / 18)
    pixels = np.repeat(spot[..., None], 3, axis=2).astype(np.float32)
    crop = canonical_crop(
        pixels, camera, camera.gsd_m(altitude_m), Canonical(camera, 125.0), width_px=64, height_px=64
    )
    weights = crop.pixels[..., 0] / crop.pixels[..., 0].sum()
    v, u = np.indices((64, 64))
    assert abs((weights * u).sum() - 31.5) < 0.05
    assert abs((weights * v).sum() - 31.5) < 0.05
