"""The middle of a map's ground: where cells and references are counted from.

It moves with the map and does not depend on the file's coordinate system, pixels or empty margins, so that
the same ground is always cut in the same way.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.geo.texture import Texture

__all__ = ["map_anchor"]

Floats = NDArray[np.float64]

#: Fine enough for an outline, coarse enough to be looked at whole.
_MASK_GSD_M = 4.0
#: Within squares of so many mask pixels the map is taken to be flat paper.
_BLOCK_PX = 32


def map_anchor(texture: Texture) -> tuple[float, float]:
    """East and north of the middle of all ground the map has a picture of, by area."""
    col, row, pixels = _blocks(texture)
    east, north = texture.place.inverse(col, row)
    area = pixels * _ground_per_pixel(texture, col, row)
    # Relative to the map, so that the same map elsewhere gives the same digits.
    e0, n0 = texture.place.origin_m
    return (
        e0 + float(np.average(east - e0, weights=area)),
        n0 + float(np.average(north - n0, weights=area)),
    )


def _blocks(texture: Texture) -> tuple[Floats, Floats, Floats]:
    """Squares of the map: the middle of what is valid in each, in level-0 pixels, and how much that is."""
    wanted = math.floor(math.log2(max(_MASK_GSD_M / texture.gsd_m, 1.0)))
    level = min(wanted, texture.level_count - 1)
    width, height = texture.planes[level].size_px
    _, mask = texture.planes[level].read((0, width), (0, height))
    col, wide = _spans(width, 2**level, texture.size_px[0])
    row, tall = _spans(height, 2**level, texture.size_px[1])
    weight = (mask > 0) * tall[:, None] * wide[None, :]
    total = _summed(weight)
    there = total > 0
    return (
        _summed(weight * col[None, :])[there] / total[there],
        _summed(weight * row[:, None])[there] / total[there],
        total[there],
    )


def _spans(count: int, step: int, size: int) -> tuple[Floats, Floats]:
    """Middle and width of a level's pixels in level-0 pixels; the last one may reach beyond the map."""
    edges = np.minimum(np.arange(count + 1) * step, size).astype(np.float64)
    return (edges[:-1] + edges[1:]) / 2, np.diff(edges)


def _summed(values: Floats) -> Floats:
    rows, columns = (np.arange(0, size, _BLOCK_PX) for size in values.shape)
    return np.asarray(np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1))


def _ground_per_pixel(texture: Texture, col: Floats, row: Floats) -> Floats:
    """Square metres one pixel covers; in a system that is not true to area it differs over the map."""
    here = texture.place.inverse(col, row)
    right = texture.place.inverse(col + 1, row)
    below = texture.place.inverse(col, row + 1)
    across = (right[0] - here[0]) * (below[1] - here[1])
    down = (below[0] - here[0]) * (right[1] - here[1])
    return np.asarray(np.abs(across - down))
