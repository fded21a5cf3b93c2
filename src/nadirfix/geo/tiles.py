"""Pictures cut into tiles: the pages of a texture file."""

from __future__ import annotations

import json
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import MapError
from nadirfix.options.map import TextureOptions

__all__ = ["CACHED_TILES", "Archive", "ArrayPlane", "Plane", "TileWriter", "TiledPlane", "read_tiles"]

Bytes = NDArray[np.uint8]
Span = tuple[int, int]

_FORMAT = 1
_HEADER = "texture.json"
_SAME_DATE = (1980, 1, 1, 0, 0, 0)  # the same texture must give the same bytes

#: Decoded tiles that are cached, over all levels of one file (48 MB at 512 px).
CACHED_TILES = 48


class Plane(Protocol):
    """One level of a pyramid."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Columns and rows."""

    def read(self, cols: Span, rows: Span) -> tuple[Bytes, Bytes]:
        """RGB pixels and mask of a window inside the plane."""


class ArrayPlane:
    """A level held in memory."""

    def __init__(self, pixels: Bytes, mask: Bytes) -> None:
        self.pixels, self.mask = pixels, mask
        self.size_px = (pixels.shape[1], pixels.shape[0])

    def read(self, cols: Span, rows: Span) -> tuple[Bytes, Bytes]:
        """RGB pixels and mask of a window inside the plane."""
        window = (slice(*rows), slice(*cols))
        return self.pixels[window], self.mask[window]


class TiledPlane:
    """A level read tile by tile from an archive."""

    def __init__(self, archive: Archive, level: int, size_px: tuple[int, int], tile_px: int) -> None:
        self._archive, self._level, self.size_px, self._tile_px = archive, level, size_px, tile_px

    def read(self, cols: Span, rows: Span) -> tuple[Bytes, Bytes]:
        """RGB pixels and mask of a window inside the plane."""
        shape = (rows[1] - rows[0], cols[1] - cols[0])
        pixels, mask = np.zeros((*shape, 3), np.uint8), np.zeros(shape, np.uint8)
        for (y, x), (top, bottom), (left, right) in _tiles(cols, rows, self._tile_px):
            tile = self._archive.tile(self._level, y, x)
            if tile is None:
                continue
            inner = np.s_[top - y * self._tile_px : bottom - y * self._tile_px,
                          left - x * self._tile_px : right - x * self._tile_px]  # fmt: skip
            outer = np.s_[top - rows[0] : bottom - rows[0], left - cols[0] : right - cols[0]]
            pixels[outer], mask[outer] = tile[0][inner], tile[1][inner]
        return pixels, mask


