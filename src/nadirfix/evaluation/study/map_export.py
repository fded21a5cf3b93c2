"""The map inside a bundle as a GeoTIFF again, so that variants can be built where the original is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.files import atomic_file
from nadirfix.geo.texture import Texture
from nadirfix.types import Point, View

__all__ = ["write_map"]

Bytes = NDArray[np.uint8]
Strip = tuple[int, Bytes, Bytes]

_STRIP_PX = 1024
#: A map whose pixels lie on a plain grid to within this is copied; any other is resampled onto one.
_STRAIGHT_PX = 0.01


def write_map(texture: Texture, path: Path) -> None:
    """Write the texture as a map in its UTM zone; pixels that lie on a plain grid stay as they are."""
    affine = _affine(texture)
    if affine is not None:
        _write(path, affine, texture.size_px, texture.epsg, _copied(texture))
        return
    west, south, east, north = texture.bounds
    gsd_m = texture.gsd_m
    size = round((east - west) / gsd_m), round((north - south) / gsd_m)
    level = (gsd_m, 0.0, west, 0.0, -gsd_m, north)
    _write(path, level, size, texture.epsg, _resampled(texture, size))


def _affine(texture: Texture) -> tuple[float, ...] | None:
    """East and north of columns and rows, where they lie on a plain grid."""
    width, height = texture.size_px
    cols, rows = np.array([0.0, width, 0.0, width]), np.array([0.0, 0.0, height, height])
    east, north = texture.place.inverse(cols, rows)
    bent = np.hypot(east[0] - east[1] - east[2] + east[3], north[0] - north[1] - north[2] + north[3])
    if bent > _STRAIGHT_PX * texture.gsd_m:
        return None
    right = (east[1] - east[0]) / width, (north[1] - north[0]) / width
    down = (east[2] - east[0]) / height, (north[2] - north[0]) / height
    return right[0], down[0], float(east[0]), right[1], down[1], float(north[0])


def _copied(texture: Texture) -> Iterator[Strip]:
    plane, (width, height) = texture.planes[0], texture.size_px
    for top in range(0, height, _STRIP_PX):
        yield top, *plane.read((0, width), (top, min(top + _STRIP_PX, height)))


def _resampled(texture: Texture, size: tuple[int, int]) -> Iterator[Strip]:
    (width, height), (west, _, _, north), gsd_m = size, texture.bounds, texture.gsd_m
    for top in range(0, height, _STRIP_PX):
        rows = min(_STRIP_PX, height - top)
        middle = Point(west + width / 2 * gsd_m, north - (top + rows / 2) * gsd_m, texture.epsg)
        camera = Camera(width, rows, 1000.0, 1000.0)
        rendered = texture.render(View(middle, camera.altitude_m(gsd_m)), camera)
        yield top, rendered.pixels, rendered.valid


def _write(
    path: Path, affine: tuple[float, ...], size: tuple[int, int], epsg: int, strips: Iterator[Strip]
) -> None:
    """Without loss, with a mask: a second generation of JPEG would make variants worse than the bundle."""
    import rasterio

    profile, settings = _profile(affine, size, epsg), rasterio.Env(GDAL_TIFF_INTERNAL_MASK="YES")
    with atomic_file(path) as scratch, settings, rasterio.open(scratch, "w", **profile) as sink:
        for top, pixels, mask in strips:
            window = ((top, top + pixels.shape[0]), (0, pixels.shape[1]))
            sink.write(np.moveaxis(pixels, 2, 0), window=window)
            sink.write_mask(mask > 0, window=window)


def _profile(affine: tuple[float, ...], size: tuple[int, int], epsg: int) -> dict[str, Any]:
    from rasterio.transform import Affine

    return {
        "driver": "GTiff",
        "width": size[0],
        "height": size[1],
        "count": 3,
        "dtype": "uint8",
        "crs": f"EPSG:{epsg}",
        "transform": Affine(*affine),
        "tiled": True,
        "compress": "deflate",
        "predictor": 2,
    }
