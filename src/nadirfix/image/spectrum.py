"""A picture's Fourier spectrum: fine detail far from the middle, coarse shapes close to it.

From twice as high the same ground has its detail at twice the frequency, so that a spectrum shows the
altitude. This is what runs when a photo is located; ``train.data.spectrum`` is the same for training batches.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nadirfix.image.crop import resample
from nadirfix.options.recipe import NetworkOptions

__all__ = [
    "MIN_STD_LEVELS",
    "TARGET_STD_LEVELS",
    "alternating_signs",
    "centred_log_spectrum",
    "intensity_scale",
    "log_spectrum",
    "spectrum_norm",
]

#: The deviation in grey levels pictures are brought to where contrast is not to count, and the least one
#: that is believed: below it a picture is noise.
TARGET_STD_LEVELS, MIN_STD_LEVELS = 45.0, 1.0

Pixels = NDArray[np.uint8] | NDArray[np.float32]
Floats = NDArray[np.float64]
Kind = TypeVar("Kind", Floats, NDArray[np.float32])


def log_spectrum(pixels: Pixels, network: NetworkOptions) -> NDArray[np.float32]:
    """The altitude network's input for a photo (rows, columns, RGB): its log spectrum, channels first."""
    whole = float(pixels.shape[1]), float(pixels.shape[0])
    small = resample(pixels, whole, width_px=network.width_px, height_px=network.height_px)
    planes = np.ascontiguousarray(np.moveaxis(small, -1, 0), np.float64) * intensity_scale(network)
    if network.intensity == "contrast":
        planes = _contrast_normalised(planes)
    return _mirrored(_half_of(planes, network.log_base).astype(np.float32), network.width_px)


def centred_log_spectrum(planes: Floats, *, base: float) -> Floats:
    """The logarithm of each plane's spectrum, zero frequency in the middle for even sizes."""
    return _mirrored(_half_of(planes, base), planes.shape[-1])


def _half_of(planes: Floats, base: float) -> Floats:
    """The columns of it that say everything.

    Double precision: the zero frequency is 10⁵ times larger than the detail around it, and single
    precision would leave its rounding there.
    """
    half: Floats = np.abs(np.fft.rfft2(planes * alternating_signs(*planes.shape[-2:])))
    np.log1p(half, out=half)  # in place: fresh memory costs as much as the logarithm
    half /= math.log(base)
    return half


def alternating_signs(height_px: int, width_px: int) -> Floats:
    """A chequerboard of +1 and −1 that begins with +1: it moves the zero frequency to the middle.

    For odd sizes there is no bin in the middle and the zero frequency falls between two: that is what the
    equation says, and an fftshift would be something else.
    """
    y, x = np.indices((height_px, width_px), sparse=True)
    return np.where((x + y) % 2 == 0, 1.0, -1.0)


def _contrast_normalised(planes: Floats) -> Floats:
    """Each colour around its mean, all of them together with the target deviation: haze is undone."""
    mean = planes.mean(axis=(-2, -1), keepdims=True)
    off = planes - mean
    return np.asarray(mean + off * (TARGET_STD_LEVELS / max(float(off.std()), MIN_STD_LEVELS)), np.float64)


def intensity_scale(network: NetworkOptions) -> float:
    """What one grey level counts in the network's unit of intensity."""
    return 1.0 / 255.0 if network.intensity == "unit" else 1.0


def spectrum_norm(network: NetworkOptions) -> tuple[float, float]:
    """Mean and deviation a log spectrum typically has, so that the network's inputs are around one.

    A frequency that carries c grey levels of contrast has a magnitude of about c·√(width·height); the typical
    c is an option, so that the constants follow from size and unit and need no measuring per recipe.
    """
    pixels = network.width_px * network.height_px
    typical = network.spectrum_levels * intensity_scale(network) * math.sqrt(pixels)
    return math.log1p(typical) / math.log(network.log_base), network.spectrum_scale


def _mirrored(half: Kind, width_px: int) -> Kind:
    """The columns a real transform leaves out: magnitude at −frequency equals magnitude at +frequency."""
    left_out = half[..., 1 : (width_px + 1) // 2]
    turned = np.roll(left_out[..., ::-1, ::-1], 1, axis=-2)
    return np.concatenate([half, turned], axis=-1)
