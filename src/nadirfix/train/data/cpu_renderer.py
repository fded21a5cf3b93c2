"""Rendering batches of nadir views on a machine without a GPU: OpenCV is far faster there than tensors."""

from __future__ import annotations

from typing import Protocol

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadirfix.camera import Camera
from nadirfix.geo.render import pyramid_level, supersample
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views, ground_from_pixel
from nadirfix.options.map import RenderOptions
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.data.sampling_geometry import REDUCED_RATIO, output_ratio, pixel_affine

__all__ = ["BatchRenderer", "CpuRenderer", "renderer_on"]

Floats = NDArray[np.float64]


class BatchRenderer(Protocol):
    """Renders many views of a map at once, on the device that trains."""

    texture: Texture
    device: torch.device

    def render_reduced(self, views: Views, camera: Camera, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Pictures like whole photos made smaller by area, and how much of each pixel the map covers."""


def renderer_on(texture: Texture, device: torch.device | str) -> BatchRenderer:
    """The renderer that is fastest on this device."""
    where = torch.device(device)
    return CpuRenderer(texture) if where.type == "cpu" else DeviceRenderer(texture, where)


class CpuRenderer:
    """A map in main memory: the same pictures as ``DeviceRenderer``, one after the other."""

    def __init__(self, texture: Texture, *, options: RenderOptions | None = None) -> None:
        self.texture, self.device = texture, torch.device("cpu")
        self.options = options or RenderOptions()
        self._levels = [
            np.dstack([cv2.bitwise_and(p, p, mask=m), m])
            for p, m in zip(texture.levels, texture.masks, strict=True)
        ]

    def render_reduced(self, views: Views, camera: Camera, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Pictures (B, 3, height, width) like whole photos made smaller by area, and their cover."""
        ratio = output_ratio(self.texture, views, camera, size)
        level_0 = pixel_affine(self.texture, views, camera) @ ground_from_pixel(views, camera, size)
        light = np.stack([self._picture(m, float(r), size) for m, r in zip(level_0, ratio, strict=True)])
        planes = torch.from_numpy(light).permute(0, 3, 1, 2).float()
        cover = planes[:, 3:] / 255
        return (planes[:, :3] / cover.clamp(min=1e-6)).clamp_(0, 255), cover

    def _picture(self, level_0: Floats, ratio: float, size: tuple[int, int]) -> NDArray[np.uint8]:
        """Light and cover of one view: sub-samples gathered evenly."""
        samples = self._samples(level_0, ratio * REDUCED_RATIO, size, supersample(ratio, self.options))
        return np.asarray(cv2.resize(samples, size, interpolation=cv2.INTER_AREA), np.uint8)

    def _samples(self, level_0: Floats, ratio: float, size: tuple[int, int], finer: int) -> NDArray[np.uint8]:
        """Bilinear samples on a grid so many times finer than the picture."""
        level = pyramid_level(ratio, len(self._levels), self.options)
        to_level = np.array([[2.0**-level, 0, -0.5], [0, 2.0**-level, -0.5], [0, 0, 1]]) @ level_0
        from_sub = to_level @ np.array([[1 / finer, 0, 0.5 / finer], [0, 1 / finer, 0.5 / finer], [0, 0, 1]])
        grid, flags = (size[0] * finer, size[1] * finer), cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return np.asarray(cv2.warpPerspective(self._levels[level], from_sub, grid, flags=flags), np.uint8)
