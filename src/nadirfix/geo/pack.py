"""From a map on disk to a texture: the step after which GDAL is no longer needed.

One file keeps its own pixels; several files, which may differ in everything, are laid onto one UTM grid.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.errors import MapError
from nadirfix.files import Progress, atomic_file, quiet
from nadirfix.geo.crs import transform
from nadirfix.geo.geomap import Bounds, GeoMap
from nadirfix.geo.polynomial import Polynomial
from nadirfix.geo.pyramid import REACH_PX, halve
from nadirfix.geo.raster import Raster
from nadirfix.geo.texture import SMALLEST_LEVEL_PX, Texture
from nadirfix.geo.tiles import TileWriter
from nadirfix.options.map import TextureOptions
from nadirfix.types import Point, View

__all__ = ["pack_texture"]

Bytes = NDArray[np.uint8]

#: Levels made while a strip is at hand; coarser ones are made from what is left of all strips.
_STRIP_LEVELS = 3


class _PixelGrid(Protocol):
    """The pixels to be packed, on one grid: read by rows, with their georeference."""

    size_px: tuple[int, int]
    place: Polynomial

    def rows(self, top: int, bottom: int) -> tuple[Bytes, Bytes]:
        """Pixels and mask of some rows."""


def pack_texture(
    geomap: GeoMap,
    path: Path,
    *,
    part: Bounds | None = None,
    options: TextureOptions | None = None,
    progress: Progress = quiet,
) -> Texture:
    """Write the map, or the part of it within these bounds (UTM metres), as a texture file."""
    grid = _pixel_grid(geomap, part)
    options = options or TextureOptions()
    with atomic_file(path) as scratch, TileWriter(scratch, options=options) as writer:
        sizes = _write_levels(grid, writer, options.tile_px, progress)
        writer.finish(sizes, {"place": grid.place.to_dict(), "epsg": geomap.epsg})
    return Texture.load(path)


def _write_levels(
    grid: _PixelGrid, writer: TileWriter, tile_px: int, progress: Progress
) -> list[tuple[int, int]]:
    """All levels of the pyramid, the fine ones strip by strip; returns their sizes."""
    width, height = grid.size_px
    strip, spare = tile_px * 2**_STRIP_LEVELS, REACH_PX * 2**_STRIP_LEVELS
    left = []
    for top in range(0, height, strip):
        first, bottom = max(0, top - spare), min(top + strip, height)
        piece = grid.rows(first, min(height, bottom + spare))
        for level in range(_STRIP_LEVELS):
            writer.add(level, top >> level, *_cut(piece, top - first, bottom - first, level))
            piece = halve(*piece)
        left.append(_cut(piece, top - first, bottom - first, _STRIP_LEVELS))
        progress("texture", bottom, height)
    whole = np.concatenate([p for p, _ in left]), np.concatenate([m for _, m in left])
    sizes = [(_halved(width, level), _halved(height, level)) for level in range(_STRIP_LEVELS)]
    return sizes + _write_coarse(whole, writer)


def _cut(piece: tuple[Bytes, Bytes], top: int, bottom: int, level: int) -> tuple[Bytes, Bytes]:
    """The rows of a halved strip that belong to it, without those read to halve it rightly."""
    rows = slice(top >> level, _halved(bottom, level))
    return piece[0][rows], piece[1][rows]


def _write_coarse(piece: tuple[Bytes, Bytes], writer: TileWriter) -> list[tuple[int, int]]:
    sizes: list[tuple[int, int]] = []
    while True:
        writer.add(_STRIP_LEVELS + len(sizes), 0, *piece)
        height, width = piece[1].shape
        sizes.append((width, height))
        if max(width, height) <= SMALLEST_LEVEL_PX:
            return sizes
        piece = halve(*piece)


def _halved(size: int, times: int) -> int:
    for _ in range(times):
        size = (size + 1) // 2
    return size


def _pixel_grid(geomap: GeoMap, part: Bounds | None) -> _PixelGrid:
    if len(geomap.rasters) == 1:
        return _OwnPixels(geomap.rasters[0], geomap.epsg, part)
    return _UtmGrid(geomap, part or geomap.bounds)


class _OwnPixels:
    """A window of a single file, as it is."""

    def __init__(self, raster: Raster, epsg: int, part: Bounds | None) -> None:
        self._raster = raster
        self._cols, self._rows = _window(raster, epsg, part)
        self.size_px = (self._cols[1] - self._cols[0], self._rows[1] - self._rows[0])
        col, row = np.meshgrid(np.linspace(0, self.size_px[0], 17), np.linspace(0, self.size_px[1], 17))
        x, y = raster.at(col + self._cols[0], row + self._rows[0])
        ground = transform(raster.wkt, f"EPSG:{epsg}", x, y)
        self.place = Polynomial.best(ground, (col, row), size_px=self.size_px)

    def rows(self, top: int, bottom: int) -> tuple[Bytes, Bytes]:
        """Pixels and mask of some rows."""
        first = self._rows[0]
        return self._raster.read_pixels(self._cols, (first + top, first + bottom))


class _UtmGrid:
    """Several files laid onto one north-up grid at the finest one's resolution."""

    def __init__(self, geomap: GeoMap, part: Bounds) -> None:
        plain = dataclasses.replace(geomap.options, supersample=1)
        self._map = GeoMap(geomap.rasters, options=plain)
        gsd, (west, south, east, north) = geomap.gsd_m, part
        self.size_px = (max(1, round((east - west) / gsd)), max(1, round((north - south) / gsd)))
        self._corner, self._gsd_m = (west, north), gsd
        self.place = Polynomial.from_affine((gsd, 0.0, west, 0.0, -gsd, north), self.size_px)

    def rows(self, top: int, bottom: int) -> tuple[Bytes, Bytes]:
        """Pixels and mask of some rows."""
        width, height, focal_px = self.size_px[0], bottom - top, 1000.0
        east = self._corner[0] + width / 2 * self._gsd_m
        north = self._corner[1] - (top + height / 2) * self._gsd_m
        view = View(Point(east, north, self._map.epsg), self._gsd_m * focal_px)
        rendered = self._map.render(view, Camera(width, height, focal_px, focal_px))
        return rendered.pixels, rendered.valid


def _window(raster: Raster, epsg: int, part: Bounds | None) -> tuple[tuple[int, int], tuple[int, int]]:
    """Columns and rows of a file that cover the part."""
    if part is None:
        return (0, raster.width), (0, raster.height)
    west, south, east, north = part
    steps = np.linspace(0, 1, 9)
    e = np.concatenate([west + (east - west) * steps] * 2 + [np.full(9, west), np.full(9, east)])
    n = np.concatenate([np.full(9, south), np.full(9, north)] + [south + (north - south) * steps] * 2)
    col, row = raster.pixel_from_ground(e, n, epsg)
    cols = max(0, int(np.floor(col.min()))), min(raster.width, int(np.ceil(col.max())))
    rows = max(0, int(np.floor(row.min()))), min(raster.height, int(np.ceil(row.max())))
    if cols[0] >= cols[1] or rows[0] >= rows[1]:
        raise MapError(
            "map.outside", "the part asked for is not on the map",
            seen=f"west {west}, south {south}, east {east}, north {north} in EPSG:{epsg}",
            do="name bounds within the map's own",
        )  # fmt: skip
    return cols, rows
