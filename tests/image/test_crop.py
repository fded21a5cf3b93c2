"""The crop: the right ground, centred, whatever the altitude and the lens."""

import cv2
import numpy as np
import pytest

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.errors import InputError
from nadirfix.image.crop import (
    Canonical,
    canonical_crop,
    crop_window_px,
    network_frame,
    photo_gsd_m,
    resample,
)

CAMERA = Camera(512, 384, 300.0, 300.0)  # the nominal camera at a quarter of its size
CANONICAL = Canonical(CAMERA, 125.0)


def textured(width: int, height: int, *, sigma: float = 2.0, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), sigma)
    return np.clip(128 + 45 * smooth / smooth.std(), 0, 255).astype(np.uint8)


def enlarged_then_cropped(pixels: np.ndarray, scale: float) -> np.ndarray:
    """METHOD §2 to the letter: resize by ĥ/h_db, centre-crop back to the frame (as one exact mapping)."""
    height, width = pixels.shape[:2]
    y, x = np.indices((height, width), dtype=np.float64)
    from_x = (x + 0.5 - width / 2) / scale + width / 2 - 0.5
    from_y = (y + 0.5 - height / 2) / scale + height / 2 - 0.5
    maps = from_x.astype(np.float32), from_y.astype(np.float32)
    return cv2.remap(pixels, *maps, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)


@pytest.mark.parametrize("altitude_m", [125, 126, 137.5, 175, 225, 300.7, 375, 475, 575, 675, 697.4747])
@pytest.mark.parametrize("size", [(224, 224), (112, 112), (512, 384)])
def test_equals_resize_then_crop(altitude_m: float, size: tuple[int, int]) -> None:
    pixels = textured(512, 384)
    width, height = size
    crop = canonical_crop(
        pixels, CAMERA, CAMERA.gsd_m(altitude_m), CANONICAL, width_px=width, height_px=height
    )
    wanted = cv2.resize(enlarged_then_cropped(pixels, altitude_m / 125), size, interpolation=cv2.INTER_AREA)
    difference = np.abs(crop.pixels - wanted.astype(np.float32))
    assert difference.mean() < 1.5  # grey levels, of a contrast of 45
    assert not crop.clamped


@pytest.mark.parametrize("altitude_m", [125, 160, 225, 375, 675])
@pytest.mark.parametrize("out_px", [40, 64, 224, 401])
def test_no_shift_to_a_fiftieth_of_a_pixel(altitude_m: float, out_px: int) -> None:
    """A ramp in x and y keeps its value in the middle and its slope, in ground metres."""
    y, x = np.indices((384, 512))
    ramp = np.stack([x * 0.4, y * 0.4, 100 + 0 * x], axis=-1).astype(np.float32)
    gsd_m = CAMERA.gsd_m(altitude_m)
    crop = canonical_crop(ramp, CAMERA, gsd_m, CANONICAL, width_px=out_px, height_px=out_px)
    inside = crop.pixels[2:-2, 2:-2]
    assert inside[..., 0].mean() == pytest.approx(255.5 * 0.4, abs=0.008)
    assert inside[..., 1].mean() == pytest.approx(191.5 * 0.4, abs=0.008)
    slope_m = np.diff(inside[..., 0], axis=1).mean() / 0.4 * gsd_m
    assert slope_m == pytest.approx(CANONICAL.footprint_m[0] / out_px, rel=2e-3)
    assert inside[..., 2] == pytest.approx(100, abs=1e-3)


def test_identity_at_the_canonical_altitude() -> None:
    pixels = textured(512, 384)
    crop = canonical_crop(pixels, CAMERA, CAMERA.gsd_m(125), CANONICAL, width_px=512, height_px=384)
    assert np.array_equal(crop.pixels, pixels)
    assert crop.camera == CAMERA
    assert not crop.clamped


def test_canonical_altitude_at_network_size_is_the_plain_area_mean() -> None:
    pixels = textured(512, 384)
    crop = canonical_crop(pixels, CAMERA, CAMERA.gsd_m(125), CANONICAL, width_px=256, height_px=192)
    means = pixels.reshape(192, 2, 256, 2, 3).mean(axis=(1, 3))
    assert crop.pixels == pytest.approx(means, abs=1e-3)


def test_area_means_weight_fractions_of_pixels() -> None:
    """5 px to 2: each new pixel is two and a half old ones."""
    row = np.array([10, 20, 30, 40, 50], np.uint8)
    pixels = np.repeat(np.repeat(row[None, :, None], 5, axis=0), 3, axis=2)
    resampled = resample(pixels, (5.0, 5.0), width_px=2, height_px=2)
    assert resampled[0, :, 0].tolist() == pytest.approx([(10 + 20 + 15) / 2.5, (15 + 40 + 50) / 2.5])
    middle = resample(pixels, (3.0, 3.0), width_px=2, height_px=2)
    assert middle[0, :, 0].tolist() == pytest.approx([(20 + 15) / 1.5, (15 + 40) / 1.5])


