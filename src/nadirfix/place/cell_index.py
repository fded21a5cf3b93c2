"""The likeliest of very many cells, found without comparing a photo with all of them.

A graph over the prototypes of each group leads from one to ever more similar ones (HNSW). The best of a group
are found in a time that hardly grows with their number; what lies beyond them adds nothing to a softmax as
sharp as the head's. Worth it from some thousands of cells: ``bench/scale.py`` measures where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MANY_CELLS", "MOST_CELLS", "CellIndex", "build_cell_index", "index_names"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

#: Cells from which the graph is faster than comparing with all: measured on two cores, with room to spare.
MANY_CELLS = 5_000
#: Cells beyond which a walk loses its way too often: ten times as many, and four photos in ten miss one of
#: their three cells. Then all are compared again, or the map is cut into sheets.
MOST_CELLS = 40_000
#: Neighbours of each prototype in the graph, and how many are kept in mind while it is built and walked.
_LINKS, _BUILD_WIDTH, _WALK_WIDTH = 16, 80, 32
#: Cells of each group that are brought back.
_FOUND = 16


def index_names(groups: int) -> list[str]:
    """What the files of an index are called in a bundle, one for each group."""
    return [f"prototypes.{group}.faiss" for group in range(groups)]


def build_cell_index(prototypes: Floats, target: Path) -> None:
    """Write the graph over one group's prototypes; in one thread, so that it always becomes the same."""
    import faiss

    half = faiss.ScalarQuantizer.QT_fp16  # as prototypes are stored anyway, and twice as fast to walk
    graph: Any = faiss.IndexHNSWSQ(prototypes.shape[1], half, _LINKS, faiss.METRIC_INNER_PRODUCT)  # type: ignore[arg-type]
    graph.hnsw.efConstruction = _BUILD_WIDTH
    rows = np.ascontiguousarray(prototypes, np.float32)
    with _one_thread():
        graph.train(rows)
        graph.add(rows)
    faiss.write_index(graph, str(target))


class CellIndex:
    """One graph for each group, read from disk as they are walked."""

    def __init__(self, files: Sequence[Path]) -> None:
        import faiss

        self._graphs: list[Any] = [faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC) for file in files]
        for graph in self._graphs:
            graph.hnsw.efSearch = _WALK_WIDTH

    def nearest(self, unit_vector: Floats) -> list[tuple[Ints, Floats]]:
        """For each group, the classes most like a vector and their cosines, the likest first."""
        with _one_thread():  # waking another costs more than one walk
            return [self._in_group(graph, unit_vector) for graph in self._graphs]

    def _in_group(self, graph: Any, unit_vector: Floats) -> tuple[Ints, Floats]:
        cosines, classes = graph.search(np.ascontiguousarray(unit_vector[None]), min(_FOUND, graph.ntotal))
        found = classes[0] >= 0
        return np.asarray(classes[0][found], np.int64), np.asarray(cosines[0][found], np.float32)


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
