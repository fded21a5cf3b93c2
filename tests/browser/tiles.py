"""Web tiles of a GeoTIFF, for the stand-in of the service."""

from __future__ import annotations

import io
import threading
from functools import lru_cache
from pathlib import Path

import numpy as np
import rasterio
from PIL import Image
from rasterio.vrt import WarpedVRT
from rasterio.warp import transform_bounds
from rasterio.windows import from_bounds

HALF_M = 20037508.342789244  # half the width of the web mercator world
TILE_PX = 256


class Tiles:
    """Tiles of one map; a lock, because GDAL's files are not for several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._vrt = WarpedVRT(
            rasterio.open(path), crs="EPSG:3857", add_alpha=True, resampling=rasterio.enums.Resampling.bilinear
        )
        self.bounds_lonlat = transform_bounds("EPSG:3857", "EPSG:4326", *self._vrt.bounds)
        self.png = lru_cache(maxsize=2000)(self._png)

    def _png(self, z: int, x: int, y: int) -> bytes:
        side_m = 2 * HALF_M / 2**z
        west, north = x * side_m - HALF_M, HALF_M - y * side_m
        window = from_bounds(west, north - side_m, west + side_m, north, self._vrt.transform)
        with self._lock:
            bands = self._vrt.read(
                window=window, out_shape=(self._vrt.count, TILE_PX, TILE_PX), boundless=True, fill_value=0,
                indexes=[1, 2, 3, self._vrt.count],
            )  # fmt: skip
        out = io.BytesIO()
        Image.fromarray(np.moveaxis(bands, 0, -1), "RGBA").save(out, "PNG", compress_level=1)
        return out.getvalue()
