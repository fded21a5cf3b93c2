"""The map's picture in a bundle, which lies where the manifest says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from nadirfix.bundle import layout as parts
from nadirfix.errors import NadirfixError
from nadirfix.geo.texture import Texture

__all__ = ["check_texture", "load_texture"]

#: Both are computed from the same numbers, by one version or another.
_SAME_GSD, _SAME_M = 1e-3, 1.0


def load_texture(folder: Path, known: dict[str, Any]) -> Texture:
    """The texture of a bundle, whose manifest has this entry for the map; a broken tile is its fault, too."""
    texture = Texture.load(folder / parts.TEXTURE, unreadable=_unreadable)
    if not _is_there(texture, known):
        raise parts.damaged(folder, f"{parts.TEXTURE} lies elsewhere than {parts.MANIFEST} says")
    return texture


def check_texture(path: Path) -> None:
    """Raise an error where the file of a texture cannot be drawn from; tiles are looked at when drawn."""
    Texture.load(path, unreadable=_unreadable)


def _unreadable(path: Path, seen: str) -> NadirfixError:
    return parts.damaged(path.parent, f"{path.name} cannot be read ({seen})")


def _is_there(texture: Texture, known: dict[str, Any]) -> bool:
    same_size = (texture.epsg, list(texture.size_px)) == (known["epsg"], known["size_px"])
    pairs = zip(texture.bounds, known["bounds_m"], strict=True)
    same_place = all(math.isclose(ours, theirs, abs_tol=_SAME_M) for ours, theirs in pairs)
    return same_size and same_place and math.isclose(texture.gsd_m, known["gsd_m"], rel_tol=_SAME_GSD)
