"""Nearest-neighbour search among the references, only where the photo may lie.

Descriptors stay on disk, sorted by cell; a search of some cells reads their rows and nothing else. Where all
are searched and they are few, they are kept in memory.
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
#: Squares of distances are first taken in single precision, as differences of numbers about this much larger:
#: rows this close to each other, relatively to those, may have changed places.
_ROUNDING = 1e-5
#: Numbers that may be kept in single precision for the next photo: 64 MB of them, some 65 000 references of
#: 256 numbers. To make them from half precision anew takes ten times as long as to compare a photo with them.
_MAX_CACHED = 16 * 2**20


class ReferenceIndex:
    """Descriptors of all references, sorted by class of cell: class c has rows starts[c] to starts[c + 1]."""

    def __init__(self, descriptors: NDArray[np.float16], starts: ArrayLike) -> None:
        self.descriptors, self.starts = descriptors, np.asarray(starts, np.int64)
        whole = self.starts.size >= 1 and self.starts[0] == 0 and self.starts[-1] == len(descriptors)
        if not whole or np.any(np.diff(self.starts) < 0):
            raise ValueError("the classes must share out all rows, in order")

    def __len__(self) -> int:
        return len(self.descriptors)

    def search(
        self, descriptor: ArrayLike, classes: ArrayLike | None, k: int, *, within: Ints | None = None
    ) -> tuple[Ints, Floats]:
        """Rows and Euclidean distances of the k nearest in these classes, nearest first, ties by row.

        Fewer come back where the classes hold fewer. None for the classes searches all of them; ``within``
        are the only rows that count, in rising order, whatever their class.
        """
        if within is not None:
            only = ReferenceIndex(self._single[within], [0, len(within)])
            rows, distances = only.search(descriptor, None, k)
            return within[rows], distances
        query = np.asarray(descriptor, np.float32)
        rows_of = self.descriptors if classes is not None else self._single
        nearest_rows = [_nearest(rows_of, span, query, k) for span in self._spans(classes)]
        rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in nearest_rows)])
        distances = np.concatenate([np.empty(0), *(distances for _, distances in nearest_rows)])
        best = np.lexsort((rows, distances))[: max(k, 0)]
        return rows[best], distances[best]

    def nearest(self, descriptors: ArrayLike, k: int, *, within: Ints | None = None) -> tuple[Ints, Floats]:
        """For each of many descriptors, the rows of its k nearest of all classes, and their cosines.

        One pass over all rows whatever the number of descriptors; of equals the earlier row comes first.
        ``within`` are the only rows that count, in rising order.
        """
        if within is not None:
            rows, cosines = ReferenceIndex(self._single[within], [0, len(within)]).nearest(descriptors, k)
            return within[rows], cosines
        queries = np.asarray(descriptors, np.float32)
        rows, cosines = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0))
        in_memory = self._single.dtype == np.float32
        for start, stop in [(0, len(self))] if in_memory else _pieces([(0, len(self))]):
            here, there = _best(queries @ np.asarray(self._single[start:stop], np.float32).T, k)
            rows, cosines = np.hstack([rows, there + start]), np.hstack([cosines, here])
            cosines, order = _best(cosines, k)
            rows = np.take_along_axis(rows, order, axis=1)
        return rows, cosines

    @cached_property
    def _single(self) -> NDArray[np.floating]:
        """All rows in single precision where that is little; else as they are, to be read piece by piece."""
        small = self.descriptors.size <= _MAX_CACHED
        return np.asarray(self.descriptors, np.float32) if small else self.descriptors

    def _spans(self, classes: ArrayLike | None) -> Iterator[Span]:
        """Runs of rows to look through, none longer than memory should hold."""
        if classes is None:
            yield from _pieces([(0, len(self))])
            return
        chosen = np.unique(np.asarray(classes, np.int64))
        yield from _pieces(zip(self.starts[chosen].tolist(), self.starts[chosen + 1].tolist(), strict=True))


def _best(cosines: NDArray[np.floating], k: int) -> tuple[Floats, Ints]:
    """The k largest of each line, largest first, and where they stood; of equals the one that stood first."""
    count = cosines.shape[1]
    if count <= k:
        order = np.argsort(-cosines, axis=1, kind="stable")
    else:  # what is below the k-th largest need not be sorted
        least = np.partition(cosines, count - k, axis=1)[:, count - k]
        order = np.stack([_line(line, low, k) for line, low in zip(cosines, least, strict=True)])
    return np.take_along_axis(cosines, order, axis=1).astype(np.float64), order


def _line(cosines: NDArray[np.floating], least: np.floating, k: int) -> Ints:
    some = np.flatnonzero(cosines >= least)
    return some[np.argsort(-cosines[some], kind="stable")[:k]]


def _pieces(spans: Iterable[Span]) -> Iterator[Span]:
    for start, stop in spans:
        for first in range(start, stop, _ROWS):
            yield first, min(first + _ROWS, stop)


def _nearest(
    descriptors: NDArray[np.floating], span: Span, query: NDArray[np.float32], k: int
) -> tuple[Ints, Floats]:
    """At least the k nearest rows of a run, with their distances in double precision."""
    block = np.asarray(descriptors[span[0] : span[1]], np.float32)
    rows = _shortlist(query, block, k)
    return rows + span[0], np.linalg.norm(block[rows].astype(np.float64) - query.astype(np.float64), axis=1)


def _shortlist(query: NDArray[np.float32], block: NDArray[np.float32], k: int) -> Ints:
    """Rows that are surely the k nearest, or tie with them, however the sums were rounded."""
    count = min(k, len(block))
    if count <= 0:
        return np.empty(0, np.int64)
    lengths = np.einsum("ij,ij->i", block, block)
    squares = lengths - 2 * (block @ query)  # less the photo's own length, which is the same for all
    least = np.partition(squares, count - 1)[count - 1]
    return np.flatnonzero(squares <= least + _ROUNDING * (float(query @ query) + lengths.max()))
