"""Image pyramids: from one level to the next coarser one.

A plain mean of 2 × 2 pixels lets fine rows and tiles come back as ghosts a few levels up; six taps per axis
keep what the next level can show and drop the rest, over valid pixels only.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["REACH_PX", "halve", "halve_times"]

Bytes = NDArray[np.uint8]

#: Response c³(2 − c²) with c = cos(πf): smooth, and nothing left at the finer level's Nyquist frequency.
_TAPS = np.array([-1, 3, 14, 14, 3, -1], np.float32) / 32

#: Pixels of the coarser picture next to a cut that would look different without the cut.
REACH_PX = 4


def halve(pixels: Bytes, mask: Bytes) -> tuple[Bytes, Bytes]:
    """The next level of a pyramid, as pixels and mask; an odd row or column at the end is repeated."""
    pixels, mask = _even(pixels), _even(mask)
    if mask.all():
        return np.ascontiguousarray(_filtered(pixels)[::2, ::2]), mask[::2, ::2].copy()
    cover = (mask > 0).astype(np.float32)
    share = _filtered(cover)[::2, ::2]
    light = _filtered(pixels * cover[..., None])[::2, ::2]
    mean = light / np.maximum(share, 0.25)[..., None]
    return np.rint(np.clip(mean, 0, 255)).astype(np.uint8), np.where(share >= 0.5, 255, 0).astype(np.uint8)


def halve_times(pixels: Bytes, mask: Bytes, times: int) -> tuple[Bytes, Bytes]:
    """The level so many steps further up."""
    for _ in range(times):
        pixels, mask = halve(pixels, mask)
    return pixels, mask


def _filtered(layer: NDArray[np.integer | np.floating]) -> NDArray[np.integer | np.floating]:
    return cv2.sepFilter2D(layer, -1, _TAPS, _TAPS, anchor=(2, 2), borderType=cv2.BORDER_REPLICATE)


def _even(layer: Bytes) -> Bytes:
    down, across = layer.shape[0] % 2, layer.shape[1] % 2
    pad = ((0, down), (0, across)) + ((0, 0),) * (layer.ndim - 2)
    return np.pad(layer, pad, mode="edge") if down or across else layer
