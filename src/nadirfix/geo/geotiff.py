"""Writing a picture as a map: one GeoTIFF, tiled and with overviews, whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.output import atomic_file

__all__ = ["write_geotiff"]

_TILE_PX = 512
_QUALITY = 95
_STRIP_PX = 2048

Affine = tuple[float, float, float, float, float, float]


def write_geotiff(path: Path, pixels: NDArray[np.uint8], *, affine: Affine, epsg: int) -> None:
    """Write a picture with its place on the ground; JPEG inside, sharp enough to measure on.

    ``affine`` is map_from_pixel in the order a, b, c, d, e, f: x = a·col + b·row + c, y = d·col + e·row + f.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ValueError(f"a picture is (height, width, 3) of uint8, not {pixels.shape} of {pixels.dtype}")
    with atomic_file(path) as scratch, _gdal_errors():
        _write(scratch, pixels, affine, epsg)
        _check(scratch, pixels.shape)


def _write(path: Path, pixels: NDArray[np.uint8], affine: Affine, epsg: int) -> None:
    import rasterio
    from rasterio.enums import Resampling

    quality = {"JPEG_QUALITY_OVERVIEW": str(_QUALITY), "PHOTOMETRIC_OVERVIEW": "YCBCR"}
    with rasterio.Env(GDAL_NUM_THREADS="ALL_CPUS", **quality):
        with rasterio.open(path, "w", **_profile(pixels, affine, epsg)) as sink:
            for row in range(0, pixels.shape[0], _STRIP_PX):
                strip = np.moveaxis(pixels[row : row + _STRIP_PX], 2, 0)
                sink.write(strip, window=((row, row + strip.shape[1]), (0, strip.shape[2])))
        levels = _levels(pixels.shape)
        if levels:
            with rasterio.open(path, "r+") as sink:
                sink.build_overviews(levels, Resampling.average)


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


def _check(path: Path, shape: tuple[int, ...]) -> None:
    """GDAL may notice a full disk only on closing, and then only say so in a log: read it back."""
    import rasterio

    with rasterio.open(path) as source:
        if source.shape != shape[:2] or source.overviews(1) != _levels(shape):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        for _, window in source.block_windows(1):
            source.read(1, window=window)
        for k in range(len(_levels(shape))):
            with rasterio.open(path, overview_level=k) as smaller:
                smaller.read(1)


@contextmanager
def _gdal_errors() -> Iterator[None]:
    """What GDAL calls a failed write or an unreadable result is, on a path we just opened, a full disk."""
    from rasterio.errors import RasterioError, RasterioIOError

    try:
        yield
    except (RasterioIOError, RasterioError) as error:
        raise OSError(_reason(error), str(error)) from error


def _reason(error: BaseException) -> int:
    words = f"{error} {error.__cause__ or ''}".lower()
    if "permission" in words or "no such file" in words or "not a directory" in words:
        return errno.EACCES
    return errno.ENOSPC
