"""Pictures we write: PNG files that say that they are ours, so that no other is ever replaced (ADR 59)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.files import atomic_file
from nadirfix.files.owned import Contents

__all__ = ["own_picture", "write_png"]

_SIGNATURE, _SOFTWARE = b"\x89PNG\r\n\x1a\n", b"Software\x00nadirfix"
#: Our mark comes right after the header of the file.
_HEAD_BYTES = 256


def write_png(path: Path, pixels: NDArray[np.uint8], **settings: Any) -> None:
    """Write the picture, marked as ours; another file of that name is not replaced."""
    from PIL import Image, PngImagePlugin

    mark = PngImagePlugin.PngInfo()
    mark.add_text("Software", "nadirfix")
    with atomic_file(path, recognise=own_picture) as scratch:
        Image.fromarray(pixels).save(scratch, format="PNG", pnginfo=mark, **settings)


def own_picture(path: Path) -> Contents | None:
    """Recognises a picture that carries our mark, and an empty file."""
    with suppress(OSError):
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if not head or (head.startswith(_SIGNATURE) and _SOFTWARE in head):
            return {}
    return None
