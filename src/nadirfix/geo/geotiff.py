"""Writing a picture as a map: one GeoTIFF, tiled and with overviews, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.files import atomic_file

__all__ = ["write_geotiff"]

_TILE_PX = 512
_QUALITY = 95
_CACHE_ROWS = 6  # rows of tiles GDAL may hold: one being written and those its overviews are made of
_LEAST_CACHE_BYTES = 256_000_000

Affine = tuple[float, float, float, float, float, float]


def write_geotiff(path: Path, pixels: NDArray[np.uint8], *, affine: Affine, epsg: int) -> None:
    """Write a picture with its place on the ground; JPEG inside, sharp enough to measure on.

    ``affine`` is map_from_pixel in the order a, b, c, d, e, f: x = a·col + b·row + c, y = d·col + e·row + f.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ValueError(f"a picture is (height, width, 3) of uint8, not {pixels.shape} of {pixels.dtype}")
    with atomic_file(path) as scratch:
        scratch.write_bytes(_encoded(pixels, affine, epsg))


def _encoded(pixels: NDArray[np.uint8], affine: Affine, epsg: int) -> bytes:
    """The file's bytes, made in memory: on a full disk GDAL leaves blocks out and says nothing."""
    import rasterio
    from rasterio.enums import Resampling
    from rasterio.io import MemoryFile

    with rasterio.Env(**_settings(pixels.shape[1])), MemoryFile() as memory:
        with memory.open(**_profile(pixels, affine, epsg)) as sink:
            for row in range(0, pixels.shape[0], _TILE_PX):
                strip = np.moveaxis(pixels[row : row + _TILE_PX], 2, 0)
                sink.write(strip, window=((row, row + strip.shape[1]), (0, strip.shape[2])))
        levels = _levels(pixels.shape)
        if levels:
            with rasterio.open(memory.name, "r+") as sink:
                sink.build_overviews(levels, Resampling.average)
        return bytes(memory.getbuffer())


def _settings(width_px: int) -> dict[str, Any]:
    """Its cache outlives whoever set it, and a small one has GDAL code tiles twice, each time worse."""
    return {
        "GDAL_NUM_THREADS": "ALL_CPUS",
        "GDAL_CACHEMAX": max(_LEAST_CACHE_BYTES, _CACHE_ROWS * _TILE_PX * width_px * 3),
        "JPEG_QUALITY_OVERVIEW": str(_QUALITY),
        "PHOTOMETRIC_OVERVIEW": "YCBCR",
    }


def _profile(pixels: NDArray[np.uint8], affine: Affine, epsg: int) -> dict[str, Any]:
    from rasterio.transform import Affine as RasterAffine

    return {
        "driver": "GTiff",
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "count": 3,
        "dtype": "uint8",
        "crs": f"EPSG:{epsg}",
        "transform": RasterAffine(*affine),
        "tiled": True,
        "blockxsize": _TILE_PX,
        "blockysize": _TILE_PX,
        "compress": "JPEG",
        "jpeg_quality": _QUALITY,
        "photometric": "YCBCR",
        "interleave": "pixel",
        "bigtiff": "IF_SAFER",
    }


def _levels(shape: tuple[int, ...]) -> list[int]:
    """Halvings until the whole map fits one tile."""
    levels, factor = [], 2
    while max(shape[:2]) * 2 / factor > _TILE_PX:
        levels.append(factor)
        factor *= 2
    return levels
