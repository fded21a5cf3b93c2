"""Pictures cut into tiles: the pages of a texture file."""

from __future__ import annotations

import json
import struct
import threading
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import MapError, NadirfixError
from nadirfix.geo.texture_file import FORMAT, TextureLayout, decoded_mask, decoded_tile, read_layout
from nadirfix.options.map import TextureOptions

__all__ = [
    "CACHED_TILES",
    "Archive",
    "ArrayPlane",
    "Plane",
    "TileWriter",
    "TiledPlane",
    "Unreadable",
    "read_tiles",
]

Bytes = NDArray[np.uint8]
Span = tuple[int, int]

#: The error for a file that is no texture, or not a whole one.
Unreadable = Callable[[Path, str], NadirfixError]

_HEADER = "texture.json"
_SAME_DATE = (1980, 1, 1, 0, 0, 0)  # the same texture must give the same bytes

#: Flags of an entry that change nothing: names in UTF-8, sizes after the data.
_PLAIN_FLAGS = 0x800 | 0x8
#: What reading an archive raises where it is broken, and what reading what is in it does.
_UNZIPPING = (
    OSError, KeyError, ValueError, TypeError, EOFError, RuntimeError, NotImplementedError, OverflowError,
    struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip
#: Decoded tiles that are cached, over all levels of one file (48 MB at 512 px); fewer where tiles are larger.
CACHED_TILES, _USUAL_TILE_PX = 48, 512


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

    def __init__(
        self, path: Path, *, kept_tiles: int = CACHED_TILES, unreadable: Unreadable | None = None
    ) -> None:
        self.path = path
        self.unreadable = unreadable or _unreadable
        try:
            self._zip = zipfile.ZipFile(path)
            self._names = _tile_names(self._zip, path.stat().st_size)
            self.layout = read_layout(self._zip.read(_HEADER))
        except _UNZIPPING as error:
            raise self.unreadable(path, str(error)) from error
        self._capacity = max(1, kept_tiles * _USUAL_TILE_PX**2 // self.layout.tile_px**2)
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
        pixels = self._picture(name, decoded_tile)
        if name + ".mask" in self._names:
            return pixels, self._picture(name + ".mask", decoded_mask)
        return pixels, np.full(pixels.shape[:2], 255, np.uint8)

    def _picture(self, name: str, decoded: Callable[[bytes, Span], Bytes]) -> Bytes:
        level, y, x = map(int, name.removesuffix(".mask").split("/"))
        try:
            return decoded(self._zip.read(name), self.layout.tile_size_px(level, y, x))
        except _UNZIPPING as error:
            raise self.unreadable(self.path, f"tile {name}: {error}") from error


def _tile_names(archive: zipfile.ZipFile, file_bytes: int) -> set[str]:
    """What the file holds; stored as it is, so that nothing can unpack to more than the file has."""
    for one in archive.infolist():
        stored = one.compress_type == zipfile.ZIP_STORED and one.compress_size == one.file_size
        if not stored or one.file_size > file_bytes or one.flag_bits & ~_PLAIN_FLAGS:
            raise ValueError(f"{one.filename[:60]!a} is packed or encrypted")
    return set(archive.namelist())


def read_tiles(
    path: Path, *, kept_tiles: int = CACHED_TILES, unreadable: Unreadable | None = None
) -> tuple[list[Plane], TextureLayout]:
    """The levels of a texture file, and how it is laid out."""
    archive = Archive(path, kept_tiles=kept_tiles, unreadable=unreadable)
    layout = archive.layout
    return [TiledPlane(archive, i, size, layout.tile_px) for i, size in enumerate(layout.sizes_px)], layout


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
        full = {"format": FORMAT, "tile_px": self._options.tile_px, "sizes_px": sizes, **header}
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


def _unreadable(path: Path, seen: str) -> NadirfixError:
    return MapError(
        "texture.unreadable",
        "the texture file cannot be read",
        seen=f"{path}: {seen}",
        do="make it again from the map",
    )
