"""The likeliest of very many cells, found without comparing a photo with all that is known of each.

A sketch of every prototype, its shadow on the directions that hold most of them, is short enough to be
compared with all; the best of each group are then measured in full. What lies beyond those adds nothing to a
softmax as sharp as the head's. ``bench/speed/scale.py`` measures from how many cells that is worth it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MANY_CELLS", "CellIndex", "build_cell_index", "index_names"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

#: Cells from which sketches are faster than comparing with all: measured on two cores, with room to spare.
MANY_CELLS = 1_000
#: Numbers in a sketch: the products of unrelated prototypes stay below half that of the right one.
_SKETCH = 64
#: Cells of each group that are measured in full.
_FOUND = 8
#: How far a graph is walked, in bundles of earlier releases that have one instead of sketches.
_WALK_WIDTH = 32


def index_names(groups: int) -> list[str]:
    """What the files of an index are called in a bundle, one for each group."""
    return [f"prototypes.{group}.faiss" for group in range(groups)]


def build_cell_index(prototypes: Floats, target: Path) -> None:
    """Write the sketches of one group's prototypes; the same prototypes always make the same file."""
    import faiss

    rows = np.ascontiguousarray(prototypes, np.float32)
    shadow = _directions(rows)
    sketches: Any = faiss.IndexScalarQuantizer(
        len(shadow), faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    )
    onto: Any = faiss.LinearTransform(rows.shape[1], len(shadow), False)
    faiss.copy_array_to_vector(shadow.ravel(), onto.A)
    onto.is_trained = True
    index: Any = faiss.IndexPreTransform(onto, sketches)
    with _one_thread():
        index.train(rows)
        index.add(rows)
    faiss.write_index(index, str(target))


def _directions(rows: Floats) -> Floats:
    """The directions that hold most of these rows; products of rows are best kept by them."""
    squares = rows.astype(np.float64).T @ rows
    _, vectors = np.linalg.eigh(squares)
    return np.ascontiguousarray(vectors[:, ::-1][:, :_SKETCH].T, np.float32)


class CellIndex:
    """Sketches of each group's prototypes, read from disk as they are compared."""

    def __init__(self, files: Sequence[Path]) -> None:
        import faiss

        self._groups: list[Any] = [faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC) for file in files]
        for group in self._groups:
            if hasattr(group, "hnsw"):
                group.hnsw.efSearch = _WALK_WIDTH

    def nearest(self, unit_vector: Floats, count: int = 0) -> list[Ints]:
        """For each group, the classes most like a vector as far as a sketch can tell, in the class order.

        At least ``count`` of each, where it has so many.
        """
        with _one_thread():  # waking another costs more than it does
            return [_in_group(group, unit_vector, max(_FOUND, count)) for group in self._groups]


def _in_group(group: Any, unit_vector: Floats, count: int) -> Ints:
    _, classes = group.search(np.ascontiguousarray(unit_vector[None]), min(count, group.ntotal))
    return np.sort(np.asarray(classes[0][classes[0] >= 0], np.int64))


@contextmanager
def _one_thread() -> Iterator[None]:
    """The calling thread alone does the work inside."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
