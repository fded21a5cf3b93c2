"""What a client says about a photo: name, camera, and what is known. Text, never a path that is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nadirfix.altitude.prior import parse_altitude_prior
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.prior import Prior, parse_gimbal_prior, parse_heading, parse_near
from nadirfix.serve.options import LONGEST_NAME

__all__ = ["FIELDS", "RequestParameters", "check_file_type", "clean_name"]

#: What may be said of a photo beside its name, in a query or as fields of a form.
FIELDS = ("camera", "altitude", "near", "heading", "gimbal")

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
    prior: Prior = field(default_factory=Prior)

    @classmethod
    def read(cls, name: str | None, fields: Mapping[str, str | None]) -> RequestParameters:
        """From what the client sent; an empty field counts as not given."""
        sent = {key: text for key in FIELDS if (text := (fields.get(key) or "").strip())}
        prior = Prior()
        for key, parse in (
            ("altitude", parse_altitude_prior),
            ("near", parse_near),
            ("heading", parse_heading),
            ("gimbal", parse_gimbal_prior),
        ):
            prior = parse(sent[key]).over(prior) if key in sent else prior
        camera = Camera.from_spec(sent["camera"]) if "camera" in sent else None
        return cls(name=clean_name(name or ""), camera=camera, prior=prior)


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
