"""The numpy files of a bundle, read strictly: a header is what numpy writes, and the file as long as it says.

numpy itself believes a header: it asks for memory before it looks at the file, and takes shapes that need
none at all. A bundle's arrays are of a known kind, so that their header is a known text but for the shape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["StoredArray", "stored_array"]

_MAGIC = b"\x93NUMPY"
#: Bytes of the header's length, by the version of the format.
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}
_LONGEST_HEADER = 65_536
_HEADER = re.compile(
    r"\{'descr': (?P<kind>.{1,2000}), 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>[0-9, ]{1,80})\), \} *\n"
)
#: Products and sums of numbers up to this are numbers, too; and the square of a unit vector's length.
_LARGEST, _LONGEST_SQUARE = 1e9, 1.1
#: Numbers looked at a time.
_PIECE = 2**22


@dataclass(frozen=True, slots=True)
class StoredArray:
    """A numpy file whose header has been read: what it holds, and where that begins."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int
    order: Literal["C", "F"]

    def open(self) -> NDArray[Any]:
        """The numbers, read from disk as needed."""
        return np.memmap(
            self.path, self.dtype, mode="r", offset=self.offset, shape=self.shape, order=self.order
        )

    def is_sound(self) -> bool:
        """Whether every number is one that can be computed with; reads the whole file."""
        return all(float(np.abs(piece).max()) <= _LARGEST for piece in self._pieces())

    def rows_are_short(self) -> bool:
        """Whether no row is longer than a unit vector, but for rounding; reads the whole file."""
        rows, step = self.open(), max(1, _PIECE // self.shape[1])
        pieces = (np.asarray(rows[i : i + step], np.float32) for i in range(0, len(rows), step))
        return all(bool((np.einsum("ij,ij->i", one, one) <= _LONGEST_SQUARE).all()) for one in pieces)

    def _pieces(self) -> Iterator[NDArray[Any]]:
        flat = self.open().ravel(order="K")
        names = self.dtype.names
        for start in range(0, len(flat), _PIECE):
            piece = flat[start : start + _PIECE]
            yield from [piece] if names is None else [piece[name] for name in names]


def stored_array(path: Path, dtype: np.dtype[Any], *, ndim: int) -> StoredArray:
    """What a numpy file of this kind holds; ``ValueError`` for any other kind, or another length."""
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8 or not start.startswith(_MAGIC) or start[6] not in _LENGTH_BYTES:
            raise ValueError("it is not a numpy file")
        length = int.from_bytes(file.read(_LENGTH_BYTES[start[6]]), "little")
        header = file.read(length) if length <= _LONGEST_HEADER else b""
        offset = file.tell()
    found = _HEADER.fullmatch(header.decode("latin-1"))
    shape = () if found is None else tuple(int(side) for side in found["shape"].split(",") if side.strip())
    known = found is not None and found["kind"] == repr(np.lib.format.dtype_to_descr(dtype))
    if not known or len(shape) != ndim or not all(0 < side < 2**48 for side in shape):
        raise ValueError(f"it does not hold {ndim} dimensions of {_kind(dtype)}: {header[:120]!a}")
    expected = offset + math.prod(shape) * dtype.itemsize
    if path.stat().st_size != expected:
        raise ValueError(f"it is {path.stat().st_size} bytes long, {shape} need {expected}")
    return StoredArray(path, dtype, shape, offset, "F" if found and found["fortran"] == "True" else "C")


def _kind(dtype: np.dtype[Any]) -> str:
    return str(dtype) if dtype.names is None else f"rows of {', '.join(dtype.names)}"
