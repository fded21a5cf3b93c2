"""References that look like a photo, looked for only where the photo may lie.

Descriptors stay on disk, sorted by cell; a search reads the rows of its cells and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ReferenceIndex"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Span = tuple[int, int]

#: Rows brought into memory at a time: 16 MB of 1024 numbers each.
_ROWS = 4096
#: FAISS measures in single precision; rows this close to each other, relatively, may have changed places.
_DOUBT = 1e-5
#: Numbers that may be kept in single precision for the next photo: 16 MB of them.
_LITTLE = 4 * 2**20


class ReferenceIndex:
    """Descriptors of all references, sorted by class of cell: class c has rows starts[c] to starts[c + 1]."""

    def __init__(self, descriptors: NDArray[np.float16], starts: ArrayLike) -> None:
        self.descriptors, self.starts = descriptors, np.asarray(starts, np.int64)
        whole = self.starts.size >= 1 and self.starts[0] == 0 and self.starts[-1] == len(descriptors)
        if not whole or np.any(np.diff(self.starts) < 0):
            raise ValueError("the classes must share out all rows, in order")

    def __len__(self) -> int:
        return len(self.descriptors)

    def search(self, descriptor: ArrayLike, classes: ArrayLike | None, k: int) -> tuple[Ints, Floats]:
        """Rows and Euclidean distances of the k nearest in these classes, nearest first, ties by row.

        Fewer come back where the classes hold fewer. None for the classes searches all of them.
        """
        query = np.asarray(descriptor, np.float32)
        found = [_nearest(self.descriptors, span, query, k) for span in self._spans(classes)]
        rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in found)])
        distances = np.concatenate([np.empty(0), *(distances for _, distances in found)])
        best = np.lexsort((rows, distances))[: max(k, 0)]
        return rows[best], distances[best]

    def nearest(self, descriptors: ArrayLike, k: int) -> tuple[Ints, Floats]:
        """For each of many descriptors, the rows of its k nearest of all classes, and their cosines.

        One pass over all rows whatever the number of descriptors; of equals the earlier row comes first.
        """
        queries = np.asarray(descriptors, np.float32)
        rows, cosines = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0))
        for start, stop in _pieces([(0, len(self))]):
            block = self._single[start:stop]
            here = np.asarray(queries @ np.asarray(block, np.float32).T, np.float64)
            there = np.broadcast_to(np.arange(start, stop), here.shape)
            rows, cosines = _best(np.hstack([rows, there]), np.hstack([cosines, here]), k)
        return rows, cosines

    @cached_property
    def _single(self) -> NDArray[np.floating]:
        """All rows in single precision where that is little; else as they are, to be read piece by piece."""
        little = self.descriptors.size <= _LITTLE
        return np.asarray(self.descriptors, np.float32) if little else self.descriptors

    def _spans(self, classes: ArrayLike | None) -> Iterator[Span]:
        """Runs of rows to look through, none longer than memory should hold."""
        if classes is None:
            yield from _pieces([(0, len(self))])
            return
        chosen = np.unique(np.asarray(classes, np.int64))
        yield from _pieces(zip(self.starts[chosen].tolist(), self.starts[chosen + 1].tolist(), strict=True))


def _best(rows: Ints, cosines: Floats, k: int) -> tuple[Ints, Floats]:
    """The k largest of each line, largest first; of equals the one that stood first."""
    if cosines.shape[1] > k:  # what is below the k-th largest need not be sorted
        least = -np.partition(-cosines, k - 1, axis=1)[:, k - 1]
        some = [np.flatnonzero(line >= low) for line, low in zip(cosines, least, strict=True)]
        found = [_line(rows[i], cosines[i], kept, k) for i, kept in enumerate(some)]
        return np.stack([line for line, _ in found]), np.stack([line for _, line in found])
    order = np.argsort(-cosines, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1)


def _line(rows: Ints, cosines: Floats, some: Ints, k: int) -> tuple[Ints, Floats]:
    order = some[np.argsort(-cosines[some], kind="stable")[:k]]
    return rows[order], cosines[order]


def _pieces(spans: Iterable[Span]) -> Iterator[Span]:
    for start, stop in spans:
        for first in range(start, stop, _ROWS):
            yield first, min(first + _ROWS, stop)


def _nearest(
    descriptors: NDArray[np.float16], span: Span, query: NDArray[np.float32], k: int
) -> tuple[Ints, Floats]:
    """At least the k nearest rows of a run, with their distances in double precision."""
    block = np.asarray(descriptors[span[0] : span[1]], np.float32)
    near = _shortlist(query, block, k)
    return near + span[0], np.linalg.norm(block[near].astype(np.float64) - query.astype(np.float64), axis=1)


def _shortlist(query: NDArray[np.float32], block: NDArray[np.float32], k: int) -> Ints:
    """Rows that are surely the k nearest, or tie with them; FAISS alone leaves ties to chance."""
    import faiss

    asked = min(k, len(block))
    if asked <= 0:
        return np.empty(0, np.int64)
    while True:
        more = min(2 * asked, len(block))
        squares, near = faiss.knn(query[None], block, more)
        clearly_farther = squares[0, -1] > squares[0, min(k, more) - 1] * (1 + _DOUBT) + _DOUBT**2
        if more == len(block) or clearly_farther:
            return np.asarray(near[0], np.int64)
        asked = more
