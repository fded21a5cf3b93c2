"""Photos written by the tests themselves: any tags, any orientation, and a picture one can check."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

DJI = "http://www.dji.com/drone-dji/1.0/"


def rational(value: float) -> IFDRational:
    return IFDRational(round(value * 10_000), 10_000)


def corners(width_px: int, height_px: int) -> NDArray[np.uint8]:
    """Four plain colours, one per quarter: red, green / blue, white."""
    pixels = np.zeros((height_px, width_px, 3), np.uint8)
    top, left = height_px // 2, width_px // 2
    pixels[:top, :left] = 255, 0, 0
    pixels[:top, left:] = 0, 255, 0
    pixels[top:, :left] = 0, 0, 255
    pixels[top:, left:] = 255, 255, 255
    return pixels


def exif(
    base: Mapping[int, Any] = {}, *, photo: Mapping[int, Any] = {}, gps: Mapping[int, Any] = {}
) -> Image.Exif:
    block = Image.Exif()
    for tag, value in base.items():
        block[tag] = value
    block.get_ifd(ExifTags.IFD.Exif).update(photo)
    if gps:
        block.get_ifd(ExifTags.IFD.GPSInfo).update(gps)
    return block


def xmp_attributes(values: Mapping[str, str], *, prefix: str = "drone-dji", uri: str = DJI) -> bytes:
    attributes = " ".join(f'{prefix}:{name}="{value}"' for name, value in values.items())
    return _packet(f'<rdf:Description rdf:about="" xmlns:{prefix}="{uri}" {attributes}/>')


def xmp_elements(values: Mapping[str, str], *, prefix: str = "drone-dji", uri: str = DJI) -> bytes:
    elements = "".join(f"<{prefix}:{name}>{value}</{prefix}:{name}>" for name, value in values.items())
    return _packet(f'<rdf:Description rdf:about="" xmlns:{prefix}="{uri}">{elements}</rdf:Description>')


def _packet(inside: str) -> bytes:
    rdf = f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">{inside}</rdf:RDF>'
    return f'<x:xmpmeta xmlns:x="adobe:ns:meta/">{rdf}</x:xmpmeta>'.encode()


def jpeg(
    size: tuple[int, int] = (400, 300), *, tags: Image.Exif | None = None, xmp: bytes | None = None
) -> bytes:
    return encoded(
        Image.fromarray(corners(*size)),
        "JPEG",
        quality=95,
        exif=Image.Exif() if tags is None else tags,
        xmp=xmp,
    )


def encoded(image: Image.Image, kind: str, **settings: Any) -> bytes:
    target = io.BytesIO()
    if kind == "TIFF" and "exif" in settings:
        settings["exif"] = settings["exif"].tobytes()  # Pillow drops the sub-blocks of an Exif object here
    image.save(target, format=kind, **{k: v for k, v in settings.items() if v is not None})
    return target.getvalue()
