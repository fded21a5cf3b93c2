"""A photo's EXIF and XMP blocks as plain numbers and text, however damaged they are (ADR 55).

Pillow reads them, and raises nearly anything on blocks that were tampered with. Only what has a use here
is taken, and only as numbers and text of a sane length: all that follows cannot fail on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from PIL import ExifTags, Image

__all__ = ["ExifValue", "exif_values", "orientation_of", "xmp_values"]

#: What a tag may hold: a number, several, text or bytes.
ExifValue = int | float | str | bytes | tuple[float, ...]

_PHOTO = (
    "Orientation",
    "ExifImageWidth",
    "ExifImageHeight",
    "FocalLength",
    "FocalPlaneXResolution",
    "FocalPlaneYResolution",
    "FocalPlaneResolutionUnit",
    "FocalLengthIn35mmFilm",
    "DigitalZoomRatio",
)
_GPS = (
    "GPSLatitude",
    "GPSLatitudeRef",
    "GPSLongitude",
    "GPSLongitudeRef",
    "GPSAltitude",
    "GPSAltitudeRef",
    "GPSHPositioningError",
)
#: Orientations there are.
_ORIENTATIONS = range(1, 9)
#: Bytes of the blocks drones write are below 64 KiB; what programs add to XMP may be longer.
_MOST_EXIF, _MOST_XMP = 1 << 20, 4 << 20
#: Values of one tag, characters of one text, and values of one XMP packet that are kept.
_MOST_VALUES, _MOST_TEXT, _MOST_NAMES = 16, 1000, 10_000
#: Whole numbers beyond are no size, no unit and no count.
_MOST_WHOLE = 2**53


def orientation_of(image: Image.Image) -> int:
    """The EXIF orientation, 1 to 8; upright where there is none, or none that makes sense."""
    try:
        value = _plain(_exif_of(image).get(ExifTags.Base.Orientation))
    except Exception:  # Pillow's EXIF reader raises many kinds; the pixels are fine all the same
        return 1
    return value if isinstance(value, int) and value in _ORIENTATIONS else 1


def exif_values(image: Image.Image, notes: list[str]) -> dict[str, ExifValue]:
    """The EXIF tags that matter here, by name; a damaged block counts as none."""
    try:
        base = _exif_of(image)
        photo, gps = base.get_ifd(ExifTags.IFD.Exif), base.get_ifd(ExifTags.IFD.GPSInfo)
        found = {name: base.get(ExifTags.Base[name]) for name in _PHOTO}
        found |= {name: photo[tag] for name in _PHOTO if (tag := ExifTags.Base[name]) in photo}
        found |= {name: gps.get(ExifTags.GPS[name]) for name in _GPS}
        return {name: plain for name, value in found.items() if (plain := _plain(value)) is not None}
    except Exception as error:  # as above
        notes.append(f"the EXIF block is damaged ({type(error).__name__}) and was not used")
        return {}


def xmp_values(image: Image.Image, notes: list[str]) -> dict[str, str]:
    """All XMP values by their name without prefix, be they attributes or elements."""
    packet = image.info.get("xmp", b"")
    if not isinstance(packet, bytes) or len(packet) > _MOST_XMP:
        notes.append(f"the XMP block is not text of up to {_MOST_XMP:,} bytes and was not used")
        return {}
    values: dict[str, str] = {}
    try:
        for name, text in islice(_leaves("", image.getxmp()), _MOST_NAMES):
            values.setdefault(name, text[:_MOST_TEXT])
    except Exception as error:  # Pillow's, its XML reader's and defusedxml's refusals are of many kinds
        notes.append(f"the XMP block is damaged or unsafe ({type(error).__name__}) and was not used")
        return {}
    return values


def _exif_of(image: Image.Image) -> Image.Exif:
    """Pillow's EXIF of an image, unless its block is longer than any camera's; a PNG's may come last."""
    block = image.info.get("exif", b"")
    if len(block) > _MOST_EXIF:
        raise ValueError(f"{len(block)} bytes")
    return image.getexif()


def _plain(value: Any) -> ExifValue | None:
    """A tag's value as a number, numbers, text or bytes; what is none of these is no number."""
    if value is None or isinstance(value, str | bytes):
        return None if value is None else value[:_MOST_TEXT]
    if isinstance(value, tuple | list):
        return tuple(map(_number, value[:_MOST_VALUES]))
    return value if type(value) is int and abs(value) <= _MOST_WHOLE else _number(value)


def _number(value: Any) -> float:
    """A tag's value as a number, NaN where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, ArithmeticError):
        return math.nan


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(name if key == "text" else str(key), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(name, inner)
    elif isinstance(value, str):
        yield name, value
