"""Which ground a map really holds, and which of it is kept back from training."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views, ground_from_pixel
from nadirfix.random_numbers import hashed

__all__ = ["BLOCK_M", "Ground", "fingerprint", "held_out", "sharp_altitude_m"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Side of the squares that are either trained on or kept back, by where a view's centre lies.
BLOCK_M = 20.0
_HELD_OUT_SHARE = 0.1
_MASK_GSD_M = 4.0  # fine enough to tell how much of a view is on the map
_LATTICE = 9


class Ground:
    """The outline of a map with its holes, coarse enough to be asked about thousands of views at once."""

    def __init__(self, texture: Texture) -> None:
        self.texture = texture
        wanted = math.floor(math.log2(max(_MASK_GSD_M / texture.gsd_m, 1.0)))
        level = min(wanted, texture.level_count - 1)
        width, height = texture.planes[level].size_px
        _, mask = texture.planes[level].read((0, width), (0, height))
        self.bounds = texture.bounds
        self._step, self._there = 2.0**level, np.pad(mask > 0, 1)

    def valid_share(self, views: Views, camera: Camera) -> Floats:
        """How much of each view lies on the map."""
        steps = (np.arange(_LATTICE) + 0.5) / _LATTICE
        u, v = (g.ravel() for g in np.meshgrid(steps, steps))
        spots = np.stack([u, v, np.ones_like(u)])
        x, y, w = np.moveaxis(ground_from_pixel(views, camera, (1, 1)) @ spots, 1, 0)
        there = self.covers(views.east_m[:, None] + x / w, views.north_m[:, None] + y / w)
        return np.asarray(there.mean(axis=1))

    def covers(self, east_m: Floats, north_m: Floats) -> Flags:
        """Whether the map has a picture of each place."""
        col, row = self.texture.pixel_from_ground(east_m, north_m, self.texture.epsg)
        across = np.clip(np.floor(col / self._step) + 1, 0, self._there.shape[1] - 1).astype(np.int64)
        down = np.clip(np.floor(row / self._step) + 1, 0, self._there.shape[0] - 1).astype(np.int64)
        return np.asarray(self._there[down, across])


def held_out(east_m: Floats, north_m: Floats, *, block_m: float = BLOCK_M) -> Flags:
    """Whether a place belongs to the tenth of all blocks that validation looks at and training never does."""
    column = np.floor(np.asarray(east_m) / block_m).astype(np.int64).astype(np.uint64)
    row = np.floor(np.asarray(north_m) / block_m).astype(np.int64).astype(np.uint64)
    words = hashed(hashed(column) + row)
    return np.asarray(words < np.uint64(int(_HELD_OUT_SHARE * 2**64)))


def sharp_altitude_m(texture: Texture, camera: Camera, width_px: int) -> float:
    """The altitude below which a network of this input width sees the map's own blur.

    There the network's pixels are smaller than the map's: how blurred a view is gives its altitude away,
    which works on views of this map and on nothing else.
    """
    return texture.gsd_m * camera.fx_px * width_px / camera.width_px


def fingerprint(texture: Texture) -> str:
    """A short name for a map's content; another date of the same place has another one."""
    level = min(2, texture.level_count - 1)
    width, height = texture.planes[level].size_px
    pixels, mask = texture.planes[level].read((0, width), (0, height))
    digest = hashlib.sha256(repr((texture.size_px, texture.epsg, texture.bounds)).encode())
    digest.update(pixels.tobytes())
    digest.update(mask.tobytes())
    return digest.hexdigest()[:16]
