"""Web tiles of a GeoTIFF, for the stand-in of the service."""

from __future__ import annotations

import io
import threading
from functools import lru_cache
from pathlib import Path

import numpy as np
import rasterio
from PIL import Image
from rasterio.enums import Resampling
from rasterio.transform import from_origin
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform_bounds

HALF_M = 20037508.342789244  # half the width of the web mercator world
TILE_PX = 256


class Tiles:
    """Tiles of one map, transparent beyond it; a lock, because GDAL's files are not for several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._source = rasterio.open(path)
        self.bounds_lonlat = transform_bounds(self._source.crs, "EPSG:4326", *self._source.bounds)
        self.png = lru_cache(maxsize=2000)(self._png)

    def _png(self, z: int, x: int, y: int) -> bytes:
        side_m = 2 * HALF_M / 2**z
        step_m = side_m / TILE_PX
        frame = from_origin(x * side_m - HALF_M, HALF_M - y * side_m, step_m, step_m)
        settings = {"crs": "EPSG:3857", "transform": frame, "width": TILE_PX, "height": TILE_PX}
        with (
            self._lock,
            WarpedVRT(self._source, **settings, add_alpha=True, resampling=Resampling.bilinear) as tile,
        ):
            bands = tile.read([1, 2, 3, tile.count])
        out = io.BytesIO()
        Image.fromarray(np.moveaxis(bands, 0, -1), "RGBA").save(out, "PNG", compress_level=1)
        return out.getvalue()
