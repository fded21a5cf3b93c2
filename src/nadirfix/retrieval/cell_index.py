"""The likeliest of very many cells, found without comparing a photo with all that is known of each.

A sketch of every prototype, its shadow on the directions that hold most of them, is short enough to be
compared with all; the best of each group are then measured in full. What lies beyond those adds nothing to a
softmax as sharp as the head's. ``bench/speed/scale.py`` measures from how many cells that is worth it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["MANY_CELLS", "CellIndex", "index_names", "sketched"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

#: Cells from which sketches are faster than comparing with all: measured on two cores, with room to spare.
MANY_CELLS = 1_000
#: Numbers in a sketch: the products of unrelated prototypes stay below half that of the right one.
_SKETCH = 64
#: Cells of each group that are measured in full.
_FOUND = 8


def index_names(groups: int) -> list[str]:
    """What the files of an index are called in a bundle: directions and sketches of each group."""
    return [name for group in range(groups) for name in _names(group)]


def _names(group: int) -> tuple[str, str]:
    return f"prototypes.{group}.directions.npy", f"prototypes.{group}.sketches.npy"


def sketched(prototypes: Floats) -> tuple[Floats, NDArray[np.float16]]:
    """The directions that hold most of one group's prototypes, and each one's shadow on them.

    The same prototypes always make the same numbers.
    """
    rows = np.ascontiguousarray(prototypes, np.float32)
    directions = _directions(rows)
    return directions, (rows @ directions.T).astype(np.float16)


def _directions(rows: Floats) -> Floats:
    """The directions that hold most of these rows; products of rows are best kept by them."""
    squares = rows.astype(np.float64).T @ rows
    _, vectors = np.linalg.eigh(squares)
    return np.ascontiguousarray(vectors[:, ::-1][:, :_SKETCH].T, np.float32)


class CellIndex:
    """Sketches of each group's prototypes, read from a bundle's folder."""

    def __init__(self, folder: Path, *, groups: int) -> None:
        self._groups = [tuple(_read(folder / name) for name in _names(group)) for group in range(groups)]

    def nearest(self, unit_vector: Floats, count: int = 0) -> list[Ints]:
        """For each group, the classes most like a vector as far as a sketch can tell, in the class order.

        At least ``count`` of each, where it has so many.
        """
        return [
            _in_group(directions, sketches, unit_vector, max(_FOUND, count))
            for directions, sketches in self._groups
        ]


def _read(file: Path) -> Floats:
    """In single precision, in memory: a quarter of a kilobyte per cell."""
    return np.asarray(np.load(file, allow_pickle=False), np.float32)


def _in_group(directions: Floats, sketches: Floats, unit_vector: Floats, count: int) -> Ints:
    likeness = sketches @ (directions @ unit_vector)
    if count >= len(likeness):
        return np.arange(len(likeness))
    return np.sort(np.argpartition(-likeness, count - 1)[:count]).astype(np.int64)
