"""What is in the parts of a bundle: looked at once for each state of a file, whatever the manifest says.

Every number is finite, a table of references is in order, a network is one of known operators, a texture can
be drawn. A function raises ``ValueError`` with what is wrong; the texture has an error of its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nadirfix.bundle import layout as parts
from nadirfix.bundle.arrays import StoredArray, stored_array
from nadirfix.bundle.networks import check_network
from nadirfix.bundle.references import COLUMNS

__all__ = ["array_of", "check_content"]

_HALF, _SINGLE = np.dtype("<f2"), np.dtype("<f4")
_HALVES = {parts.DESCRIPTORS, parts.LOW_DESCRIPTORS, parts.PROTOTYPES}
_TABLES = {parts.REFERENCES, parts.LOW_REFERENCES}


def check_content(path: Path) -> None:
    """Raise an error where a part cannot be what its name says."""
    name = path.name
    if name.endswith(".npy"):
        array = array_of(path)
        if not array.is_sound():
            raise ValueError("it holds numbers that nobody can compute with")
        if name in (parts.DESCRIPTORS, parts.LOW_DESCRIPTORS) and not array.rows_are_short():
            raise ValueError("it holds rows longer than unit vectors")
    elif name.endswith(".onnx"):
        check_network(path)
    elif name == parts.TEXTURE:
        from nadirfix.bundle.map_texture import check_texture

        check_texture(path)


def array_of(path: Path) -> StoredArray:
    """A part that is a numpy array, of the kind that its name says; ``ValueError`` for any other."""
    if path.name in _TABLES:
        return stored_array(path, COLUMNS, ndim=1)
    half = path.name in _HALVES or path.name.endswith(".sketches.npy")
    return stored_array(path, _HALF if half else _SINGLE, ndim=2)
