"""Photos that were tampered with where it matters: tags, sizes, tables, scans. Repeatable by seed.

Every case has a seed of its own, so that any one can be made again without those before it.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from PIL import ExifTags, Image, TiffImagePlugin, TiffTags

from tests.photos import corners, encoded, exif, rational, xmp_attributes, xmp_elements

__all__ = ["base_photos", "jpeg_of_scans", "mutated_photo", "overlapping_tiff", "tiff_exif", "tiff_with_xmp"]

Draw = np.random.Generator
TAG = ExifTags.Base

#: What breaks arithmetic, comparisons and lengths.
_NUMBERS = (0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7F800000, 0x7FC00000, 2**31, 2**32 - 1)
_TEXTS = (
    b"nan", b"inf", b"-inf", b"1e999", b"-0", b"", b" ", b"9" * 400, b"1" * 5000, b"0x10", b"1_0", b"+-1",
    b"&lt;", b"&#0;", b"&bomb;", b"\xff\xfe", "٣".encode(), b"true", b"1,2,3",
    b"2024-01-01;" + b"1e308," * 8 + b"1",
    b"2024-01-01;3000,3000,nan,inf,0,0,0,0,0", b"2024;0,0,0,0,0,0,0,0,0", b"2024;1,1,1e300,1,9,9,9,9,9",
)  # fmt: skip
#: Tags that lead elsewhere, that are read, or that say how large the picture is.
_TAGS = (700, 274, 0x9206, 34665, 34853, 0xA210, 256)
_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}


def base_photos() -> list[bytes]:
    """A photo in each format, with the tags of a drone."""
    tags, packet = _drone_exif(), xmp_attributes(_DRONE)
    image = Image.fromarray(corners(160, 120))
    photos = [encoded(image, kind, exif=tags) for kind in ("JPEG", "PNG", "WEBP")]
    photos += [encoded(image, "TIFF", exif=tiff_exif(tags))]
    photos += [encoded(image, "JPEG", exif=tags, xmp=packet, progressive=True, quality=90)]
    photos += [encoded(image, "JPEG", exif=tags, xmp=xmp_elements(_DRONE), subsampling=0)]
    photos += [encoded(image, "WEBP", exif=tags, xmp=packet), encoded(image, "JPEG2000")]
    photos += [encoded(image, "TIFF", compression="tiff_deflate"), tiff_with_xmp(TiffTags.BYTE)]
    return [*photos, encoded(image.convert("P"), "PNG"), encoded(image.convert("I;16"), "PNG")]


_DRONE = {
    "RelativeAltitude": "+119.80",
    "GimbalYawDegree": "-12.50",
    "GimbalPitchDegree": "-90.00",
    "GimbalRollDegree": "+0.00",
    "CalibratedFocalLength": "140.5",
    "CalibratedOpticalCenterX": "80",
    "CalibratedOpticalCenterY": "60",
    "DewarpData": "2024-05-01;140,140,1,-1,-0.1,0.05,0.001,0.001,0.01",
    "DewarpFlag": "0",
    "RtkStdLon": "0.012",
}


def _drone_exif() -> Image.Exif:
    photo = {
        TAG.ExifImageWidth: 160,
        TAG.ExifImageHeight: 120,
        TAG.FocalLength: rational(8.8),
        TAG.FocalPlaneXResolution: rational(50),
        TAG.FocalPlaneYResolution: rational(50),
        TAG.FocalPlaneResolutionUnit: 4,
        TAG.FocalLengthIn35mmFilm: 24,
        TAG.DigitalZoomRatio: rational(1),
    }
    gps = {
        ExifTags.GPS.GPSLatitudeRef: "S",
        ExifTags.GPS.GPSLatitude: (rational(23), rational(22), rational(50)),
        ExifTags.GPS.GPSLongitudeRef: "E",
        ExifTags.GPS.GPSLongitude: (rational(148), rational(22), rational(10)),
        ExifTags.GPS.GPSAltitudeRef: b"\x00",
        ExifTags.GPS.GPSAltitude: rational(312),
    }
    return exif({TAG.Orientation: 6, TAG.Make: "a maker"}, photo=photo, gps=gps)


def tiff_exif(tags: Image.Exif) -> Image.Exif:
    """EXIF as Pillow writes it into a TIFF: its directories as values of the tags that lead to them."""
    copied = Image.Exif()
    copied.load(tags.tobytes())
    for pointer in (ExifTags.IFD.Exif, ExifTags.IFD.GPSInfo):
        if values := copied.get_ifd(pointer):
            copied[pointer] = values
    return copied


def tiff_with_xmp(kind: int) -> bytes:
    """A TIFF whose tag 700 has this type; XMP is bytes."""
    packet, tags = xmp_attributes(_DRONE), TiffImagePlugin.ImageFileDirectory_v2()
    tags.tagtype[700] = kind
    numbers = (1.5, 2.5) if kind == TiffTags.DOUBLE else (rational(1.5), rational(2))
    values = {TiffTags.BYTE: packet, TiffTags.SHORT: (1, 2)}
    tags[700] = values.get(kind, numbers)
    return encoded(Image.fromarray(corners(64, 48)), "TIFF", tiffinfo=tags)


def overlapping_tiff(*, values: int) -> bytes:
    """A TIFF with a tag of so many fractions, which a reader would make an object each."""
    data = encoded(Image.fromarray(corners(64, 48)), "TIFF")
    (offset,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, offset)
    entries = data[offset + 2 : offset + 2 + 12 * count]
    extra = struct.pack("<HHII", 0x9999, 5, values, 8)
    moved = struct.pack("<H", count + 1) + entries + extra + bytes(4)
    start = len(data) + len(data) % 2
    return data[:4] + struct.pack("<I", start) + data[8:].ljust(start - 8, b"\0") + moved + bytes(8 * values)


def jpeg_of_scans(more: int, *, side_px: int) -> bytes:
    """A progressive JPEG whose last scan comes so many times more: a few bytes each, all pixels again."""
    grey = Image.fromarray(np.full((side_px, side_px, 3), 90, np.uint8))
    data = encoded(grey, "JPEG", progressive=True)
    marks = [found.start() for found in re.finditer(rb"\xff[\xc4\xda]", data)]
    last = data[marks[-2] :].removesuffix(b"\xff\xd9")
    return data.removesuffix(b"\xff\xd9") + last * more + b"\xff\xd9"


def mutated_photo(bases: Sequence[bytes], seed: int, number: int) -> tuple[str, bytes]:
    """What was done, and the photo it was done to, perhaps several times."""
    draw = np.random.default_rng([seed, number])
    photo = bases[int(draw.integers(len(bases)))]
    names = list(_CHANGES)
    done = [names[int(draw.integers(len(names)))] for _ in range(int(draw.integers(1, 4)))]
    for name in done:
        photo = _CHANGES[name](photo, draw) if photo else photo
    return "+".join(done), photo


def _tags(photo: bytes, draw: Draw) -> bytes:
    """One entry of a directory of tags, in the file or in its EXIF block, becomes something else."""
    starts = [found.start() for found in re.finditer(rb"II\*\0|MM\0\*", photo)]
    entries = [at for start in starts for at in _entries(photo, start)]
    if not entries:
        return _flipped(photo, draw)
    at, order = entries[int(draw.integers(len(entries)))]
    data, part = bytearray(photo), int(draw.integers(4))
    value = int(draw.choice(_NUMBERS))
    if part == 0:
        struct.pack_into(
            order + "H", data, at, int(draw.choice([700, 274, 0x9206, 34665, 34853, 0xA210, 256]))
        )
    elif part == 1:
        struct.pack_into(order + "H", data, at + 2, int(draw.integers(0, 18)))
    else:
        struct.pack_into(order + "I", data, at + 4 * part - 4, value)
    return bytes(data)


def _entries(photo: bytes, start: int) -> Iterator[tuple[int, str]]:
    """Where the entries of all directories begin that this one leads to, and their byte order."""
    order, waiting, visited = ("<" if photo[start] == 0x49 else ">"), [start + 4], set[int]()
    while waiting and len(visited) < 8:
        pointer = waiting.pop()
        if pointer + 4 > len(photo):
            continue
        at = start + struct.unpack_from(order + "I", photo, pointer)[0]
        if at in visited or at + 2 > len(photo):
            continue
        visited.add(at)
        for i in range(min(struct.unpack_from(order + "H", photo, at)[0], 200)):
            entry = at + 2 + 12 * i
            if entry + 12 > len(photo):
                break
            yield entry, order
            if struct.unpack_from(order + "H", photo, entry)[0] in (34665, 34853):
                waiting.append(entry + 8)


def _values(photo: bytes, draw: Draw) -> bytes:
    """The bytes a tag's value lies in, elsewhere in the file, become a number that breaks arithmetic."""
    starts = [found.start() for found in re.finditer(rb"II\*\0|MM\0\*", photo)]
    places = [
        (start + struct.unpack_from(order + "I", photo, at + 8)[0], order)
        for start in starts
        for at, order in _entries(photo, start)
        if _WIDTHS.get(struct.unpack_from(order + "H", photo, at + 2)[0], 0) == 8
    ]
    places = [(at, order) for at, order in places if at + 8 <= len(photo)]
    if not places:
        return _tags(photo, draw)
    at, order = places[int(draw.integers(len(places)))]
    data = bytearray(photo)
    struct.pack_into(order + "II", data, at, *(int(v) for v in draw.choice(_NUMBERS, 2)))
    return bytes(data)


