"""Damaged uploads: cut short, bits flipped, decompression bombs, the wrong type. Repeatable by seed."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image

from tests.serving import form

__all__ = ["Upload", "mutated"]

Draw = np.random.Generator


@dataclass(frozen=True)
class Upload:
    """One request: what was done to it, where it goes, and what is in it."""

    kind: str
    path: str
    body: bytes
    content_type: str


def mutated(photos: list[bytes], count: int, *, seed: int) -> Iterator[Upload]:
    """So many uploads, each a photo (in any format) that something was done to, bare or in a form."""
    draw = np.random.default_rng(seed)
    formats = [_as(photo, kind) for photo in photos for kind in ("JPEG", "PNG", "TIFF", "WEBP")] + photos
    for _ in range(count):
        name = str(draw.choice(list(_DAMAGE)))
        photo = formats[draw.integers(len(formats))]
        yield _wrapped(name, _DAMAGE[name](photo, draw), draw)


def _wrapped(kind: str, content: bytes, draw: Draw) -> Upload:
    choice = draw.integers(4)
    if choice == 0:
        types = ["image/jpeg", "image/png", "application/octet-stream", "image/x-anything", "text/plain"]
        return Upload(kind, "/v1/locate", content, str(draw.choice(types)))
    names = ["a.jpg", "", "../../../etc/passwd", "x" * 300, 'a";filename="b', "ä\x00.png"]
    fields: list[tuple[str, str | None, bytes]] = [("photo", str(draw.choice(names)), content)]
    if draw.random() < 0.3:
        fields.insert(0, ("camera", None, bytes(draw.choice([b"640x480@500", b"0x0@0", b"\xff", b"9" * 99]))))
    if draw.random() < 0.2:
        fields.insert(0, ("altitude", None, bytes(draw.choice([b"120", b"-1", b"nan", b"1e999", b"120+-x"]))))
    if choice == 3:
        fields.append(("photo", "again.jpg", content[:1000]))
    body, content_type = form(*fields)
    if draw.random() < 0.15:
        body = _flipped(body, draw) if draw.random() < 0.5 else body[: draw.integers(len(body))]
    return Upload(kind, "/v1/locate" if choice == 1 else "/v1/locate/batch", body, content_type)


def _as(photo: bytes, kind: str) -> bytes:
    file = io.BytesIO()
    Image.open(io.BytesIO(photo)).resize((160, 120)).save(file, format=kind)
    return file.getvalue()


def _cut(photo: bytes, draw: Draw) -> bytes:
    return photo[: draw.integers(len(photo))]


def _flipped(photo: bytes, draw: Draw) -> bytes:
    data = np.frombuffer(photo, np.uint8).copy()
    where = draw.integers(0, len(data), draw.integers(1, 40))
    data[where] ^= (1 << draw.integers(0, 8, len(where))).astype(np.uint8)
    return data.tobytes()


def _head_flipped(photo: bytes, draw: Draw) -> bytes:
    """Damage where sizes, tables and tags are."""
    return _flipped(photo[:600], draw) + photo[600:]


def _spliced(photo: bytes, draw: Draw) -> bytes:
    a, b = sorted(draw.integers(0, len(photo), 2))
    return photo[:a] + photo[b:] + photo[a:b]


def _noise(_photo: bytes, draw: Draw) -> bytes:
    starts = [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"II*\x00", b"MM\x00*", b"RIFF1234WEBP", b"%!PS"]
    return bytes(starts[draw.integers(len(starts))]) + draw.bytes(int(draw.integers(0, 2000)))


def _png_bomb(_photo: bytes, draw: Draw) -> bytes:
    """A few kilobytes that unpack to gigabytes."""
    side = int(draw.choice([20_000, 60_000, 2**31 - 1]))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(bytes(300_000), 9))
        + _chunk(b"IEND", b"")
    )


def _text_bomb(_photo: bytes, _draw: Draw) -> bytes:
    """A small picture with a text that unpacks to many megabytes."""
    header = struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(65 * 64))
    text = b"k\x00\x00" + _packed(20_000_000)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"zTXt", text)
        + _chunk(b"IDAT", rows)
        + _chunk(b"IEND", b"")
    )


def _tiff_bomb(_photo: bytes, draw: Draw) -> bytes:
    """A header that promises more pixels than there is memory for."""
    side = int(draw.choice([30_000, 65_535, 2**31]))
    sizes = [(256, 4, side), (257, 4, side), (258, 3, 8), (259, 3, 1), (262, 3, 1)]
    tags = [*sizes, (273, 4, 8), (278, 4, side), (279, 4, 100)]
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    return b"II*\x00" + struct.pack("<IH", 8, len(tags)) + entries + bytes(104)


def _jpeg_bomb(_photo: bytes, draw: Draw) -> bytes:
    """A whole JPEG whose header says it is as large as JPEG allows."""
    file = io.BytesIO()
    Image.new("RGB", (64, 64), "green").save(file, format="JPEG")
    data = bytearray(file.getvalue())
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", int(draw.integers(9_000, 65_535)), 65_535)
    return bytes(data)


def _other_kind(_photo: bytes, draw: Draw) -> bytes:
    script = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"
    drawing = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    kinds = [b"", b"hello", drawing, script, b"%PDF-1.7\n", b"PK\x03\x04", b"GIF89a", b"\x7fELF", b"{}"]
    return kinds[draw.integers(len(kinds))]


@cache
def _packed(count: int) -> bytes:
    return zlib.compress(bytes(count), 9)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


_DAMAGE: dict[str, Callable[[bytes, Draw], bytes]] = {
    "cut": _cut,
    "flipped": _flipped,
    "head flipped": _head_flipped,
    "spliced": _spliced,
    "noise": _noise,
    "png bomb": _png_bomb,
    "text bomb": _text_bomb,
    "tiff bomb": _tiff_bomb,
    "jpeg bomb": _jpeg_bomb,
    "other kind": _other_kind,
}
