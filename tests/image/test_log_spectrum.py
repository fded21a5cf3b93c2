"""METHOD §1, spectrum: against a direct DFT, term by term, in double precision."""

import math

import numpy as np
import pytest
import torch

from nadirfix.image.spectrum import centred_log_spectrum, log_spectrum, spectrum_norm
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.data.spectrum import log_spectrum as log_spectrum_torch

SIZES = [(4, 6), (8, 8), (5, 6), (6, 7), (7, 9), (1, 4), (5, 1)]


def oracle(plane: np.ndarray, base: float) -> np.ndarray:
    """The double sum as it is written: no FFT, no shift, no symmetry."""
    height, width = plane.shape
    y, x = np.mgrid[0:height, 0:width]
    signed = plane * (-1.0) ** (x + y)
    out = np.empty((height, width))
    for v in range(height):
        for u in range(width):
            wave = np.exp(-2j * np.pi * (u * x / width + v * y / height))
            out[v, u] = math.log(1 + abs((signed * wave).sum()), base)
    return out


def network(width: int, height: int, **more) -> NetworkOptions:
    return NetworkOptions(input="spectrum", width_px=width, height_px=height, **more)


def test_constant_image_has_a_single_peak_by_hand() -> None:
    measured = log_spectrum(np.full((4, 6, 3), 10, np.uint8), network(6, 4))
    assert measured.shape == (3, 4, 6)
    assert measured.dtype == np.float32
    assert measured[:, 2, 3] == pytest.approx(13.527174, abs=5e-7)  # log_1.5(1 + 10·24)
    measured[:, 2, 3] = 0
    assert np.abs(measured).max() < 1e-6


@pytest.mark.parametrize("size", SIZES)
def test_numpy_equals_the_double_sum(size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (*size, 3), dtype=np.uint8)
    measured = log_spectrum(pixels, network(size[1], size[0]))
    for channel in range(3):
        assert measured[channel] == pytest.approx(oracle(pixels[..., channel].astype(float), 1.5), abs=1e-5)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("intensity", ["bytes", "unit"])
def test_torch_equals_the_double_sum(size: tuple[int, int], intensity: str) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (*size, 3), dtype=np.uint8)
    options = network(size[1], size[0], intensity=intensity)
    measured = log_spectrum_torch(torch.from_numpy(pixels).permute(2, 0, 1)[None].float(), options)[0].numpy()
    unit = 1.0 if intensity == "bytes" else 255.0
    for channel in range(3):
        assert measured[channel] == pytest.approx(oracle(pixels[..., channel] / unit, 1.5), abs=1e-5)


@pytest.mark.parametrize("size", [(336, 448), (335, 447), (168, 224)])
def test_numpy_and_torch_agree_at_full_size(size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (*size, 3), dtype=np.uint8)
    pixels[: size[0] // 2] = 120  # half a plain picture: weak detail beside a strong zero frequency
    options = network(size[1], size[0])
    there = log_spectrum_torch(torch.from_numpy(pixels).permute(2, 0, 1)[None].float(), options)[0].numpy()
    assert np.abs(log_spectrum(pixels, options) - there).max() < 1e-4


def test_haze_makes_no_difference_with_normalised_contrast() -> None:
    options = network(64, 48, intensity="contrast")
    clear = np.random.default_rng(7).integers(0, 256, (48, 64, 3)).astype(np.float32)
    hazy = 0.35 * clear + np.array([90.0, 100.0, 120.0], np.float32)
    apart = np.abs(log_spectrum(clear, options) - log_spectrum(hazy, options))
    apart[:, 24, 32] = 0.0  # zero frequency: how bright the picture is
    assert apart.max() < 1e-4
    usual = network(64, 48)
    assert np.median(np.abs(log_spectrum(clear, usual) - log_spectrum(hazy, usual))) > 1.0


@pytest.mark.parametrize("levels", [0.0, 0.2, 30.0])
def test_normalised_contrast_is_the_same_for_training_batches(levels: float) -> None:
    options, draw = network(64, 48, intensity="contrast"), np.random.default_rng(8)
    pixels = (120 + levels * draw.normal(size=(2, 48, 64, 3)) * [[[[1.0]]], [[[2.0]]]]).astype(np.float32)
    there = log_spectrum_torch(torch.from_numpy(pixels).permute(0, 3, 1, 2), options).numpy()
    for one, reference in zip(pixels, there, strict=True):
        measured = log_spectrum(one, options)
        assert np.isfinite(measured).all()
        assert np.abs(measured - reference).max() < 1e-4


def test_even_sizes_equal_an_fftshift_and_odd_sizes_do_not() -> None:
    rng = np.random.default_rng(4)
    even, odd = rng.random((6, 8)), rng.random((7, 9))

    def shifted(plane: np.ndarray) -> np.ndarray:
        return np.log1p(np.abs(np.fft.fftshift(np.fft.fft2(plane)))) / np.log(1.5)

    assert np.allclose(centred_log_spectrum(even, base=1.5), shifted(even), atol=1e-12)
    assert np.abs(centred_log_spectrum(odd, base=1.5) - shifted(odd)).max() > 0.1


def test_photo_is_resized_before_the_transform() -> None:
    pixels = np.kron(np.random.default_rng(5).integers(0, 256, (12, 16, 3)), np.ones((4, 4, 1))).astype(
        np.uint8
    )
    small = pixels[::4, ::4]
    assert np.allclose(log_spectrum(pixels, network(16, 12)), log_spectrum(small, network(16, 12)), atol=1e-5)


@pytest.mark.parametrize("intensity", ["bytes", "unit", "contrast"])
@pytest.mark.parametrize("size", [(448, 336), (224, 168)])
def test_normalised_spectrum_is_of_order_one(intensity: str, size: tuple[int, int]) -> None:
    """For a picture whose contrast is that of ground seen from the air: 1/f noise of 40 grey levels."""
    width, height = size
    rng = np.random.default_rng(6)
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None]
    falloff = 1 / np.maximum(np.hypot(fx, fy), 1 / width)
    plane = np.fft.ifft2(np.fft.fft2(rng.normal(size=(height, width))) * falloff).real
    pixels = np.clip(110 + 40 * plane / plane.std(), 0, 255).astype(np.uint8)
    options = network(width, height, intensity=intensity)
    mean, scale = spectrum_norm(options)
    measured = (log_spectrum(np.repeat(pixels[..., None], 3, axis=2), options) - mean) / scale
    assert abs(measured.mean()) < 1
    assert 0.3 < measured.std() < 2
