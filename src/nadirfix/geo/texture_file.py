"""What a texture file says of itself, and its tiles as pixels: believed only as far as it can be meant.

A header is a few lines that others may have written. Levels halve down to a small one, the georeference is
nearly even over the map, and a tile has the size that its place gives it before it is decoded (ADR 54).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.geo.polynomial import Polynomial
from nadirfix.types import is_utm

__all__ = ["FORMAT", "SMALLEST_LEVEL_PX", "TextureLayout", "decoded_mask", "decoded_tile", "read_layout"]

Bytes = NDArray[np.uint8]
Size = tuple[int, int]

#: Of the file; others are refused.
FORMAT = 1
#: A pyramid ends with a picture no larger than this.
SMALLEST_LEVEL_PX = 256
#: Sides of tiles, and of the whole map, in pixels.
_TILE_PX, _LARGEST_PX = (16, 4096), 2**24
_MAX_DEGREE = 6
#: How much finer a map may be at one end than at the other, and how much longer its pixels one way: for a map
#: in degrees at 84° N both are some ten.
_UNEVEN, _OBLONG = 30.0, 100.0
#: Scans of a JPEG: ours have one, progressive ones some ten; each is a pass over all pixels.
_MOST_SCANS = 16
_SCAN, _PNG = b"\xff\xda", b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True, eq=False)
class TextureLayout:
    """The header of a texture file."""

    tile_px: int
    sizes_px: tuple[Size, ...]
    place: Polynomial
    epsg: int

    def tile_size_px(self, level: int, y: int, x: int) -> Size:
        """Columns and rows of a tile; those at the right and lower edge are what is left."""
        width, height = self.sizes_px[level]
        return min(self.tile_px, width - x * self.tile_px), min(self.tile_px, height - y * self.tile_px)


def read_layout(header: bytes) -> TextureLayout:
    """The header of a texture file; ``ValueError`` where it cannot be meant."""
    table = json.loads(header)
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        found = table.get("format") if isinstance(table, dict) else None
        raise ValueError(f"format {found} where {FORMAT} was expected")
    sizes = [(_side(width), _side(height)) for width, height in table["sizes_px"]]
    tile_px, epsg, place = table["tile_px"], table["epsg"], Polynomial.from_dict(table["place"])
    if not (isinstance(tile_px, int) and _TILE_PX[0] <= tile_px <= _TILE_PX[1]):
        raise ValueError(f"tiles of {tile_px!a} pixels")
    if not (isinstance(epsg, int) and is_utm(epsg)):
        raise ValueError(f"EPSG:{epsg!a} is no zone of WGS 84 / UTM")
    _check_pyramid(sizes)
    _check_place(place, sizes[0])
    return TextureLayout(tile_px, tuple(sizes), place, epsg)


def _side(value: Any) -> int:
    if not (isinstance(value, int) and 0 < value <= _LARGEST_PX):
        raise ValueError(f"a side of {value!a} pixels")
    return value


def _check_pyramid(sizes: list[Size]) -> None:
    """Each level has half the pixels a side of the one before, rounded up, and the last one is small."""
    halves = [(-(-width // 2), -(-height // 2)) for width, height in sizes[:-1]]
    if not sizes or halves != sizes[1:] or max(sizes[-1]) > SMALLEST_LEVEL_PX:
        raise ValueError(f"levels of {sizes[:4]} pixels are no pyramid")


def _check_place(place: Polynomial, size_px: Size) -> None:
    """A georeference that hardly changes over the map: else a small view could need all of it."""
    terms = (place.degree + 1) * (place.degree + 2) // 2
    sound = 1 <= place.degree <= _MAX_DEGREE and place.coefficients.shape == (terms, 2)
    numbers = (*place.origin_m, place.span_m, *place.coefficients.ravel())
    if not (sound and place.size_px == size_px and place.span_m > 0 and all(map(math.isfinite, numbers))):
        raise ValueError("its georeference is not a polynomial of these pixels")
    steps = np.linspace(-1, 1, 9) * place.span_m
    east, north = np.meshgrid(place.origin_m[0] + steps, place.origin_m[1] + steps)
    apart = steps[1] - steps[0]
    col, row = place(east, north)
    right = np.hypot(np.diff(col, axis=1), np.diff(row, axis=1)) / apart
    up = np.hypot(np.diff(col, axis=0), np.diff(row, axis=0)) / apart
    even = all(0 < one.max() < _UNEVEN * one.min() for one in (right, up))
    if not (even and max(right.max(), up.max()) < _OBLONG * place.scale()):
        raise ValueError("its georeference is not even over the map")


def decoded_tile(data: bytes, size_px: Size) -> Bytes:
    """A JPEG's pixels, as (rows, columns, RGB). Machines that only train need not have the faster library.

    Both give the same pixels to the last bit: both are libjpeg-turbo. One of another size is not decoded.
    """
    if data.count(_SCAN) > _MOST_SCANS:
        raise ValueError(f"more than {_MOST_SCANS} scans")
    try:
        import simplejpeg
    except ImportError:
        return _sized(_rgb(data), size_px)
    height, width, *_ = simplejpeg.decode_jpeg_header(data)
    if (width, height) != size_px:
        raise ValueError(f"a picture of {width} × {height} pixels for {size_px}")
    return np.asarray(simplejpeg.decode_jpeg(data, "RGB"), np.uint8)


def _rgb(data: bytes) -> Bytes | None:
    if not data.startswith(b"\xff\xd8"):
        return None
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    return None if pixels is None else np.asarray(np.ascontiguousarray(pixels[..., ::-1]), np.uint8)


def decoded_mask(data: bytes, size_px: Size) -> Bytes:
    """A PNG's pixels, as (rows, columns); one of another size is not decoded."""
    sides = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if not data.startswith(_PNG) or sides != size_px:
        raise ValueError(f"not a PNG of {size_px} pixels")
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    return _sized(None if pixels is None else np.asarray(pixels, np.uint8), size_px)


def _sized(pixels: Bytes | None, size_px: Size) -> Bytes:
    if pixels is None or pixels.shape[1::-1] != size_px:
        raise ValueError(f"not a picture of {size_px} pixels")
    return pixels
