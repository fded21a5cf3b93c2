"""What a client says about a photo: its name, camera and altitude. Text, never a path that is opened."""

from __future__ import annotations

from dataclasses import dataclass

from nadirfix.altitude.prior import parse_altitude
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.serve.options import LONGEST_NAME

__all__ = ["Wish", "check_kind", "clean_name"]

#: How pictures begin that cameras write. Others Pillow would open too are not needed, and some of them
#: start programs.
_KINDS = (
    b"\xff\xd8\xff",  # JPEG
    b"\x89PNG\r\n\x1a\n",
    b"II*\x00",  # TIFF
    b"MM\x00*",
    b"\x00\x00\x00\x0cjP  \r\n\x87\n",  # JPEG 2000
    b"\xff\x4f\xff\x51",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How one photo is to be placed."""

    name: str = ""
    camera: Camera | None = None
    altitude_m: float | None = None
    altitude_sigma_m: float | None = None

    @classmethod
    def read(cls, *, name: str | None, camera: str | None, altitude: str | None) -> Wish:
        """From what the client wrote; an empty field is one that is not given."""
        known_m = parse_altitude(altitude) if altitude and altitude.strip() else (None, None)
        return cls(
            name=clean_name(name or ""),
            camera=Camera.from_spec(camera) if camera and camera.strip() else None,
            altitude_m=known_m[0],
            altitude_sigma_m=known_m[1],
        )


def clean_name(name: str) -> str:
    """A file name without folders, control characters and what is no text."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable()).strip()[:LONGEST_NAME]


def check_kind(photo: bytes) -> None:
    """Refuse what is no picture of a kind that cameras write, before anything tries to open it."""
    if photo.startswith(_KINDS) or (photo[:4] == b"RIFF" and photo[8:12] == b"WEBP"):
        return
    raise InputError(
        "photo.unreadable",
        "the photo cannot be read",
        seen=f"{len(photo)} bytes (not a picture in a known format)",
        do="give a JPEG, PNG, TIFF, WebP or JPEG 2000 photo",
    )