class Archive:
    """A texture file and a cache of its last tiles; safe to use from several threads."""

    def __init__(self, path: Path, *, kept_tiles: int = CACHED_TILES) -> None:
        self.path, self._capacity = path, kept_tiles
        try:
            self._zip = zipfile.ZipFile(path)
            self.header: dict[str, Any] = json.loads(self._zip.read(_HEADER))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise _unreadable(path, str(error)) from error
        if self.header.get("format") != _FORMAT:
            raise _unreadable(path, f"format {self.header.get('format')} where {_FORMAT} was expected")
        self._names = set(self._zip.namelist())
        self._cache: OrderedDict[str, tuple[Bytes, Bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def tile(self, level: int, y: int, x: int) -> tuple[Bytes, Bytes] | None:
        """Pixels and mask of one tile; None where the map has a hole."""
        name = _name(level, y, x)
        if name not in self._names:
            return None
        with self._lock:
            cached = self._cache.get(name)
        tile = cached or self._decode(name)  # not under the lock: other threads decode theirs meanwhile
        with self._lock:
            self._cache[name] = tile
            self._cache.move_to_end(name)
            while len(self._cache) > self._capacity:
                self._cache.popitem(last=False)
        return tile

    def _decode(self, name: str) -> tuple[Bytes, Bytes]:
        pixels = self._picture(name, _rgb)
        if name + ".mask" in self._names:
            return pixels, self._picture(name + ".mask", _grey)
        return pixels, np.full(pixels.shape[:2], 255, np.uint8)

    def _picture(self, name: str, decoded: Callable[[bytes], Bytes | None]) -> Bytes:
        try:
            pixels = decoded(self._zip.read(name))
        except (OSError, zipfile.BadZipFile) as error:
            raise _unreadable(self.path, str(error)) from error
        if pixels is None:
            raise _unreadable(self.path, f"tile {name} is not a picture")
        return np.asarray(pixels, np.uint8)


def _rgb(data: bytes) -> Bytes | None:
    """A JPEG's pixels; None where it is none. Machines that only train need not have the faster library.

    Both give the same pixels to the last bit: both are libjpeg-turbo.
    """
    try:
        import simplejpeg
    except ImportError:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        return None if pixels is None else np.ascontiguousarray(pixels[..., ::-1])
    try:
        decoded: Bytes = simplejpeg.decode_jpeg(data, "RGB")
    except ValueError:
        return None
    return decoded


def _grey(data: bytes) -> Bytes | None:
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_GRAYSCALE)
    return None if pixels is None else np.asarray(pixels, np.uint8)


def read_tiles(path: Path, *, kept_tiles: int = CACHED_TILES) -> tuple[list[Plane], dict[str, Any]]:
    """The levels of a texture file, and its header."""
    archive = Archive(path, kept_tiles=kept_tiles)
    tile_px = int(archive.header["tile_px"])
    sizes = [(int(width), int(height)) for width, height in archive.header["sizes_px"]]
    return [TiledPlane(archive, i, size, tile_px) for i, size in enumerate(sizes)], archive.header


class TileWriter:
    """Writes levels as tiles, strip by strip; empty tiles are left out and whole ones need no mask."""

    def __init__(self, path: Path, *, options: TextureOptions) -> None:
        self._zip, self._options = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED), options

    def __enter__(self) -> TileWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the file; on a full disk that fails again, and one error is enough."""
        with suppress(OSError):
            self._zip.close()

    def add(self, level: int, top: int, pixels: Bytes, mask: Bytes) -> None:
        """Rows of a level from ``top`` on; ``top`` must be the first row of a tile."""
        height, width = mask.shape
        for (y, x), rows, cols in _tiles((0, width), (0, height), self._options.tile_px):
            window = (slice(*rows), slice(*cols))
            name = _name(level, y + top // self._options.tile_px, x)
            _add_tile(self._zip, name, pixels[window], mask[window], self._options.jpeg_quality)

    def finish(self, sizes_px: Sequence[tuple[int, int]], header: dict[str, Any]) -> None:
        """Write the header and close the file."""
        sizes = [list(size) for size in sizes_px]
        full = {"format": _FORMAT, "tile_px": self._options.tile_px, "sizes_px": sizes, **header}
        _add(self._zip, _HEADER, json.dumps(full, sort_keys=True).encode())
        self._zip.close()


def _add_tile(archive: zipfile.ZipFile, name: str, pixels: Bytes, mask: Bytes, quality: int) -> None:
    if not mask.any():
        return
    settings = [
        cv2.IMWRITE_JPEG_QUALITY,
        quality,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
        cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
    ]
    _add(archive, name, cv2.imencode(".jpg", pixels[..., ::-1], settings)[1].tobytes())
    if not mask.all():
        _add(archive, name + ".mask", cv2.imencode(".png", mask)[1].tobytes())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _SAME_DATE), data)


def _tiles(cols: Span, rows: Span, tile_px: int) -> Iterator[tuple[tuple[int, int], Span, Span]]:
    """Tiles under a window: their row and column, and the rows and columns of the window in them."""
    for y in range(rows[0] // tile_px, (rows[1] - 1) // tile_px + 1):
        for x in range(cols[0] // tile_px, (cols[1] - 1) // tile_px + 1):
            down = max(rows[0], y * tile_px), min(rows[1], (y + 1) * tile_px)
            across = max(cols[0], x * tile_px), min(cols[1], (x + 1) * tile_px)
            yield (y, x), down, across


def _name(level: int, y: int, x: int) -> str:
    return f"{level}/{y}/{x}"


def _unreadable(path: Path, seen: str) -> MapError:
    return MapError(
        "texture.unreadable",
        "the texture file cannot be read",
        seen=f"{path}: {seen}",
        do="make it again from the map",
    )
