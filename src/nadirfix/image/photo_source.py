"""Where a photo comes from: a file, bytes, pixels; and the two errors of photos that cannot be used."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nadirfix.errors import InputError

__all__ = ["DO_OPEN", "Photo", "check_there", "open_file", "photo_name", "too_large", "unreadable"]

#: A photo on disk, its bytes, its pixels (grey, or red, green and blue, of eight bits), or a Pillow image.
Photo = Path | str | bytes | NDArray[Any] | Image.Image

DO_OPEN = "give a JPEG, PNG, TIFF, WebP or JPEG 2000 photo"


def open_file(photo: Path | str | bytes) -> BinaryIO:
    """The photo's bytes, from the first one."""
    if isinstance(photo, bytes):
        return io.BytesIO(photo)
    try:
        return Path(photo).open("rb")
    except OSError as error:
        raise unreadable(photo, error.strerror or "cannot be opened", DO_OPEN) from error


def check_there(photo: Path | str | bytes) -> None:
    """Refuse a photo that is missing, empty, or no plain file: a pipe may never say a word."""
    size = len(photo) if isinstance(photo, bytes) else _file_size(Path(photo))
    if size == 0:
        raise unreadable(photo, "empty, 0 bytes", DO_OPEN)


def _file_size(path: Path) -> int:
    if not path.exists():
        do = "check the path; it is relative to the folder you are in"
        raise InputError("photo.missing", "the photo is not there", seen=str(path), do=do)
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a plain file"
        raise unreadable(path, kind, "name a photo file")
    return path.stat().st_size


def photo_name(photo: Photo) -> str:
    """What the photo is called in an error."""
    if isinstance(photo, np.ndarray | Image.Image):
        sides = photo.shape if isinstance(photo, np.ndarray) else photo.size
        return " × ".join(str(side) for side in sides)
    return f"{len(photo)} bytes" if isinstance(photo, bytes) else str(photo)


def unreadable(photo: Photo, why: str, do: str) -> InputError:
    """The error of a photo that cannot be read."""
    return InputError(
        "photo.unreadable", "the photo cannot be read", seen=f"{photo_name(photo)} ({why})", do=do
    )


def too_large(photo: Photo, why: str) -> InputError:
    """The error of a photo with too many pixels."""
    do = "make it smaller first, and scale the camera's focal length with it"
    return InputError(
        "photo.too_large", "the photo has too many pixels", seen=f"{photo_name(photo)} ({why})", do=do
    )
