"""A small network that finds points of the ground again on another day, and describes what surrounds them.

It speaks the matcher's language: a grey picture in; for every cell of 8 × 8 pixels a unit description, the
chance of a point at each of its pixels, and how much the point can be relied on.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["CELL_PX", "DESCRIPTION", "PointNetwork"]

#: Sides of a cell in pixels, and length of a description.
CELL_PX, DESCRIPTION = 8, 64
#: Pixels are folded into channels by this at once: layers over whole pictures cost most and say least.
_FOLD = 4


class PointNetwork(nn.Module):
    """Fully convolutional: sides of a picture may be any multiples of 32."""

    def __init__(
        self,
        *,
        fine: int = 32,
        cell: int = 64,
        wide: int = 96,
        widest: int = 128,
        depths: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        super().__init__()
        self.fine = nn.Sequential(_layer(_FOLD**2, fine), _layer(fine, fine))
        self.cell = nn.Sequential(_layer(fine, cell, stride=2), *(_Residual(cell) for _ in range(depths[0])))
        self.wide = nn.Sequential(_layer(cell, wide, stride=2), *(_Residual(wide) for _ in range(depths[1])))
        self.widest = nn.Sequential(
            _layer(wide, widest, stride=2), *(_Residual(widest) for _ in range(depths[2]))
        )
        self.from_widest = _layer(widest, wide, side=1)
        self.from_wide = _layer(wide, cell, side=1)
        self.join = _layer(cell, cell)
        self.description = nn.Conv2d(cell, DESCRIPTION, 1)
        self.reliance = nn.Sequential(_layer(cell, cell // 2, side=1), nn.Conv2d(cell // 2, 1, 1))
        self.detail = _layer(4 * fine + CELL_PX**2, cell, side=1)
        self.place = nn.Sequential(_layer(2 * cell, cell, side=1), nn.Conv2d(cell, CELL_PX**2, 1))

    def forward(self, grey: Tensor) -> Tensor:
        """Descriptions, chances within each cell, and reliance: 129 numbers for each cell."""
        description, place, reliance = self.parts(grey)
        return torch.cat([description, place.softmax(1), reliance.sigmoid()], dim=1)

    def parts(self, grey: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Unit descriptions, and what chances and reliance are made from, before they are squeezed."""
        even = _evened(grey)
        fine = self.fine(functional.pixel_unshuffle(even, _FOLD))
        cell = self.cell(fine)
        wide = self.wide(cell)
        wide = wide + _twice(self.from_widest(self.widest(wide)))
        joined = self.join(cell + _twice(self.from_wide(wide)))
        seen = (functional.pixel_unshuffle(fine, 2), functional.pixel_unshuffle(even, CELL_PX))
        detail = self.detail(torch.cat(seen, dim=1))
        place = self.place(torch.cat([detail, joined], dim=1))
        return functional.normalize(self.description(joined), dim=1), place, self.reliance(joined)


class _Residual(nn.Module):
    """Two layers whose result is added to what went in."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = _layer(channels, channels)
        self.second = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, seen: Tensor) -> Tensor:
        """The same, with what the two layers found."""
        return functional.relu(seen + self.second(self.first(seen)))


def _layer(channels: int, out: int, *, side: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, side, stride=stride, padding=side // 2, bias=False),
        nn.BatchNorm2d(out),
        nn.ReLU(),
    )


def _evened(grey: Tensor) -> Tensor:
    """Each picture about its own mean, in units of its own contrast: how bright a day was does not matter."""
    mean = grey.mean(dim=(2, 3), keepdim=True)
    spread = (grey - mean).square().mean(dim=(2, 3), keepdim=True)
    return (grey - mean) * torch.rsqrt(spread + 1.0)  # an empty picture stays empty


def _twice(seen: Tensor) -> Tensor:
    return functional.interpolate(seen, scale_factor=2.0, mode="bilinear", align_corners=False)
