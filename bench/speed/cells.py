"""What it costs to search every cell instead of three, by the number of references.

python -m bench.speed.cells [--sizes 8000 60000 250000 1000000]

Made descriptors (256 numbers, half precision, on disk as in a bundle, 30 to a cell), one photo at a time.
What it gains is measured by bench/accuracy/retrieval.py, which searches both.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.lib.record import record
from nadirfix.retrieval.index import ReferenceIndex

SEED, DIMS, PER_CELL, PHOTOS = 0, 256, 30, 40


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--sizes", type=int, nargs="+", default=[8_000, 60_000, 250_000, 1_000_000])
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(size, Path(folder)) for size in given.sizes]
    for one in rows:
        print(json.dumps(one))
    print(f"wrote {record('cells', {'seed': SEED, 'dimensions': DIMS, 'photos': PHOTOS, 'rows': rows})}")


def row(size: int, folder: Path) -> dict[str, float]:
    draw = np.random.default_rng(SEED)
    path = folder / f"{size}.npy"
    stored = np.lib.format.open_memmap(path, "w+", np.float16, (size, DIMS))
    for start in range(0, size, 10_000):
        stored[start : start + 10_000] = unit(draw.normal(size=(min(10_000, size - start), DIMS)))
    stored.flush()
    index = ReferenceIndex(np.load(path, mmap_mode="r"), np.append(np.arange(0, size, PER_CELL), size))
    queries = unit(draw.normal(size=(PHOTOS, DIMS))).astype(np.float32)
    cells = [draw.integers(0, size // PER_CELL, 3) for _ in queries]
    return {
        "references": size,
        "square_km": round(size / 2840, 1),  # a stride of 65 m, twelve headings
        "three_cells_ms": median_ms(index, queries, cells),
        "all_cells_ms": median_ms(index, queries, [None] * PHOTOS),
    }


def median_ms(index: ReferenceIndex, queries: np.ndarray, cells: list) -> float:
    spent = []
    for query, some in zip(queries, cells, strict=True):
        began = time.perf_counter()
        index.search(query, some, 10)
        spent.append(1e3 * (time.perf_counter() - began))
    return round(float(np.median(spent[3:])), 2)


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
