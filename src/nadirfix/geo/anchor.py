"""The middle of a map's ground: where cells and references are counted from (ADR 9).

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

#: An edge of the map is known to half of this; finer levels are not read.
_MASK_GSD_M = 0.5
#: The map is taken to be flat paper within squares of so many pixels.
_BLOCK_PX = 512


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
    blocks = [
        _block(texture, level, (left, min(left + _BLOCK_PX, width)), (top, min(top + _BLOCK_PX, height)))
        for top in range(0, height, _BLOCK_PX)
        for left in range(0, width, _BLOCK_PX)
    ]
    col, row, total = np.array(blocks).T
    covered = total > 0
    return col[covered] / total[covered], row[covered] / total[covered], total[covered]


def _block(
    texture: Texture, level: int, cols: tuple[int, int], rows: tuple[int, int]
) -> tuple[float, float, float]:
    """Sums over the valid pixels of a square: column, row, area."""
    _, mask = texture.planes[level].read(cols, rows)
    col, wide = _spans(cols, 2**level, texture.size_px[0])
    row, tall = _spans(rows, 2**level, texture.size_px[1])
    covered = (mask > 0).astype(np.float64)
    by_column = (tall @ covered) * wide
    by_row = (covered @ wide) * tall
    return float(by_column @ col), float(by_row @ row), float(by_row.sum())


def _spans(span: tuple[int, int], step: int, size: int) -> tuple[Floats, Floats]:
    """Middle and width of a level's pixels in level-0 pixels; the last one may reach beyond the map."""
    edges = np.minimum(np.arange(span[0], span[1] + 1) * step, size).astype(np.float64)
    return (edges[:-1] + edges[1:]) / 2, np.diff(edges)


def _ground_per_pixel(texture: Texture, col: Floats, row: Floats) -> Floats:
    """Square metres one pixel covers; in a system that is not true to area it differs over the map."""
    here = texture.place.inverse(col, row)
    right = texture.place.inverse(col + 1, row)
    below = texture.place.inverse(col, row + 1)
    across = (right[0] - here[0]) * (below[1] - here[1])
    down = (below[0] - here[0]) * (right[1] - here[1])
    return np.asarray(np.abs(across - down))