@pytest.mark.parametrize("altitude_m", [40, 100, 124.9])
def test_below_the_canonical_altitude_the_whole_frame_is_used(altitude_m: float) -> None:
    pixels = textured(512, 384)
    crop = canonical_crop(pixels, CAMERA, CAMERA.gsd_m(altitude_m), CANONICAL, width_px=224, height_px=224)
    whole = resample(pixels, (512.0, 384.0), width_px=224, height_px=224)
    assert crop.clamped
    assert np.array_equal(crop.pixels, whole)
    assert crop.camera == CAMERA.resized(224, 224)


@pytest.mark.parametrize("altitude_m", [125, 300, 675])
@pytest.mark.parametrize("photo", [CAMERA, Camera(1024, 768, 410.0, 410.0), Camera(640, 480, 700.0, 690.0)])
def test_the_crops_camera_has_the_canonical_footprint(photo: Camera, altitude_m: float) -> None:
    gsd_m = photo.gsd_m(altitude_m)
    pixels = textured(photo.width_px, photo.height_px)
    crop = canonical_crop(pixels, photo, gsd_m, CANONICAL, width_px=224, height_px=224)
    if not crop.clamped:
        assert crop.camera.footprint_m(altitude_m) == pytest.approx(CANONICAL.footprint_m)
    width_m, height_m = crop.camera.footprint_m(altitude_m)
    assert width_m / height_m == pytest.approx(512 / 384)


@pytest.mark.parametrize("network_altitude_m", [125.0, 275.0, 675.0])
@pytest.mark.parametrize("focal_px", [900.0, 1200.0, 1777.7])
def test_focal_length_rule_by_both_routes(network_altitude_m: float, focal_px: float) -> None:
    """METHOD §1: h_true = h_net·f'/f, and the crop is h_net/h_db with no focal length in it."""
    photo = Camera(2048, 1536, focal_px, focal_px)
    canonical = Canonical(DEFAULT_CAMERA, 125.0)
    gsd_m = photo_gsd_m(network_altitude_m, nominal=DEFAULT_CAMERA, photo=photo)
    true_altitude_m = photo.altitude_m(gsd_m)
    assert true_altitude_m == pytest.approx(network_altitude_m * focal_px / 1200)
    by_gsd, _ = crop_window_px(photo, gsd_m, canonical)
    by_footprint, _ = crop_window_px(photo, photo.gsd_m(true_altitude_m), canonical)
    by_ratio = 2048 * 125 / network_altitude_m, 1536 * 125 / network_altitude_m
    assert by_gsd == pytest.approx(by_ratio)
    assert by_footprint == pytest.approx(by_ratio)


def test_gsd_does_not_depend_on_the_size_the_photo_was_decoded_at() -> None:
    half = DEFAULT_CAMERA.resized(1024, 768)
    gsd_m = photo_gsd_m(300.0, nominal=DEFAULT_CAMERA, photo=half)
    assert gsd_m == pytest.approx(0.5)
    assert half.altitude_m(gsd_m) == pytest.approx(300)


def test_a_photo_of_another_shape_keeps_its_scale_in_both_directions() -> None:
    """16:9: the network's frame is the central 4:3, and the gsd follows from that."""
    wide = Camera(1920, 1080, 1100.0, 1100.0)
    y, x = np.indices((1080, 1920))
    ramp = np.stack([x * 0.1, y * 0.1, 0 * x], axis=-1).astype(np.float32)
    frame = network_frame(ramp, wide, DEFAULT_CAMERA, width_px=448, height_px=336)
    assert frame.shape == (336, 448, 3)
    across, down = np.diff(frame[..., 0], axis=1).mean(), np.diff(frame[..., 1], axis=0).mean()
    assert across == pytest.approx(down, rel=1e-3)
    assert across == pytest.approx(0.1 * 1440 / 448, rel=1e-3)
    assert photo_gsd_m(300.0, nominal=DEFAULT_CAMERA, photo=wide) == pytest.approx(0.25 * 2048 / 1440)


@pytest.mark.parametrize("gsd_m", [0, -1, float("nan"), float("inf")])
def test_no_scale_is_refused(gsd_m: float) -> None:
    with pytest.raises(InputError) as caught:
        canonical_crop(textured(512, 384), CAMERA, gsd_m, CANONICAL, width_px=224, height_px=224)
    assert caught.value.code == "altitude.invalid"


def test_a_camera_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="500x300") as caught:
        canonical_crop(textured(500, 300), CAMERA, 0.5, CANONICAL, width_px=224, height_px=224)
    assert caught.value.code == "camera.invalid"


@pytest.mark.slow
def test_a_large_photo_is_averaged_in_blocks_and_stays_within_two_grey_levels() -> None:
    pixels = textured(2048, 1536, sigma=3)
    resampled = resample(pixels, (2048.0, 1536.0), width_px=224, height_px=224)
    wanted = cv2.resize(pixels.astype(np.float32), (224, 224), interpolation=cv2.INTER_AREA)
    assert np.abs(resampled - wanted).mean() < 0.5
    assert np.abs(resampled - wanted).max() < 4
