"""The map without GDAL: a pixel pyramid, its place and its holes in one compact file.

A texture keeps the map's own pixels. Where they lie is a polynomial from UTM metres to columns and rows:
of degree one for a map in its UTM zone, of a higher one for any other system. The file is a plain zip of JPEG
tiles (and PNG masks where there are holes), read tile by tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.files import atomic_file
from nadirfix.geo.polynomial import Polynomial
from nadirfix.geo.pyramid import halve
from nadirfix.geo.render import Rendered, Window, render
from nadirfix.geo.texture_file import SMALLEST_LEVEL_PX
from nadirfix.geo.tiles import CACHED_TILES, ArrayPlane, Plane, TileWriter, Unreadable, read_tiles
from nadirfix.options.map import RenderOptions, TextureOptions
from nadirfix.types import Point, View

__all__ = ["SMALLEST_LEVEL_PX", "Texture"]

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Affine = tuple[float, float, float, float, float, float]


class Texture:
    """A map as a pyramid of pictures, in memory or in one file."""

    def __init__(
        self, planes: Sequence[Plane], place: Polynomial, epsg: int, *, options: RenderOptions | None = None
    ) -> None:
        self.planes, self.place, self.epsg = tuple(planes), place, epsg
        self.options = options or RenderOptions()
        self.level_count = len(self.planes)
        self.gsd_m = 1.0 / place.scale()

    @classmethod
    def from_array(cls, pixels: Bytes, mask: Bytes | None, *, affine: Affine, epsg: int) -> Texture:
        """A texture from pixels in memory; the affine gives east and north of columns and rows."""
        cover = np.full(pixels.shape[:2], 255, np.uint8) if mask is None else mask
        place = Polynomial.from_affine(affine, (pixels.shape[1], pixels.shape[0]))
        return cls(_pyramid(pixels, cover), place, epsg)

    @classmethod
    def load(
        cls, path: Path | str, *, kept_tiles: int = CACHED_TILES, unreadable: Unreadable | None = None
    ) -> Texture:
        """Open a texture file; tiles are read when they are needed, and the last ones are cached."""
        planes, layout = read_tiles(Path(path), kept_tiles=kept_tiles, unreadable=unreadable)
        return cls(planes, layout.place, layout.epsg)

    def save(self, path: Path | str, *, options: TextureOptions | None = None) -> None:
        """Write the texture as one file; the same texture gives the same bytes."""
        options = options or TextureOptions()
        with atomic_file(Path(path)) as scratch, TileWriter(scratch, options=options) as writer:
            for level, plane in enumerate(self.planes):
                width, height = plane.size_px
                writer.add(level, 0, *plane.read((0, width), (0, height)))
            header = {"place": self.place.to_dict(), "epsg": self.epsg}
            writer.finish([plane.size_px for plane in self.planes], header)

    @property
    def size_px(self) -> tuple[int, int]:
        """Columns and rows of the finest level."""
        return self.planes[0].size_px

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of the map, in metres."""
        return self.place.bounds()

    @property
    def center(self) -> Point:
        """The middle of the map."""
        west, south, east, north = self.bounds
        return Point((west + east) / 2, (south + north) / 2, self.epsg)

    @property
    def levels(self) -> list[Bytes]:
        """All pictures of the pyramid, whole and in memory."""
        return [plane.read((0, plane.size_px[0]), (0, plane.size_px[1]))[0] for plane in self.planes]

    @property
    def masks(self) -> list[Bytes]:
        """All masks of the pyramid (255 on the map), whole and in memory."""
        return [plane.read((0, plane.size_px[0]), (0, plane.size_px[1]))[1] for plane in self.planes]

    def pixel_from_ground(
        self, east_m: Floats, north_m: Floats, epsg: int | None = None
    ) -> tuple[Floats, Floats]:
        """Column and row (level 0, pixel corners at whole numbers) of places in a UTM zone."""
        if epsg not in (None, self.epsg):
            from nadirfix.geo.crs import transform

            east_m, north_m = transform(f"EPSG:{epsg}", f"EPSG:{self.epsg}", east_m, north_m)
        return self.place(east_m, north_m)

    def read(self, level: int, cols: tuple[float, float], rows: tuple[float, float]) -> Window | None:
        """The piece of a level that covers these level-0 columns and rows; None when it is off the map."""
        step = 2**level
        width, height = self.planes[level].size_px
        left, right = _span(cols, step, width)
        top, bottom = _span(rows, step, height)
        if left >= right or top >= bottom:
            return None
        pixels, mask = self.planes[level].read((left, right), (top, bottom))
        return Window(pixels, mask, left * step, top * step, step, step)

    def rendered_with(self, options: RenderOptions) -> Texture:
        """The same texture, resampled in another way."""
        return Texture(self.planes, self.place, self.epsg, options=options)

    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Rendered:
        """The picture a camera at this view takes, as (width, height) pixels; the camera's own by default."""
        return render(self, view, camera, size or (camera.width_px, camera.height_px), options=self.options)


def _span(limits: tuple[float, float], step: int, size: int) -> tuple[int, int]:
    spare = 2
    return max(math.floor(limits[0] / step) - spare, 0), min(math.ceil(limits[1] / step) + spare, size)


def _pyramid(pixels: Bytes, mask: Bytes) -> list[Plane]:
    """Levels until one is small enough to be read whole."""
    levels: list[Plane] = [ArrayPlane(pixels, mask)]
    while max(pixels.shape[:2]) > SMALLEST_LEVEL_PX:
        pixels, mask = halve(pixels, mask)
        levels.append(ArrayPlane(pixels, mask))
    return levels
