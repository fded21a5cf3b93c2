"""What a client says about a photo: its name, camera and altitude. Text, never a path that is opened."""

from __future__ import annotations

from dataclasses import dataclass

from nadirfix.altitude.prior import parse_altitude
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.serve.options import LONGEST_NAME

__all__ = ["RequestParameters", "check_file_type", "clean_name"]

#: First bytes of the formats that cameras write. Pillow opens others too: they are not needed, and some of
#: them start programs.
_SIGNATURES = (
    b"\xff\xd8\xff",  # JPEG
    b"\x89PNG\r\n\x1a\n",
    b"II*\x00",  # TIFF
    b"MM\x00*",
    b"\x00\x00\x00\x0cjP  \r\n\x87\n",  # JPEG 2000
    b"\xff\x4f\xff\x51",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestParameters:
    """What is known about one photo before it is located."""

    name: str = ""
    camera: Camera | None = None
    altitude_m: float | None = None
    altitude_sigma_m: float | None = None

    @classmethod
    def read(cls, *, name: str | None, camera: str | None, altitude: str | None) -> RequestParameters:
        """From what the client sent; an empty field counts as not given."""
        altitude_m, sigma_m = parse_altitude(altitude) if altitude and altitude.strip() else (None, None)
        return cls(
            name=clean_name(name or ""),
            camera=Camera.from_spec(camera) if camera and camera.strip() else None,
            altitude_m=altitude_m,
            altitude_sigma_m=sigma_m,
        )


def clean_name(name: str) -> str:
    """A file name without folders and without characters that cannot be printed."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable()).strip()[:LONGEST_NAME]


def check_file_type(photo: bytes) -> None:
    """Refuse what is not in a format that cameras write, before anything tries to open it."""
    if photo.startswith(_SIGNATURES) or (photo[:4] == b"RIFF" and photo[8:12] == b"WEBP"):
        return
    raise InputError(
        "photo.unreadable",
        "the photo cannot be read",
        seen=f"{len(photo)} bytes (not a picture in a known format)",
        do="give a JPEG, PNG, TIFF, WebP or JPEG 2000 photo",
    )
