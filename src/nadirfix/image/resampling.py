"""Resampling along the axes of a picture: the weight of each old pixel in each new one, and their sums.

A new pixel is made of a few old ones, so that the matrix is nearly all zeros. It is kept in blocks of a few
new pixels: only the part that is not zero is ever multiplied, and what is multiplied stays in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CACHED",
    "AxisWeights",
    "Picture",
    "Pixels",
    "apply_weights",
    "area_weights",
    "area_weights_rgb",
    "blocks",
    "overlap",
    "per_channel",
    "pixel_span",
]

#: A photo: rows, columns, RGB, 0-255; decoded bytes, or already resampled.
Pixels = NDArray[np.uint8] | NDArray[np.float32]
#: A resampled one, still 0-255 but not rounded: rounding is a faint noise that a spectrum would show.
Picture = NDArray[np.float32]
Floats = NDArray[np.float64]
#: Along an axis, some new pixels at a time: the old ones under them, and the weight of each in each.
AxisWeights = list[tuple[slice, slice, Picture]]

#: Rows or columns of the photo that are summed at a time: measured, and about what a cache holds.
_SLAB_PX = 18.0
#: Multiplications in a product below which numpy's library starts no threads: on a busy machine waiting for
#: them costs many times the product.
_ONE_THREAD = 2**18
#: Weights that are cached, some hundred kilobytes each: one along each side, for every altitude class.
#: Photos of a folder come from the same few altitudes, and making a matrix takes longer than using it.
CACHED = 32


def apply_weights(pixels: Pixels, span: slice, down: AxisWeights, across: AxisWeights) -> Picture:
    """The picture between these columns, resampled along its columns and then along its rows.

    ``across`` counts columns from the first of the span, and colours apart.
    """
    flat = pixels.reshape(len(pixels), -1)[:, 3 * span.start : 3 * span.stop]
    lower = np.empty((down[-1][0].stop, flat.shape[1]), np.float32)
    for some, y, weights in down:
        for part in _parts(flat.shape[1], weights):
            np.matmul(weights, flat[y, part].astype(np.float32), out=lower[some, part])
    sums = np.empty((len(lower), across[-1][0].stop), np.float32)
    for new, under, each in across:
        for part in _parts(len(lower), each):
            sums[part, new] = lower[part, under] @ each
    return sums.reshape(len(lower), -1, 3)


@lru_cache(maxsize=CACHED)
def area_weights(first: float, last: float, count: int, frame_px: int) -> AxisWeights:
    """The mean between each pair of edges, fractions of pixels included: exact."""
    edges = np.linspace(first, last, count + 1)
    step = edges[1] - edges[0]
    made = []
    for some in blocks(count, step):
        between = edges[some.start : some.stop + 1]
        old = pixel_span(between, frame_px, margin=0)
        made.append((some, old, np.asarray(overlap(between, old) / step, np.float32)))
    return made


@lru_cache(maxsize=CACHED)
def area_weights_rgb(first: float, last: float, count: int, frame_px: int) -> AxisWeights:
    """The same along a row."""
    return per_channel(area_weights(first, last, count, frame_px))


def overlap(edges: Floats, pixels: slice) -> Floats:
    """How much of each pixel lies between each pair of edges."""
    pixel = np.arange(pixels.start, pixels.stop)
    shared = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    return np.asarray(np.clip(shared, 0, None), np.float64)


def per_channel(weights: AxisWeights, first: int = 0) -> AxisWeights:
    """Weights along a row, where the three colours of a pixel lie side by side, counted from this column."""
    return [
        (
            slice(3 * some.start, 3 * some.stop),
            slice(3 * (old.start - first), 3 * (old.stop - first)),
            np.kron(weight.T, np.eye(3, dtype=np.float32)),
        )
        for some, old, weight in weights
    ]


def blocks(count: int, step: float) -> Iterator[slice]:
    """New pixels a few at a time, where one is so many old ones wide."""
    size = max(1, round(_SLAB_PX / step))
    return (slice(begin, min(begin + size, count)) for begin in range(0, count, size))


def pixel_span(edges: Floats, frame_px: int, *, margin: int) -> slice:
    """The whole pixels that lie, if only in part, between the outermost edges, and some around them."""
    first, beyond = int(np.floor(edges[0])) - margin, int(np.ceil(edges[-1])) + margin
    return slice(max(0, first), min(frame_px, beyond))


def _parts(count: int, matrix: Picture) -> Iterator[slice]:
    """Pieces of an axis for which a product with this matrix stays on the thread that asks for it."""
    size = max(1, _ONE_THREAD // matrix.size)
    return (slice(start, start + size) for start in range(0, count, size))
