"""Rendering batches of nadir views of a map on the device that trains.

The same definition of resampling as ``geo.render``. A pixel is four numbers (red, green, blue, cover; light
already multiplied by cover) that lie together, so that one sample costs four reads of one word each, and all
pyramid levels lie in one piece of memory, so that one batch may mix altitudes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import conv2d

from nadirfix.camera import Camera
from nadirfix.geo.render import downsampling_kernel, pyramid_level, supersample
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views, ground_from_pixel
from nadirfix.options.map import RenderOptions
from nadirfix.train.data.sampling_geometry import REDUCED_RATIO, output_ratio, pixel_affine
from nadirfix.train.device import compiled, upload

__all__ = ["DeviceRenderer"]

Floats = NDArray[np.float64]
Which = NDArray[np.int64]
Weights = NDArray[np.float32]

#: Sub-samples held at a time: what a GPU keeps busy with, and what a CPU keeps in its cache.
_CHUNK = {"cuda": 16_000_000, "cpu": 500_000}


@dataclass(frozen=True, slots=True, eq=False)
class _Geometry:
    """Per view: from output pixels to pixels of its level, counted from a whole pixel near the centre."""

    matrix: Tensor  # (B, 3, 3)
    column: Tensor  # (B,) the whole pixel
    row: Tensor
    offset: Tensor  # where the level begins in memory
    width: Tensor  # the level's size
    height: Tensor


class DeviceRenderer:
    """A map in a device's memory, rendered in batches."""

    def __init__(
        self, texture: Texture, device: torch.device | str, *, options: RenderOptions | None = None
    ) -> None:
        self.texture, self.device = texture, torch.device(device)
        self.options = options or RenderOptions()
        self.by_products = self.device.type != "cpu"  # how sub-samples are gathered: as it is faster there
        self.dtype = torch.float16 if self.by_products else torch.float32
        self._sizes = np.array([plane.size_px[::-1] for plane in texture.planes], dtype=np.int64)
        counts = (self._sizes + 2).prod(axis=1)
        self._offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._index = torch.int32 if counts.sum() < 2**31 else torch.int64
        self._words = self._load(int(counts.sum()))
        self._sample = compiled(_samples, self.device)
        self._matrices: dict[tuple[int, int, bytes], Tensor] = {}

    def _load(self, count: int) -> Tensor:
        """All levels one after another, each with a border of nothing around it."""
        store = torch.zeros((count, 4), dtype=self.dtype, device=self.device)
        levels = zip(self.texture.levels, self.texture.masks, self._offsets, strict=True)
        for pixels, mask, offset in levels:
            height, width = mask.shape
            inner = store[offset : offset + (height + 2) * (width + 2)].view(height + 2, width + 2, 4)
            cover, light = upload(mask > 0, self.device), upload(pixels, self.device)
            inner[1:-1, 1:-1, :3] = (light * cover[..., None]).to(self.dtype)
            inner[1:-1, 1:-1, 3] = cover.to(self.dtype)
        return store if self.device.type == "cuda" else store.view(torch.complex128).view(-1)

    @torch.no_grad()
    def render(
        self, views: Views, camera: Camera, size: tuple[int, int], *, reduced: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Pictures (B, 3, height, width) of 0–255, black off the map, and each one's valid share (B,)."""
        pixels, cover = self.render_covered(views, camera, size, reduced=reduced)
        return pixels * (cover >= 0.5), (cover >= 0.5).float().mean(dim=(1, 2, 3))

    def render_reduced(self, views: Views, camera: Camera, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Pictures like whole photos made smaller by area, and how much of each pixel the map covers."""
        return self.render_covered(views, camera, size, reduced=True)

    @torch.no_grad()
    def render_covered(
        self, views: Views, camera: Camera, size: tuple[int, int], *, reduced: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Pictures as the map has them, and how much of each pixel (B, 1, height, width) it covers.

        ``reduced`` pictures look like whole photos that were made smaller by area, as a network gets them:
        sub-samples are gathered evenly instead of by the Gaussian, which would darken the finest detail.
        """
        weights = _even_weights(self.options) if reduced else downsampling_kernel(self.options)
        ratio = output_ratio(self.texture, views, camera, size)
        finer = np.array([supersample(float(r), self.options) for r in ratio])
        out = torch.empty((len(views), 4, size[1], size[0]), dtype=torch.float32, device=self.device)
        for k in np.unique(finer):
            for some in self._pieces(np.flatnonzero(finer == k), size, int(k)):
                sharper = REDUCED_RATIO if reduced else 1.0
                geometry = self._geometry(views.take(some), camera, size, ratio[some] * sharper)
                out[upload(some, self.device)] = self._picture(geometry, size, int(k), weights)
        cover = out[:, 3:]
        return (out[:, :3] / cover.clamp(min=1e-6)).clamp_(0, 255), cover

    def _pieces(self, which: Which, size: tuple[int, int], finer: int) -> list[Which]:
        """Views with the same number of sub-samples, in pieces that fit."""
        per_view = size[0] * size[1] * finer * finer
        piece = max(1, _CHUNK.get(self.device.type, _CHUNK["cuda"]) // per_view)
        return [which[start : start + piece] for start in range(0, len(which), piece)]

    def _geometry(self, views: Views, camera: Camera, size: tuple[int, int], ratio: Floats) -> _Geometry:
        count = len(self._sizes)
        level = np.array([pyramid_level(float(r), count, self.options) for r in ratio])
        affine = pixel_affine(self.texture, views, camera)
        matrix = affine @ ground_from_pixel(views, camera, size)
        matrix[:, :2] /= np.exp2(level)[:, None, None]
        center = np.stack([affine[:, 0, 2], affine[:, 1, 2]], axis=1) / np.exp2(level)[:, None] - 0.5
        whole = np.floor(center)
        matrix[:, :2] -= (whole + 0.5)[:, :, None] * matrix[:, 2:]
        parts = (whole[:, 0], whole[:, 1], self._offsets[level], self._sizes[level, 1], self._sizes[level, 0])
        ints = upload(np.stack(parts).astype(np.int64), self.device, self._index).unbind(0)
        return _Geometry(upload(matrix.astype(np.float32), self.device), *ints)

    def _picture(self, geometry: _Geometry, size: tuple[int, int], finer: int, weights: Weights) -> Tensor:
        """Light and cover, (B, 4, height, width), float32."""
        samples = self._sample(self._words, geometry, *(self._spots(n, finer) for n in size))
        if finer == 1:
            return samples.permute(0, 3, 1, 2).float()
        return self._gather(samples, size, finer, weights).float()

    def _gather(self, samples: Tensor, size: tuple[int, int], finer: int, weights: Weights) -> Tensor:
        """Sub-samples into pixels, in either way the same."""
        if not self.by_products:
            taps = torch.from_numpy(weights).expand(4, 1, 1, -1)
            planes = samples.permute(0, 3, 1, 2)
            planes = conv2d(planes, taps.transpose(2, 3), stride=(finer, 1), groups=4)
            return conv2d(planes, taps, stride=(1, finer), groups=4)
        across, down = (self._gather_matrix(n, finer, weights) for n in size)
        batch, rows, columns, _ = samples.shape
        gathered = torch.matmul(down, samples.view(batch, rows, columns * 4))
        gathered = gathered.view(batch, size[1], columns, 4).transpose(2, 3)
        return torch.matmul(gathered, across.T).permute(0, 2, 1, 3)

    def _spots(self, pixels: int, finer: int) -> Tensor:
        """Sub-sample positions along an axis in output pixels, with those beyond the edge that it needs."""
        reach = finer - 1
        steps = torch.arange(self._count(pixels, finer), dtype=torch.float32, device=self.device)
        return (steps - reach + 0.5) / finer

    def _count(self, pixels: int, finer: int) -> int:
        """How many there are; on a GPU a multiple of eight, as its faster products want them."""
        count = pixels * finer + 2 * (finer - 1)
        return -(-count // 8) * 8 if self.by_products and finer > 1 else count

    def _gather_matrix(self, pixels: int, finer: int, weights: Weights) -> Tensor:
        """Gathering along an axis as a banded matrix, made once for each size."""
        key = pixels, finer, weights.tobytes()
        if key not in self._matrices:
            self._matrices[key] = self._banded(pixels, finer, weights)
        return self._matrices[key]

    def _banded(self, pixels: int, finer: int, weights: Weights) -> Tensor:
        matrix = np.zeros((pixels, self._count(pixels, finer)), np.float32)
        first = np.arange(pixels) * finer + (finer - 1) + finer // 2 - len(weights) // 2
        for tap, weight in enumerate(weights):
            matrix[np.arange(pixels), first + tap] = weight
        return upload(matrix, self.device, self.dtype)


def _samples(store: Tensor, geometry: _Geometry, u: Tensor, v: Tensor) -> Tensor:
    """Bilinear samples (B, rows, columns, 4) at output positions."""
    a, b, c = (
        m[:, 0, None, None] * u + m[:, 1, None, None] * v[:, None] + m[:, 2, None, None]
        for m in geometry.matrix.unbind(1)
    )
    x, part_x = _corner(a / c, geometry.column, geometry.width)
    y, part_y = _corner(b / c, geometry.row, geometry.height)
    stride = (geometry.width + 2)[:, None, None]
    at = geometry.offset[:, None, None] + (y + 1) * stride + (x + 1)
    below = at + stride
    top = torch.lerp(*_both(_read(store, at), _read(store, at + 1), part_x))
    bottom = torch.lerp(*_both(_read(store, below), _read(store, below + 1), part_x))
    return torch.lerp(*_both(top, bottom, part_y))


def _both(one: Tensor, other: Tensor, part: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return one, other, part.to(one.dtype)


def _corner(position: Tensor, whole: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """The pixel before a position and how far past it; off the map both point at the empty border."""
    low = (-1 - whole)[:, None, None].float()
    high = (count - 1 - whole)[:, None, None].float()
    before = torch.minimum(torch.maximum(position.floor(), low), high)
    part = (position - before).clamp(0, 1)
    return before.to(whole.dtype) + whole[:, None, None], part[..., None]


def _read(store: Tensor, at: Tensor) -> Tensor:
    """Whole pixels (…, 4) at these places in memory: rows of four, or words of four where that is faster."""
    if store.dim() == 2:
        return store[at]
    return store.index_select(0, at.reshape(-1)).view(torch.float32).view(*at.shape, 4)


def _even_weights(options: RenderOptions) -> Weights:
    """Weights as many as the Gaussian's that take a pixel's own sub-samples alike and no others."""
    weights = np.zeros_like(downsampling_kernel(options))
    first = (len(weights) - options.supersample) // 2
    weights[first : first + options.supersample] = 1 / options.supersample
    return weights
