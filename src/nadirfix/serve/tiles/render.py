"""Renders the map as web-mercator tiles and its reference views as pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import mercantile
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.crs import transform
from nadirfix.geo.render import Rendered, Window, render
from nadirfix.geo.texture import Texture
from nadirfix.serve.options import TILE_PX
from nadirfix.types import Point, View

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["Picture", "draw_reference", "draw_tile", "empty_tile", "reference_size", "zooms"]

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

_MERCATOR = "EPSG:3857"
_WORLD_M = 2 * math.pi * 6378137.0
#: Zooms offered beyond the one at which the whole map fits into a tile.
_EXTRA_ZOOMS = 3
_MAX_ZOOM = 24


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded picture and its media type."""

    data: bytes
    media_type: str


def empty_tile() -> Picture:
    """A fully transparent tile."""
    return _png(np.zeros((TILE_PX, TILE_PX, 4), np.uint8))


def zooms(texture: Texture) -> tuple[int, int]:
    """From the zoom that shows the map small to the one that shows all its detail."""
    west, south, east, north = _box(texture)
    ground_per_mercator = math.cos(math.radians(texture.center.lonlat[1]))
    finest = math.ceil(math.log2(_WORLD_M / TILE_PX * ground_per_mercator / texture.gsd_m))
    whole = math.floor(math.log2(_WORLD_M / max(east - west, north - south)))
    finest = min(max(finest, 0), _MAX_ZOOM)
    return min(max(whole - _EXTRA_ZOOMS, 0), finest), finest


def draw_tile(texture: Texture, z: int, x: int, y: int, *, quality: int) -> Picture | None:
    """A tile of the map; None where it does not cover any of it."""
    window = _tile_window(texture, z, x, y)
    if window is None:
        return None
    rendered = _render(texture, window)
    if rendered.valid_share == 1.0 and rendered.valid.shape == (TILE_PX, TILE_PX):
        return _jpeg(rendered.pixels, quality)
    whole = np.zeros((TILE_PX, TILE_PX, 4), np.uint8)
    inner = np.s_[window.top : window.bottom, window.left : window.right]
    whole[inner] = np.dstack([rendered.pixels[..., ::-1], rendered.valid])
    return _png(whole) if rendered.valid.any() else None


def reference_size(bundle: Bundle, width_px: int) -> tuple[int, int]:
    """Width and height of a reference view's picture."""
    camera = bundle.canonical.camera
    return width_px, max(1, round(width_px * camera.height_px / camera.width_px))


def draw_reference(bundle: Bundle, row: int, *, width_px: int, quality: int) -> Picture:
    """A reference view as a picture, its top towards its heading."""
    references = bundle.references
    center = Point(float(references.east_m[row]), float(references.north_m[row]), references.epsg)
    view = View(center, bundle.canonical.altitude_m, float(references.heading_deg[row]))
    size = reference_size(bundle, width_px)
    return _jpeg(bundle.texture.render(view, bundle.canonical.camera, size).pixels, quality)


@dataclass(frozen=True, slots=True)
class _TileWindow:
    """The part of a tile that may show the map: its pixels, and where its middle lies in Mercator metres."""

    left: int
    top: int
    right: int
    bottom: int
    middle: tuple[float, float]
    metres_per_px: float

    @property
    def size(self) -> tuple[int, int]:
        return self.right - self.left, self.bottom - self.top


def _tile_window(texture: Texture, z: int, x: int, y: int) -> _TileWindow | None:
    """Limited to the map: far from it, its projection gives meaningless coordinates."""
    tile = mercantile.xy_bounds(x, y, z)
    step = (tile.right - tile.left) / TILE_PX
    west, south, east, north = _box(texture)
    left, right = _pixels((west - tile.left) / step, (east - tile.left) / step)
    top, bottom = _pixels((tile.top - north) / step, (tile.top - south) / step)
    if left >= right or top >= bottom:
        return None
    middle = tile.left + step * (left + right) / 2, tile.top - step * (top + bottom) / 2
    return _TileWindow(left, top, right, bottom, middle, step)


def _pixels(low: float, high: float) -> tuple[int, int]:
    return max(math.floor(low), 0), min(math.ceil(high), TILE_PX)


def _box(texture: Texture) -> tuple[float, float, float, float]:
    """The map's bounds in Mercator metres: its sides are curved there, so the corners are not enough."""
    west, south, east, north = texture.bounds
    along = np.linspace(0.0, 1.0, 17)
    e, n = west + (east - west) * along, south + (north - south) * along
    side = np.ones_like(along)
    x, y = transform(
        f"EPSG:{texture.epsg}",
        _MERCATOR,
        np.concatenate([e, e, west * side, east * side]),
        np.concatenate([south * side, north * side, n, n]),
    )
    return float(x.min()), float(y.min()), float(x.max()), float(y.max())


def _render(texture: Texture, window: _TileWindow) -> Rendered:
    """A camera with a focal length of one pixel, as high as a pixel is wide: its metres are Mercator's."""
    camera = Camera(*window.size, 1.0, 1.0)
    view = View(texture.center, window.metres_per_px)
    return render(_Mercator(texture, window.middle), view, camera, window.size, options=texture.options)


class _Mercator:
    """The map as a source for the renderer, in Mercator metres around the middle of a tile window.

    The renderer counts from the view's centre; here that stands for the window's middle, wherever it is.
    """

    def __init__(self, texture: Texture, middle: tuple[float, float]) -> None:
        self._texture, self._middle, self._center = texture, middle, texture.center
        self.gsd_m = texture.gsd_m / math.cos(math.radians(texture.center.lonlat[1]))
        self.level_count = texture.level_count
        self.read: Callable[..., Window | None] = texture.read

    def pixel_from_ground(self, east_m: Floats, north_m: Floats, epsg: int) -> tuple[Floats, Floats]:
        x = east_m - self._center.east_m + self._middle[0]
        y = north_m - self._center.north_m + self._middle[1]
        return self._texture.pixel_from_ground(*transform(_MERCATOR, f"EPSG:{epsg}", x, y))


def _jpeg(pixels: Bytes, quality: int) -> Picture:
    settings = [cv2.IMWRITE_JPEG_QUALITY, quality]
    return Picture(cv2.imencode(".jpg", pixels[..., ::-1], settings)[1].tobytes(), "image/jpeg")


def _png(pixels: Bytes) -> Picture:
    return Picture(cv2.imencode(".png", pixels)[1].tobytes(), "image/png")
