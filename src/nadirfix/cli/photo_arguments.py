"""Photos as the command line names them: files, folders with all that is below them, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nadirfix.errors import InputError

if TYPE_CHECKING:
    from nadirfix.image.photo_source import Photo

__all__ = ["STANDARD_INPUT", "check_no_folder", "expand_folders", "photo_source"]

#: The photo that is read from standard input.
STANDARD_INPUT = "-"
#: What counts as a photo when a folder is given.
_SUFFIXES = {".jpg", ".jpeg", ".jpe", ".png", ".tif", ".tiff", ".webp", ".jp2", ".heic", ".heif", ".hif"}


def expand_folders(arguments: list[str]) -> list[str]:
    """Replace folders by the photos below them, sorted by name; one without any stays, to get an error."""
    if arguments.count(STANDARD_INPUT) > 1:
        raise InputError(
            "photo.missing",
            "standard input holds one photo",
            seen=f"{STANDARD_INPUT} is named {arguments.count(STANDARD_INPUT)} times",
            do="name it once, and the other photos by their files",
        )
    return [photo for argument in arguments for photo in _photos_below(argument) or [argument]]


def photo_source(photo: str) -> Photo:
    """The photo, or its bytes where it comes from standard input."""
    if photo != STANDARD_INPUT:
        return photo
    if sys.stdin is None:
        raise InputError(
            "photo.missing", "standard input holds no photo", seen="it is closed", do="send a photo to it"
        )
    return sys.stdin.buffer.read()


def check_no_folder(photo: str) -> None:
    """A folder that was not replaced holds no photos."""
    if Path(photo).is_dir():
        raise InputError(
            "photo.missing",
            "the folder holds no photos",
            seen=f"{photo} (no {', '.join(sorted(_SUFFIXES))} in it or below)",
            do="name a folder of photos",
        )


def _photos_below(argument: str) -> list[str]:
    if argument == STANDARD_INPUT or not Path(argument).is_dir():
        return []
    return list(_walk(argument, set()))


def _walk(folder: str, visited: set[Path]) -> Iterator[str]:
    """Photos of a folder, then those of its folders; no folder twice, however many links lead to it."""
    here = Path(folder)
    if not os.access(here, os.R_OK | os.X_OK) or here.resolve() in visited:
        return
    visited.add(here.resolve())
    entries = sorted(entry.name for entry in here.iterdir() if not entry.name.startswith("."))
    paths = [os.path.join(folder, name) for name in entries]  # noqa: PTH118 (keeps the argument as typed)
    yield from (path for path in paths if Path(path).suffix.lower() in _SUFFIXES and Path(path).is_file())
    for path in paths:
        if Path(path).is_dir():
            yield from _walk(path, visited)
