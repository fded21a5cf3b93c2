"""The crop as it was published: the photo enlarged by a cubic, its middle cut out, and that averaged.

Each of these steps is linear and goes along one axis after the other, so that together they are one matrix
for each axis. The enlarged picture is never made; but for its rounding to bytes the outcome is the same
(ADR 42).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nadirfix.image.resampling import (
    CACHED,
    AxisWeights,
    Picture,
    Pixels,
    apply_weights,
    blocks,
    overlap,
    per_channel,
    pixel_span,
)

__all__ = ["cubic_weights", "enlarged_then_averaged"]

Floats = NDArray[np.float64]

#: How sharp the cubic is, and how many pixels to either side it reaches: Keys' choice, and Pillow's.
_SHARPNESS, _REACH_PX = -0.5, 2


def enlarged_then_averaged(
    pixels: Pixels, window_px: tuple[float, float], *, width_px: int, height_px: int
) -> Picture:
    """The central window enlarged to the size of the picture, and averaged to this size."""
    rows, columns = pixels.shape[:2]
    down = cubic_weights(rows, _enlarged_px(rows, window_px[1]), height_px)
    span, across = _rgb_weights(columns, _enlarged_px(columns, window_px[0]), width_px)
    return np.clip(apply_weights(pixels, span, down, across), 0, 255)


def _enlarged_px(frame_px: int, window_px: float) -> int:
    """How large the picture becomes: as published, by whole pixels, as many on one side as on the other."""
    return frame_px + 2 * round((frame_px / window_px - 1) * frame_px / 2)


@lru_cache(maxsize=CACHED)
def cubic_weights(frame_px: int, enlarged_px: float, count: int) -> AxisWeights:
    """Along an axis: enlarged by a cubic, the middle as large as the frame, averaged to so many pixels."""
    edges = np.linspace(0, frame_px, count + 1)
    step = edges[1] - edges[0]
    made = []
    for some in blocks(count, step * frame_px / enlarged_px):
        between = edges[some.start : some.stop + 1]
        middle = pixel_span(between, frame_px, margin=0)
        old, weight = _cubic(middle, frame_px, enlarged_px)
        made.append((some, *_trimmed(old, overlap(between, middle) @ weight / step)))
    return made


@lru_cache(maxsize=CACHED)
def _rgb_weights(frame_px: int, enlarged_px: float, count: int) -> tuple[slice, AxisWeights]:
    """The columns it takes, and the weight of each colour of them."""
    weights = cubic_weights(frame_px, enlarged_px, count)
    span = slice(weights[0][1].start, weights[-1][1].stop)
    return span, per_channel(weights, span.start)


def _trimmed(old: slice, weights: Floats) -> tuple[slice, Picture]:
    """Without the outer pixels of weight zero: many, where little is enlarged."""
    used = np.flatnonzero(weights.any(axis=0))
    first, beyond = int(used[0]), int(used[-1]) + 1
    return slice(old.start + first, old.start + beyond), np.asarray(weights[:, first:beyond], np.float32)


def _cubic(middle: slice, frame_px: int, enlarged_px: float) -> tuple[slice, Floats]:
    """Old pixels under some of the enlarged picture's middle, and the weight of each.

    At the frame's edge the cubic is cut off, and what is left of it counts for all.
    """
    first = (enlarged_px - frame_px) / 2
    centre = (np.arange(middle.start, middle.stop) + first + 0.5) * frame_px / enlarged_px
    old = pixel_span(centre, frame_px, margin=_REACH_PX)
    weight = _keys(np.arange(old.start, old.stop) + 0.5 - centre[:, None])
    return old, weight / weight.sum(axis=1, keepdims=True)


def _keys(off: Floats) -> Floats:
    """The cubic: 1 at its middle, 0 at all other whole pixels."""
    x, a = np.abs(off), _SHARPNESS
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = a * (((x - 5) * x + 8) * x - 4)
    return np.asarray(np.where(x < 1, near, np.where(x < _REACH_PX, far, 0.0)), np.float64)
