"""Fourier spectra of pictures, for whole training batches on the device that trains."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nadirfix.image.spectrum import MIN_STD_LEVELS, TARGET_STD_LEVELS, intensity_scale
from nadirfix.options.recipe import NetworkOptions

__all__ = ["log_spectrum"]


def log_spectrum(pixels: Tensor, network: NetworkOptions) -> Tensor:
    """A batch of pictures (batch, RGB, rows, columns; 0-255, at the network's size) as log spectra.

    Equal to ``image.spectrum.log_spectrum`` to 1e-4, hence the double precision; on a GPU it is bound by
    memory and costs little.
    """
    intensity = pixels.double() * intensity_scale(network)
    if network.intensity == "contrast":
        intensity = _contrast_normalised(intensity)
    magnitude = torch.fft.fft2(intensity * _signs(pixels)).abs()
    return (torch.log1p(magnitude) / math.log(network.log_base)).float()


def _contrast_normalised(pixels: Tensor) -> Tensor:
    mean = pixels.mean(dim=(-2, -1), keepdim=True)
    off = pixels - mean
    deviation = off.square().mean(dim=(-3, -2, -1), keepdim=True).sqrt().clamp(min=MIN_STD_LEVELS)
    return mean + off * (TARGET_STD_LEVELS / deviation)


def _signs(pixels: Tensor) -> Tensor:
    y = torch.arange(pixels.shape[-2], device=pixels.device)
    x = torch.arange(pixels.shape[-1], device=pixels.device)
    return 1.0 - 2.0 * ((y[:, None] + x[None, :]) % 2).double()
