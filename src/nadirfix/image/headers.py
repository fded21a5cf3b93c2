"""What a photo's header asks of a decoder, found without decoding: formats, sizes, scans, tables (ADR 55).

Decoders do what a header says. A few kilobytes may ask for minutes or gigabytes, so what is out of all
proportion is refused before any decoder starts.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

__all__ = ["FORMATS", "HEIC", "JpegWork", "check_header", "is_heic", "jpeg_work", "webp_size_px"]

#: Pillow's names of the formats that are documented. It opens others too: some of them start programs.
FORMATS = ("JPEG", "PNG", "TIFF", "WEBP", "JPEG2000")
HEIC = "HEIF"
#: What pictures of phones begin with, after four bytes of length.
_HEIC = tuple(b"ftyp" + brand for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"))

#: Encoders write 10 to 13 scans; each one makes a decoder go over every pixel again.
MOST_SCANS = 64
#: Tiles of a JPEG 2000 picture: each costs its decoder kilobytes before it has read one.
_MOST_TILES = 4096
#: Bytes that numbers among a TIFF's tags may have, and the tables that say where its pixels lie.
_MOST_NUMBERS, _MOST_TABLES = 1 << 20, 16 << 20
#: Parts of a JPEG's header, bytes between them, and bytes of EXIF: some cameras write hundreds of parts.
_MOST_SEGMENTS, _MOST_PADDING, _MOST_EXIF = 4096, 65_536, 1 << 20
#: Markers that nothing belongs to.
_ALONE = frozenset({0x01, *range(0xD0, 0xDA)})
#: A TIFF begins with so many bytes at least, the longer kind's included.
_TIFF_HEADER_BYTES = 16
#: Bytes of the header that are looked at where the whole of it is not needed.
_HEAD_BYTES = 4096

_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_START, _END, _SCAN = 0xD8, 0xD9, 0xDA
#: Start-of-frame markers; those of pictures that are refined scan by scan.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
#: Bytes of one value of each TIFF type; text and bytes are not spread out and may be long.
_NUMBER_BYTES = {3: 2, 4: 4, 5: 8, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}
#: Tags with a value for each strip or tile; tags that lead to further tags: EXIF's and GPS's.
_TABLES, _POINTERS = frozenset({273, 279, 324, 325}), frozenset({34665, 34853})


class JpegWork(NamedTuple):
    """How a JPEG is stored: whether all of it comes in one go, and in how many scans where not."""

    in_one_go: bool
    scans: int


def is_heic(head: bytes) -> bool:
    """Whether a file that begins so is a picture as phones store them."""
    return head[4:].startswith(_HEIC)


def check_header(file: BinaryIO) -> str | None:
    """What is out of proportion in this header, in words; None where nothing is."""
    head = file.read(_HEAD_BYTES)
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+") and len(head) >= _TIFF_HEADER_BYTES:
        return _tiff_excess(file, head)
    if head.startswith(b"\xff\xd8"):
        return _segments_excess(file)
    at = head.find(b"\xff\x4f\xff\x51")
    if at >= 0 and (at == 0 or head[4:8] == b"jP  "):
        return _tiles_excess(head[at + 4 : at + 42])
    return None


def jpeg_work(data: bytes) -> JpegWork:
    """How much work a JPEG is; scans are counted only where there may be many, and only up to the limit."""
    components, progressive, scans, at = 0, False, 0, 2
    while scans <= MOST_SCANS and (found := _MARKER.search(data, at)) is not None:
        kind, at = data[found.end() - 1], found.end()
        if kind == _END:
            break
        if kind in (_START, 0x01) or at + 2 > len(data):
            continue
        if kind in _FRAMES:
            components, progressive = data[min(at + 7, len(data) - 1)], kind in _PROGRESSIVE
        if kind == _SCAN:
            scans += 1
            if not progressive and scans == 1 and data[min(at + 2, len(data) - 1)] >= components:
                return JpegWork(in_one_go=True, scans=1)
        at += int.from_bytes(data[at : at + 2], "big")
    return JpegWork(in_one_go=False, scans=scans)


def webp_size_px(head: bytes) -> tuple[int, int] | None:
    """Width and height of a WebP picture; None for anything else."""
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    kind, body = head[12:16], head[20:30]
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", body, 6)
    return width & 0x3FFF, height & 0x3FFF


def _segments_excess(file: BinaryIO) -> str | None:
    """Whether the header of a JPEG is in far too many pieces, or full of padding or EXIF."""
    at, segments, padding, exif_bytes = 2, 0, 0, 0
    while segments <= _MOST_SEGMENTS and padding <= _MOST_PADDING and exif_bytes <= _MOST_EXIF:
        file.seek(at)
        head = file.read(10)
        if len(head) < 4 or head[:2] == b"\xff\xda":
            return None
        if head[0] != 0xFF or head[1] in (0x00, 0xFF):
            at, padding = at + 1, padding + 1
            continue
        segments += 1
        alone = head[1] in _ALONE
        length = 0 if alone else int.from_bytes(head[2:4], "big")
        exif_bytes += length if head[1] == 0xE1 and head[4:] == b"Exif\0\0" else 0
        at += 2 + length
    return f"its header is in {segments:,} parts, with {padding:,} bytes between and {exif_bytes:,} of EXIF"


def _tiles_excess(siz: bytes) -> str | None:
    """Whether a JPEG 2000 picture is cut into far too many tiles."""
    if len(siz) < 38:
        return None
    right, bottom, _, _, wide, high, left, top = struct.unpack_from(">8I", siz, 4)
    tiles = -(-(right - left) // max(wide, 1)) * -(-(bottom - top) // max(high, 1))
    return f"{tiles:,} tiles, limit {_MOST_TILES:,}" if tiles > _MOST_TILES else None


def _tiff_excess(file: BinaryIO, head: bytes) -> str | None:
    """Whether the tags of a TIFF hold more numbers than any camera writes."""
    numbers = tables = 0
    for tag, size in _tiff_values(file, head):
        tables += size if tag in _TABLES else 0
        numbers += 0 if tag in _TABLES else size
        if numbers > _MOST_NUMBERS or tables > _MOST_TABLES:
            return f"its tags hold more than {(_MOST_TABLES if tag in _TABLES else _MOST_NUMBERS):,} bytes"
    return None


def _tiff_values(file: BinaryIO, head: bytes) -> Iterator[tuple[int, int]]:
    """Each tag of the first picture with the bytes its numbers take, those of EXIF and GPS included."""
    order, big = ("<" if head[:1] == b"I" else ">"), 0x2B in head[2:4]
    where = struct.unpack_from(order + "Q", head, 8) if big else struct.unpack_from(order + "I", head, 4)
    waiting, visited = [int(where[0])], set[int]()
    while waiting:
        offset = waiting.pop()
        if offset in visited or len(visited) > len(_POINTERS):
            continue
        visited.add(offset)
        for tag, kind, count, value in _entries(file, offset, order, big=big):
            yield tag, _NUMBER_BYTES.get(kind, 0) * count
            if tag in _POINTERS:
                waiting.append(value)


def _entries(file: BinaryIO, offset: int, order: str, *, big: bool) -> Iterator[tuple[int, int, int, int]]:
    """Tag, type, count and value (or where it lies) of a directory; what is cut short just ends."""
    entry = struct.Struct(order + ("HHQQ" if big else "HHII"))
    count = struct.Struct(order + ("Q" if big else "H"))
    try:
        file.seek(offset)
        (entries,) = count.unpack(file.read(count.size))
        data = file.read(min(entries, 65_535) * entry.size)
    except (OSError, ValueError, OverflowError, struct.error):
        return
    yield from entry.iter_unpack(data[: len(data) // entry.size * entry.size])