def _xmp(photo: bytes, draw: Draw) -> bytes:
    """A value of the XMP packet becomes another; the packet keeps its length where it can."""
    found = list(re.finditer(rb':[A-Za-z]+(="|>)([^"<]{1,80})', photo))
    if not found:
        return _tags(photo, draw)
    match = found[int(draw.integers(len(found)))]
    text = _TEXTS[int(draw.integers(len(_TEXTS)))]
    fitted = text[: len(match[2])].ljust(len(match[2])) if draw.random() < 0.8 else text
    return photo[: match.start(2)] + fitted + photo[match.end(2) :]


def _nested(photo: bytes, draw: Draw) -> bytes:
    """The inside of the XMP packet becomes elements within elements, as long as it was."""
    start, end = photo.find(b"<rdf:RDF"), photo.find(b"</rdf:RDF>")
    if start < 0 or end < start:
        return _xmp(photo, draw)
    return photo[:start] + (b"<a>" * ((end - start) // 3)).ljust(end - start) + photo[end:]


def _segments(photo: bytes, draw: Draw) -> bytes:
    """A JPEG's segment is dropped, comes twice, or claims another length; scans come again and again."""
    if photo[:2] != b"\xff\xd8":
        return _chunks(photo, draw)
    marks = [m.start() for m in re.finditer(rb"\xff[\xc0-\xc4\xda-\xdd\xe0-\xef]", photo)] or [2]
    at, end = sorted(marks[int(i)] for i in draw.integers(len(marks), size=2))
    choice = int(draw.integers(5))
    if choice == 0:
        return photo[:at] + photo[end:]
    if choice == 1:
        return photo[:end] + photo[at:end] * int(draw.integers(1, 300)) + photo[end:]
    data = bytearray(photo)
    spread = 4 if choice == 2 else 12
    where = min(at + int(draw.integers(2, 2 + spread)), len(data) - 1)
    data[where] = int(draw.choice([0, 1, 2, 4, 63, 127, 128, 255]))
    return bytes(data)


def _chunks(photo: bytes, draw: Draw) -> bytes:
    """A PNG's chunk is dropped, comes twice or is changed, with a checksum that fits."""
    if photo[:4] != b"\x89PNG":
        return _boxes(photo, draw)
    chunks, at = [], 8
    while at + 12 <= len(photo):
        (length,) = struct.unpack_from(">I", photo, at)
        chunks.append((photo[at + 4 : at + 8], photo[at + 8 : at + 8 + length]))
        at += 12 + length
    i, choice = int(draw.integers(max(1, len(chunks)))), int(draw.integers(4))
    if choice == 0 and len(chunks) > 1:
        del chunks[i]
    elif choice == 1 and chunks:
        chunks.insert(int(draw.integers(len(chunks))), chunks[i])
    elif chunks:
        chunks[i] = chunks[i][0], _flipped(chunks[i][1] or b"\0", draw)
    return photo[:8] + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _boxes(photo: bytes, draw: Draw) -> bytes:
    """A number in the size header of a JPEG 2000 or WebP picture becomes another one."""
    at = photo.find(b"\xff\x4f\xff\x51")
    at = at + 6 if at >= 0 else (12 if photo[:4] == b"RIFF" else 0)
    if at + 44 > len(photo):
        return _flipped(photo, draw)
    data = bytearray(photo)
    where = at + 4 * int(draw.integers(0, 10))
    struct.pack_into(">I", data, where, int(draw.choice(_NUMBERS)))
    return bytes(data)


def _flipped(photo: bytes, draw: Draw) -> bytes:
    data = np.frombuffer(photo, np.uint8).copy()
    where = draw.integers(0, len(data), int(draw.integers(1, 12)))
    data[where] ^= (1 << draw.integers(0, 8, len(where))).astype(np.uint8)
    return data.tobytes()


def _cut(photo: bytes, draw: Draw) -> bytes:
    return photo[: int(draw.integers(1, len(photo) + 1))]


def _spliced(photo: bytes, draw: Draw) -> bytes:
    a, b = sorted(int(i) for i in draw.integers(0, len(photo), 2))
    return photo[:a] + photo[b:] + photo[a:b]


def _head_flipped(photo: bytes, draw: Draw) -> bytes:
    return _flipped(photo[:400], draw) + photo[400:]


_CHANGES: dict[str, Callable[[bytes, Draw], bytes]] = {
    "tags": _tags,
    "values": _values,
    "xmp": _xmp,
    "nested": _nested,
    "segments": _segments,
    "flipped": _flipped,
    "head flipped": _head_flipped,
    "cut": _cut,
    "spliced": _spliced,
}
