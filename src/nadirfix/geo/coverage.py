"""Which ground a map covers, and which part of it is held out from training."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views, ground_from_pixel
from nadirfix.random_numbers import hashed

__all__ = ["BLOCK_M", "MapCoverage", "fingerprint", "held_out", "sharp_altitude_m"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Side of the squares that are either trained on or held out, by where a view's centre lies.
BLOCK_M = 20.0
_HELD_OUT_SHARE = 0.1
_MASK_GSD_M = 4.0  # fine enough to tell how much of a view is on the map
_LATTICE = 9


class MapCoverage:
    """The outline of a map with its holes, coarse enough to test thousands of views at once."""

    def __init__(self, texture: Texture) -> None:
        self.texture = texture
        wanted = math.floor(math.log2(max(_MASK_GSD_M / texture.gsd_m, 1.0)))
        level = min(wanted, texture.level_count - 1)
        width, height = texture.planes[level].size_px
        _, mask = texture.planes[level].read((0, width), (0, height))
        self.bounds = texture.bounds
        self._step, self._mask = 2.0**level, np.pad(mask > 0, 1)

    def valid_share(self, views: Views, camera: Camera) -> Floats:
        """How much of each view lies on the map."""
        steps = (np.arange(_LATTICE) + 0.5) / _LATTICE
        u, v = (g.ravel() for g in np.meshgrid(steps, steps))
        pixels = np.stack([u, v, np.ones_like(u)])
        x, y, w = np.moveaxis(ground_from_pixel(views, camera, (1, 1)) @ pixels, 1, 0)
        covered = self.covers(views.east_m[:, None] + x / w, views.north_m[:, None] + y / w)
        return np.asarray(covered.mean(axis=1))

    def covers(self, east_m: Floats, north_m: Floats) -> Flags:
        """Whether the map has a picture of each place."""
        col, row = self.texture.pixel_from_ground(east_m, north_m, self.texture.epsg)
        across = np.clip(np.floor(col / self._step) + 1, 0, self._mask.shape[1] - 1).astype(np.int64)
        down = np.clip(np.floor(row / self._step) + 1, 0, self._mask.shape[0] - 1).astype(np.int64)
        return np.asarray(self._mask[down, across])


def held_out(east_m: Floats, north_m: Floats, *, block_m: float = BLOCK_M) -> Flags:
    """Whether a place belongs to the tenth of all blocks that are for validation and never for training."""
    column = np.floor(np.asarray(east_m) / block_m).astype(np.int64).astype(np.uint64)
    row = np.floor(np.asarray(north_m) / block_m).astype(np.int64).astype(np.uint64)
    words = hashed(hashed(column) + row)
    return np.asarray(words < np.uint64(int(_HELD_OUT_SHARE * 2**64)))


def sharp_altitude_m(texture: Texture, camera: Camera, width_px: int) -> float:
    """The altitude below which the map's own blur shows at a network's input width.

    There the network's pixels are smaller than the map's: how blurred a view is gives its altitude away, but
    only on views of this map.
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
