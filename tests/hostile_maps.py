"""Maps that were tampered with: what they are made of, how large they claim to be, how they are stored."""

from __future__ import annotations

import os
import re
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.transform import Affine

__all__ = ["base_maps", "mosaic", "mutated_map", "picture", "raw_band", "sparse", "tile_service"]

Draw = np.random.Generator
PLACE = {"crs": "EPSG:32633", "transform": Affine(0.5, 0, 500_000, 0, -0.5, 5_400_000)}
SIDE_PX = 400
_NUMBERS = (0, 1, 2, 255, 256, 32767, 65535, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
_TEXTS = (
    "/etc/passwd", "/dev/zero", "/vsicurl/http://127.0.0.1:9/a.tif", "http://127.0.0.1:9/a.tif", "", "nan",
    "-1", "1e999", "999999999", "../../../../etc/passwd", "/proc/self/mem", "all.vrt", "<VRTDataset/>",
    "vrt://a.tif",
)  # fmt: skip


def picture(path: Path, *, driver: str = "GTiff", **profile: Any) -> Path:
    """A small map in any of the formats."""
    pixels = np.random.default_rng(0).integers(1, 255, (3, SIDE_PX, SIDE_PX), np.uint8)
    settings = {"driver": driver, "dtype": "uint8", "count": 3, "width": SIDE_PX, "height": SIDE_PX}
    if driver in ("PNG", "JPEG", "JP2OpenJPEG"):
        profile = {"WORLDFILE": "YES", **profile}
    with rasterio.open(path, "w", **{**settings, **PLACE, **profile}) as out:
        out.write(pixels)
    return path


def sparse(path: Path, side_px: int, *, tiled: bool) -> Path:
    """A map of this many pixels each way in a few kilobytes: nothing of it was written."""
    kind = {"driver": "GTiff", "dtype": "uint8", "count": 1, "width": side_px, "height": side_px, "nodata": 0}
    with rasterio.open(
        path, "w", **kind, **PLACE, tiled=tiled, SPARSE_OK=True, BIGTIFF="YES", compress="deflate"
    ):
        return path


def mosaic(path: Path, source: str, *, relative: bool) -> Path:
    """A VRT of one picture."""
    path.write_text(
        _vrt("".join(_BAND.format(n=n, source=source, relative=int(relative)) for n in (1, 2, 3)))
    )
    return path


def raw_band(path: Path, source: str) -> Path:
    """A VRT that shows the bytes of a file as pixels."""
    path.write_text(_vrt(_RAW.format(source=source)))
    return path


def tile_service(path: Path, url: str) -> Path:
    """A description of map tiles that a server has."""
    path.write_text(_SERVICE.format(url=url))
    return path


def _vrt(bands: str) -> str:
    a = PLACE["transform"]
    affine = f"{a.c}, {a.a}, 0, {a.f}, 0, {a.e}"
    head = f'<VRTDataset rasterXSize="{SIDE_PX}" rasterYSize="{SIDE_PX}"><SRS>EPSG:32633</SRS>'
    return f"{head}<GeoTransform>{affine}</GeoTransform>{bands}</VRTDataset>"


_BAND = (
    '<VRTRasterBand dataType="Byte" band="{n}"><SimpleSource>'
    '<SourceFilename relativeToVRT="{relative}">{source}</SourceFilename><SourceBand>{n}</SourceBand>'
    '<SrcRect xOff="0" yOff="0" xSize="400" ySize="400"/><DstRect xOff="0" yOff="0" xSize="400" ySize="400"/>'
    "</SimpleSource></VRTRasterBand>"
)
_RAW = (
    '<VRTRasterBand dataType="Byte" band="1" subClass="VRTRawRasterBand">'
    '<SourceFilename relativeToVRT="0">{source}</SourceFilename><ImageOffset>0</ImageOffset>'
    "<PixelOffset>1</PixelOffset><LineOffset>2</LineOffset></VRTRasterBand>"
)
_SERVICE = (
    '<GDAL_WMS><Service name="TMS"><ServerUrl>{url}/${{z}}/${{x}}/${{y}}.png</ServerUrl></Service>'
    "<DataWindow><UpperLeftX>-20037508.34</UpperLeftX><UpperLeftY>20037508.34</UpperLeftY>"
    "<LowerRightX>20037508.34</LowerRightX><LowerRightY>-20037508.34</LowerRightY><TileLevel>18</TileLevel>"
    "<TileCountX>1</TileCountX><TileCountY>1</TileCountY><YOrigin>top</YOrigin></DataWindow>"
    "<Projection>EPSG:3857</Projection><BlockSizeX>256</BlockSizeX><BlockSizeY>256</BlockSizeY>"
    "<BandsCount>3</BandsCount></GDAL_WMS>"
)


def base_maps(folder: Path) -> list[Path]:
    """A map in each of the formats that are opened."""
    picture(folder / "a.tif")
    maps = [
        folder / "a.tif",
        picture(folder / "tiled.tif", tiled=True, compress="deflate", blockxsize=128, blockysize=128),
        picture(folder / "lzw.tif", compress="lzw", interleave="pixel", nodata=0),
        picture(folder / "jpeg.tif", tiled=True, compress="jpeg", photometric="ycbcr", interleave="pixel"),
        picture(folder / "a.png", driver="PNG"),
        picture(folder / "a.jpg", driver="JPEG"),
        picture(folder / "a.jp2", driver="JP2OpenJPEG"),
        picture(folder / "a.gpkg", driver="GPKG"),
        mosaic(folder / "all.vrt", "a.tif", relative=True),
        mosaic(folder / "outer.vrt", "all.vrt", relative=True),
        raw_band(folder / "raw.vrt", "/etc/passwd"),
        tile_service(folder / "service.xml", "http://127.0.0.1:9"),
        sparse(folder / "sparse.tif", 30_000, tiled=True),
    ]
    os.mkfifo(folder / "pipe.tif")
    return maps


def mutated_map(maps: list[Path], folder: Path, seed: int, number: int) -> tuple[str, Path]:
    """What was done, and the map it was done to, in a folder where the other maps lie as well."""
    for left in folder.glob("case*"):
        left.unlink()
    draw = np.random.default_rng([seed, number])
    source = maps[int(draw.integers(len(maps)))]
    data = source.read_bytes()
    changes = _CHANGES.get(source.suffix, (_flipped, _cut, _numbers))
    done = [changes[int(draw.integers(len(changes)))] for _ in range(int(draw.integers(1, 4)))]
    for change in done:
        data = change(data, draw) if data else data
    target = folder / f"case{source.suffix}"
    target.write_bytes(data)
    for beside in (source.with_suffix(".wld"), Path(f"{source}.aux.xml")):
        if beside.exists():
            (folder / beside.name.replace(source.stem, "case", 1)).write_bytes(beside.read_bytes())
    if source.suffix == ".gpkg" and draw.random() < 0.7:
        target.write_bytes(source.read_bytes())
        done = [_database]
        _database(target, draw)
    return f"{source.name}: " + "+".join(change.__name__.strip("_") for change in done), target


def _entries(data: bytes, draw: Draw) -> bytes:
    """One tag of a TIFF becomes another, or has another type, count or value."""
    if data[:4] not in (b"II*\0", b"MM\0*"):
        return _numbers(data, draw)
    order = "<" if data[:1] == b"I" else ">"
    (at,) = struct.unpack_from(order + "I", data, 4)
    if at + 2 > len(data):
        return _flipped(data, draw)
    (count,) = struct.unpack_from(order + "H", data, at)
    entry = at + 2 + 12 * int(draw.integers(max(1, min(count, 40))))
    if entry + 12 > len(data):
        return _flipped(data, draw)
    changed, part = bytearray(data), int(draw.integers(4))
    where, kind = ((0, "H"), (2, "H"), (4, "I"), (8, "I"))[part]
    value = int(draw.choice(_NUMBERS)) & (0xFFFF if kind == "H" else 0xFFFFFFFF)
    struct.pack_into(order + kind, changed, entry + where, value)
    return bytes(changed)


def _numbers(data: bytes, draw: Draw) -> bytes:
    """Four bytes of the header become a number."""
    changed = bytearray(data.ljust(8, b"\0"))
    where = int(draw.integers(0, min(len(changed) - 4, 200)))
    struct.pack_into(">I", changed, where, int(draw.choice(_NUMBERS)))
    return bytes(changed)


def _text(data: bytes, draw: Draw) -> bytes:
    """A value or an attribute of a description becomes another."""
    found = list(re.finditer(rb'(?<=>)[^<>]+(?=<)|(?<=")[^"<>]*(?=")', data))
    if not found:
        return _flipped(data, draw)
    match = found[int(draw.integers(len(found)))]
    return data[: match.start()] + _TEXTS[int(draw.integers(len(_TEXTS)))].encode() + data[match.end() :]


def _element(data: bytes, draw: Draw) -> bytes:
    """An element comes many times more."""
    found = list(re.finditer(rb"<(\w+)[^<>]*>[^<>]*</\1>", data))
    if not found:
        return _flipped(data, draw)
    match = found[int(draw.integers(len(found)))]
    return data[: match.end()] + match[0] * int(draw.integers(1, 200)) + data[match.end() :]


def _flipped(data: bytes, draw: Draw) -> bytes:
    changed = np.frombuffer(data, np.uint8).copy()
    where = draw.integers(0, len(changed), int(draw.integers(1, 12)))
    changed[where] ^= (1 << draw.integers(0, 8, len(where))).astype(np.uint8)
    return changed.tobytes()


def _cut(data: bytes, draw: Draw) -> bytes:
    return data[: int(draw.integers(len(data) + 1))]


def _database(path: Path, draw: Draw) -> None:
    """A number in the tables of a GeoPackage becomes another."""
    columns = ("matrix_width", "matrix_height", "tile_width", "tile_height", "zoom_level", "pixel_x_size")
    column, value = columns[int(draw.integers(len(columns)))], int(draw.choice(_NUMBERS))
    with closing(sqlite3.connect(path)) as database:
        triggers = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(f"UPDATE OR IGNORE gpkg_tile_matrix SET {column} = ?", (value,))
        if draw.random() < 0.3:
            database.execute("UPDATE gpkg_tile_matrix_set SET max_x = ?", (float(value),))
        database.commit()


_CHANGES: dict[str, tuple[Callable[[bytes, Draw], bytes], ...]] = {
    ".tif": (_entries, _entries, _flipped, _cut),
    ".vrt": (_text, _text, _element, _cut),
    ".xml": (_text, _element, _cut),
}
