"""Photos with black edges, as rectifying leaves them, are seen as training views beyond the map are."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.camera import Camera
from nadirfix.image.black_borders import fill_black_borders
from nadirfix.image.spectrum import log_spectrum
from nadirfix.online.altitude import estimate_altitude
from nadirfix.options.recipe import BinOptions, NetworkOptions

WIDE, HIGH = 112, 84


def ground(seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(HIGH, WIDE, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 1.5)
    return np.clip(120 + 25 * smooth / smooth.std() + 10 * noise, 20, 255).astype(np.float32)


def cut_off(picture: np.ndarray, levels: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A corner and a strip of the picture in black, and where they are."""
    y, x = np.indices(picture.shape[:2])
    gone = (x + 2 * y < 40) | (x > WIDE - 9)
    return np.where(gone[..., None], np.float32(levels), picture), gone


@pytest.mark.parametrize("levels", [0.0, 3.0])
def test_black_from_the_edge_on_takes_the_mean_colour_of_the_rest(levels: float) -> None:
    picture, gone = cut_off(ground(), levels)
    result = fill_black_borders(picture)
    assert np.allclose(result[gone], result[0, 0])
    far = cv2.dilate(gone.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0
    assert np.array_equal(result[far], picture[far])
    assert result[0, 0] == pytest.approx(picture[far].mean(axis=0), abs=1e-3)
    assert result.dtype == np.float32


def test_the_spectrum_hardly_knows_that_something_was_cut_off() -> None:
    """What black edges do to the spectrum, filling takes back for the most part."""
    network = NetworkOptions(input="spectrum", width_px=WIDE, height_px=HIGH, intensity="contrast")
    whole, black = ground(), cut_off(ground())[0]
    clean, with_black, filled = (log_spectrum(p, network) for p in (whole, black, fill_black_borders(black)))
    off, off_black = (float(np.median(result - clean)) for result in (filled, with_black))
    assert abs(off) < 0.25 * abs(off_black), (off, off_black)


def test_the_altitude_is_estimated_without_black_borders() -> None:
    """The network gets the same input for a photo with black borders as for the filled one."""
    camera, received = Camera(WIDE, HIGH, 80.0, 80.0), []
    network = NetworkOptions(input="spectrum", width_px=WIDE, height_px=HIGH)
    bins = AltitudeBins.from_options(BinOptions())
    bundle = SimpleNamespace(
        recipe=SimpleNamespace(altitude_network=network), camera=camera, bins=bins,
        altitude_scores=lambda inputs: received.append(inputs[0]) or np.zeros((1, len(bins)), np.float32),
    )  # fmt: skip
    black = cut_off(ground())[0].astype(np.uint8)
    estimate_altitude(SimpleNamespace(pixels=black, camera=camera), bundle)
    wanted = log_spectrum(fill_black_borders(black.astype(np.float32)), network)
    assert np.allclose(received[0], wanted, atol=1e-3)


def test_a_photo_without_black_borders_stays_as_it_is() -> None:
    picture = ground()
    assert fill_black_borders(picture) is picture


def test_something_black_on_the_ground_stays() -> None:
    picture = ground()
    picture[30:50, 40:70] = 0.0
    assert fill_black_borders(picture) is picture


def test_a_dark_spot_at_the_edge_is_a_shadow() -> None:
    picture = ground()
    picture[0, 5:9] = 0.0
    assert fill_black_borders(picture) is picture


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_a_photo_that_is_nearly_all_black_stays_black(share: float) -> None:
    picture = ground()
    picture[: round(share * HIGH)] = 0.0
    assert fill_black_borders(picture) is picture
