"""Photometric augmentation: what another date, sun, sky and camera do to a picture, on whole batches.

Each picture's changes follow from the seed and its own index, whichever batch it is in. Every step has a
strength in AugmentOptions; zero switches it off.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from nadirfix.options.training import AugmentOptions
from nadirfix.random_numbers import uniform
from nadirfix.train.device import compiled, upload

__all__ = ["Augmenter"]

#: How much a colour counts for brightness; any sum of about one serves here.
_GREY = (0.299, 0.587, 0.114)
_FIELD = 5  # knots per axis of smooth fields (shading, haze)
_NOISE_BANK = 1 << 21

#: JPEG's own table for brightness: how coarse each frequency of an 8 × 8 block is kept at quality 50.
_JPEG_STEPS = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)


class Augmenter:
    """Changes training pictures as if they were taken on another day."""

    def __init__(self, options: AugmentOptions, *, seed: int, device: torch.device | str) -> None:
        self.options, self.seed, self.device = options, seed, torch.device(device)
        self._cosine = _cosine_matrix().to(self.device)
        self._steps = torch.tensor(_JPEG_STEPS, dtype=torch.float32, device=self.device).flatten()
        self._grey = torch.tensor(_GREY, device=self.device)
        self._identity, self._hue_rotation = torch.eye(3, device=self.device), _hue_rotation(self.device)
        self._bank = self._noise_bank() if options.noise_levels > 0 else torch.empty(0)
        self._changes = self._enabled(options)
        self._apply = compiled(self._augment, self.device)

    def _enabled(self, o: AugmentOptions) -> list[tuple[str, int, Callable[[Tensor, Tensor], Tensor]]]:
        """What is done, in order: its name, how many random numbers it takes, and how."""
        steps = [
            (o.patches, "patches", 12, self._replace),
            (o.shadow, "shadow", 2 + 2 * _FIELD**2, self._shade),
            (o.colour, "colour", 8, self._colour),
            (o.tint, "tint", 3 * _FIELD**2, self._tint),
            (o.haze, "haze", 5 + _FIELD**2, self._haze),
            (o.blur, "blur", 1, self._blur),
            (o.soften_px, "soften", 1, self._defocus),
            (o.noise_levels, "noise", 2, self._noise),
            (o.jpeg, "jpeg", 1, self._jpeg),
        ]
        return [(name, columns, change) for strength, name, columns, change in steps if strength > 0]

    @torch.no_grad()
    def __call__(self, pictures: Tensor, index: NDArray[np.int64]) -> Tensor:
        """The pictures (batch, RGB, rows, columns; 0-255) as another day would show them."""
        if not self._changes:
            return pictures
        numbers = [
            uniform(self.seed, f"augment {name}", index, columns) for name, columns, _ in self._changes
        ]
        return self._apply(pictures, upload(np.concatenate(numbers, axis=1).astype(np.float32), self.device))

    def _augment(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """One step after the other, each with its own numbers."""
        parts = torch.split(numbers, [columns for _, columns, _ in self._changes], dim=1)
        for (_, _, change), part in zip(self._changes, parts, strict=True):
            pictures = change(pictures, part).clamp(0, 255)
        return pictures

    def _colour(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Light, contrast, saturation and the balance and mixture of colours."""
        change = self.options.colour * (2 * numbers - 1)
        colourful = (1 + 1.5 * change[:, 0])[:, None, None]
        matrix = colourful * self._identity + (1 - colourful) * self._grey
        mixing = 0.3 * change[:, 1, None, None] * self._hue_rotation
        balance = 1 + 0.5 * change[:, 2:5]
        matrix = balance[:, :, None] * (matrix + mixing) * (1 + change[:, 5])[:, None, None]
        mixed = torch.einsum("bij,bjhw->bihw", matrix, pictures).clamp_(0, 255) / 255
        gamma = torch.exp(1.2 * change[:, 6])
        return 255 * mixed.clamp_(min=1e-4) ** gamma[:, None, None, None]

    def _tint(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Each colour stronger here and weaker there, as when grass dries or fields are cut."""
        size = (pictures.shape[2], pictures.shape[3])
        knots = numbers.view(-1, 3, _FIELD, _FIELD)
        field = functional.interpolate(knots, size=size, mode="bicubic", align_corners=True)
        return pictures * (1 + self.options.tint * (2 * field - 1))

    def _haze(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Light scattered in by the air, thicker in some parts."""
        field = self._smooth(numbers[:, 5:], pictures)
        thick = self.options.haze * (numbers[:, 0] ** 2)[:, None, None, None] * (0.5 + field)
        tint = 255 * (0.65 + 0.3 * numbers[:, 1:4])[:, :, None, None]
        return torch.lerp(pictures, tint.expand_as(pictures), thick.clamp(0, 0.9).expand_as(pictures))

    def _shade(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Uneven light, and shadows with edges."""
        knots = _FIELD**2
        shading = self._smooth(numbers[:, 2 : 2 + knots], pictures)
        edge = self._smooth(numbers[:, 2 + knots :], pictures)
        level = (0.15 + 0.5 * numbers[:, 0])[:, None, None, None]
        dark = torch.sigmoid(40 * (level - edge)) * numbers[:, 1, None, None, None]
        light = 1 + self.options.shadow * (shading - 0.5) - self.options.shadow * dark
        return pictures * light

    def _blur(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Less fine detail, or a little more of it."""
        soft = _soften(pictures)
        share = self.options.blur * (1.5 * numbers[:, 0] - 0.5)
        return torch.lerp(pictures, soft, share[:, None, None, None].expand_as(pictures))

    def _defocus(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """As a softer lens would show it: a Gaussian of another radius for every picture."""
        batch, colours, rows, columns = pictures.shape
        taps = _gaussian(self.options.soften_px * numbers[:, 0], math.ceil(3 * self.options.soften_px))
        reach, each = taps.shape[1] // 2, taps.repeat_interleave(colours, 0)
        wide = functional.pad(pictures, (reach, reach, reach, reach), mode="replicate")
        wide = wide.view(1, batch * colours, rows + 2 * reach, columns + 2 * reach)
        down = functional.conv2d(wide, each[:, None, :, None], groups=batch * colours)
        both = functional.conv2d(down, each[:, None, None, :], groups=batch * colours)
        return both.view(batch, colours, rows, columns)

    def _noise(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Noise from a stock that is read from another place for every picture."""
        count = pictures[0].numel()
        first = (numbers[:, 0] * (len(self._bank) - count)).long()
        grain = self._bank[first[:, None] + torch.arange(count, device=self.device)].view_as(pictures)
        return pictures + self.options.noise_levels * numbers[:, 1, None, None, None] * grain

    def _jpeg(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Blocks of 8 × 8 kept coarsely, as JPEG does (all colours like brightness)."""
        height, width = pictures.shape[-2:]
        padded = functional.pad(pictures, (0, -width % 8, 0, -height % 8), mode="replicate")
        batch, colours, rows, columns = padded.shape
        blocks = padded.view(batch, colours, rows // 8, 8, columns // 8, 8).transpose(3, 4) - 128
        coefficients = blocks.reshape(batch, -1, 64) @ self._cosine.T
        step = self._steps * (self.options.jpeg * numbers[:, 0]).clamp(min=0.02)[:, None, None]
        decoded = ((coefficients / step).round() * step) @ self._cosine
        whole = (decoded + 128).view(batch, colours, rows // 8, columns // 8, 8, 8).transpose(3, 4)
        return whole.reshape(batch, colours, rows, columns)[..., :height, :width]

    def _replace(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Up to three rectangles show another part of the same picture: things that came or went."""
        other = pictures.flip(2, 3)
        marked = torch.zeros_like(pictures[:, :1], dtype=torch.bool)
        for x, y, size, shape in _columns(numbers):
            area = self.options.patches / 3 * size
            wide, tall = (area * (0.5 + shape)).sqrt(), (area / (0.5 + shape)).sqrt()
            across = _inside(x, wide, pictures.shape[3], self.device)
            down = _inside(y, tall, pictures.shape[2], self.device)
            marked |= (down[:, :, None] & across[:, None, :])[:, None]
        return torch.where(marked, other, pictures)

    def _smooth(self, numbers: Tensor, pictures: Tensor) -> Tensor:
        """A smooth field of about 0 to 1 over each picture."""
        knots = numbers.view(-1, 1, _FIELD, _FIELD)
        size = (pictures.shape[2], pictures.shape[3])
        return functional.interpolate(knots, size=size, mode="bicubic", align_corners=True)

    def _noise_bank(self) -> Tensor:
        pairs = uniform(self.seed, "noise bank", np.arange(_NOISE_BANK // 2), 2)
        radius, angle = np.sqrt(-2 * np.log1p(-pairs[:, 0])), 2 * math.pi * pairs[:, 1]
        normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        return upload(normal.astype(np.float32), self.device)


def _columns(numbers: Tensor) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Place, size and shape of each rectangle."""
    x, y, size, shape = numbers.view(-1, 3, 4).unbind(2)
    return [(x[:, i], y[:, i], size[:, i], shape[:, i]) for i in range(3)]


def _inside(middle: Tensor, width: Tensor, pixels: int, device: torch.device) -> Tensor:
    spots = (torch.arange(pixels, device=device) + 0.5) / pixels
    return (spots - middle[:, None]).abs() < 0.5 * width[:, None]


def _gaussian(radius_px: Tensor, reach: int) -> Tensor:
    """Weights (batch, 2 reach + 1) of Gaussians; a radius of nothing leaves a pixel as it is."""
    steps = torch.arange(-reach, reach + 1, device=radius_px.device, dtype=radius_px.dtype)
    weights = torch.exp(-0.5 * (steps / radius_px.clamp(min=0.05)[:, None]) ** 2)
    return weights / weights.sum(1, keepdim=True)


def _soften(pictures: Tensor) -> Tensor:
    """Each pixel with its neighbours, a quarter, a half, a quarter along both axes."""
    wide = functional.pad(pictures, (1, 1, 1, 1), mode="replicate")
    rows = 0.25 * wide[:, :, :-2] + 0.5 * wide[:, :, 1:-1] + 0.25 * wide[:, :, 2:]
    return 0.25 * rows[..., :-2] + 0.5 * rows[..., 1:-1] + 0.25 * rows[..., 2:]


def _cosine_matrix() -> Tensor:
    """The orthonormal cosine transform of eight by eight numbers, row by row: one large product, not many."""
    k, x = np.mgrid[0:8, 0:8]
    matrix = np.cos(np.pi * k * (2 * x + 1) / 16) * np.where(k == 0, math.sqrt(1 / 8), 0.5)
    return torch.from_numpy(np.kron(matrix, matrix).astype(np.float32))


def _hue_rotation(device: torch.device) -> Tensor:
    """Moves colours round the grey axis: red towards green, green towards blue, blue towards red."""
    return torch.tensor([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]], device=device)
