"""Writing a photo with tags, as a drone would: always its camera, its pose only on request."""

from __future__ import annotations

import io
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from nadirfix.camera import FULL_FRAME_DIAGONAL_MM, Camera
from nadirfix.types import View

__all__ = ["encode_jpeg"]

_MAKE, _MODEL = "nadirfix", "nadirfix simulate"
#: 4 µm pixels: any size would do, the focal length in pixels is what counts.
_PIXELS_PER_CM = 2500.0
_CENTIMETRE = 3
#: Rationals in EXIF are two 32-bit numbers.
_FINEST = 1_000_000
#: 4:2:0 as Pillow counts it: what cameras write, and the coarser choice for colour.
_CHROMA_420 = 2

_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:drone-dji="http://www.dji.com/drone-dji/1.0/"
 drone-dji:RelativeAltitude="{altitude_m:+.3f}"
 drone-dji:GimbalYawDegree="{yaw_deg:+.4f}"
 drone-dji:GimbalPitchDegree="{pitch_deg:+.4f}"
 drone-dji:GimbalRollDegree="{roll_deg:+.4f}"/>
</rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>"""


def encode_jpeg(
    pixels: NDArray[np.uint8], camera: Camera, *, quality: int, pose: View | None = None
) -> bytes:
    """The picture as JPEG (4:2:0) with its camera in EXIF, and with where it was taken if a pose is given."""
    extra = {} if pose is None else {"xmp": _pose_xmp(pose)}
    target = io.BytesIO()
    Image.fromarray(pixels).save(
        target,
        format="JPEG",
        quality=quality,
        subsampling=_CHROMA_420,
        exif=_exif(camera, pose),
        **extra,
    )
    return target.getvalue()


def _exif(camera: Camera, pose: View | None) -> Image.Exif:
    exif = Image.Exif()
    exif[ExifTags.Base.Make], exif[ExifTags.Base.Model] = _MAKE, _MODEL
    exif[ExifTags.Base.Orientation] = 1
    exif.get_ifd(ExifTags.IFD.Exif).update(_camera_tags(camera))
    if pose is not None:
        exif.get_ifd(ExifTags.IFD.GPSInfo).update(_gps_tags(pose))
    return exif


def _camera_tags(camera: Camera) -> dict[int, object]:
    equivalent_mm = camera.fx_px / math.hypot(camera.width_px, camera.height_px) * FULL_FRAME_DIAGONAL_MM
    return {
        ExifTags.Base.ExifImageWidth: camera.width_px,
        ExifTags.Base.ExifImageHeight: camera.height_px,
        ExifTags.Base.FocalLength: _rational(camera.fx_px / _PIXELS_PER_CM * 10),
        ExifTags.Base.FocalPlaneXResolution: _rational(_PIXELS_PER_CM),
        ExifTags.Base.FocalPlaneYResolution: _rational(_PIXELS_PER_CM * camera.fy_px / camera.fx_px),
        ExifTags.Base.FocalPlaneResolutionUnit: _CENTIMETRE,
        ExifTags.Base.FocalLengthIn35mmFilm: max(1, round(equivalent_mm)),
    }


def _gps_tags(pose: View) -> dict[int, object]:
    """Where the drone was: a tilted camera looks ahead of it. Height above the sea is not known."""
    back_m = pose.altitude_m * math.tan(math.radians(pose.tilt_deg))
    toward = math.radians(pose.tilt_toward_deg)
    lon_deg, lat_deg = pose.center.moved(-back_m * math.sin(toward), -back_m * math.cos(toward)).lonlat
    return {
        ExifTags.GPS.GPSVersionID: b"\x02\x03\x00\x00",
        ExifTags.GPS.GPSLatitudeRef: "N" if lat_deg >= 0 else "S",
        ExifTags.GPS.GPSLatitude: _sexagesimal(abs(lat_deg)),
        ExifTags.GPS.GPSLongitudeRef: "E" if lon_deg >= 0 else "W",
        ExifTags.GPS.GPSLongitude: _sexagesimal(abs(lon_deg)),
    }


def _pose_xmp(pose: View) -> bytes:
    """Gimbal angles of the view: a tilted camera looks where it is tilted and is rolled to its heading."""
    tilted = pose.tilt_deg > 0
    yaw_deg = pose.tilt_toward_deg if tilted else pose.heading_deg
    roll_deg = pose.heading_deg - pose.tilt_toward_deg if tilted else 0.0
    text = _XMP.format(
        altitude_m=pose.altitude_m,
        yaw_deg=_half_turn(yaw_deg),
        pitch_deg=pose.tilt_deg - 90,
        roll_deg=_half_turn(roll_deg),
    )
    return text.encode()


def _half_turn(angle_deg: float) -> float:
    """The angle between −180 and 180, as drones write it."""
    return (angle_deg + 180) % 360 - 180


def _sexagesimal(degrees: float) -> tuple[IFDRational, IFDRational, IFDRational]:
    whole, rest = divmod(degrees, 1)
    minutes, rest = divmod(rest * 60, 1)
    return _rational(whole), _rational(minutes), _rational(rest * 60)


def _rational(value: float) -> IFDRational:
    exact = Fraction(value).limit_denominator(_FINEST if value < 4000 else 1000)
    return IFDRational(exact.numerator, exact.denominator)
