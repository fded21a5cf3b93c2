"""How search grows with the map: cells and references from ten thousand to ten million.

python -m bench.speed.scale [--sizes 1e4 1e5 1e6 1e7] [--folder DIR]

Descriptors are made: neighbouring places look alike, far ones do not, headings differ. Every size is searched
by a process of its own, so that its memory is its own. The switch from comparing with all cells to comparing
sketches first is measured on the way.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.record import record
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.offline.describe import write_cell_index
from nadirfix.options.recipe import HeadOptions
from nadirfix.retrieval.cell_index import MANY_CELLS, CellIndex
from nadirfix.retrieval.cells import CellClassifier
from nadirfix.retrieval.index import ReferenceIndex

DIMS, PER_CELL, CELLS, RETRIEVE, QUERIES = 512, 36, 3, 10, 200
_PIECE = 2000
#: How strongly a reference differs from its cell, relative to what they share.
_OWN = 0.6


def main() -> None:
    given = arguments()
    if given.search:
        print(json.dumps(searched(Path(given.folder), given.references)))
        return
    rows = []
    for size in given.sizes:
        with tempfile.TemporaryDirectory(dir=given.folder or None) as name:
            rows.append(one_size(int(size), Path(name)))
        print(json.dumps(rows[-1]), flush=True)
    growth = round(rows[-1 if len(rows) < 3 else 2]["search_ms"] / rows[0]["search_ms"], 2)
    results = {
        "seed": 0, "dimensions": DIMS, "queries": QUERIES, "many_cells": MANY_CELLS, "sizes": rows,
        "growth_1e4_to_1e6": growth,
    }  # fmt: skip
    print_table(rows)
    print(f"wrote {record('scale', results)}")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--sizes", type=float, nargs="+", default=[1e4, 1e5, 1e6, 1e7])
    options.add_argument("--folder", default="")
    options.add_argument("--search", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--references", type=int, help=argparse.SUPPRESS)
    return options.parse_args()


def one_size(references: int, folder: Path) -> dict[str, Any]:
    """Make a database of this size, then have it searched."""
    order, began = order_of(references), time.perf_counter()
    make_references(order, folder)
    written_s, began = time.perf_counter() - began, time.perf_counter()
    write_cell_index(tables_of(order), folder.joinpath)
    sketch_s = time.perf_counter() - began
    command = [
        sys.executable,
        "-m",
        __spec__.name,
        "--search",
        "--folder",
        str(folder),
        "--references",
        str(references),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    return {
        "references": len(order) * PER_CELL,
        "cells": len(order),
        "area_km2": round(len(order) * 0.01, 1),
        "descriptors_mb": round(sizes["descriptors.npy"] / 1e6, 1),
        "sketch_mb": round(sum(v for k, v in sizes.items() if "sketches" in k or "directions" in k) / 1e6, 1),
        "write_s": round(written_s, 1),
        "sketch_s": round(sketch_s, 1),
        **json.loads(done.stdout.splitlines()[-1]),
    }


def order_of(references: int) -> ClassOrder:
    side = max(2, math.isqrt(references // PER_CELL))
    return ClassOrder.from_cells(Grid(100.0, 2), [(x, y) for x in range(side) for y in range(side)])


class Ground:
    """Descriptors of places: random waves over the map, so that neighbours are alike."""

    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        self.waves = draw.normal(0, 0.8, (2, DIMS)).astype(np.float32)
        self.phases = draw.uniform(0, 2 * np.pi, DIMS).astype(np.float32)
        self.headings = draw.normal(0, 1 / math.sqrt(DIMS), (PER_CELL, DIMS)).astype(np.float32)

    def descriptors_at(self, places: np.ndarray) -> np.ndarray:
        return unit(np.cos(places.astype(np.float32) @ self.waves + self.phases))


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def tables_of(order: ClassOrder) -> list[np.ndarray]:
    ground = Ground()
    return [ground.descriptors_at(cells + 0.5) for cells in order.cells]


def make_references(order: ClassOrder, folder: Path) -> None:
    """Descriptors and prototypes on disk, cell after cell."""
    ground, cells = Ground(), np.concatenate(order.cells)
    shape = (len(cells) * PER_CELL, DIMS)
    out = np.lib.format.open_memmap(folder / "descriptors.npy", "w+", np.float16, shape)
    for first in range(0, len(cells), _PIECE):
        middle = ground.descriptors_at(cells[first : first + _PIECE] + 0.5)
        rows = unit(middle[:, None] + _OWN * ground.headings).astype(np.float16).reshape(-1, DIMS)
        out[first * PER_CELL : first * PER_CELL + len(rows)] = rows
    out.flush()
    np.save(folder / "prototypes.npy", np.concatenate(tables_of(order)).astype(np.float16))


def searched(folder: Path, references: int) -> dict[str, Any]:
    """In a process of its own: open, classify and retrieve, as ``locate`` does."""
    order = order_of(references)
    before_mb, began = resident_mb(), time.perf_counter()
    prototypes = np.load(folder / "prototypes.npy", mmap_mode="r")
    tables = np.split(prototypes, np.cumsum(order.sizes)[:-1])
    sketches = CellIndex(folder, groups=len(tables))
    quick = CellClassifier(tables, order, HeadOptions(), index=sketches)
    index = ReferenceIndex(
        np.load(folder / "descriptors.npy", mmap_mode="r"), np.arange(len(order) + 1) * PER_CELL
    )
    opened_s, queries = time.perf_counter() - began, query_descriptors(order)
    at_first, _ = timed(queries, quick, index, order)  # pages come from the disk's cache as they are touched
    by_sketch, found = timed(queries, quick, index, order)
    sketch_mb = resident_mb()
    every = CellClassifier(tables, order, HeadOptions())
    timed(queries, every, index, order)
    by_all, wanted = timed(queries, every, index, order)
    shared = [len(set(a) & set(b)) for a, b in zip(found, wanted, strict=True)]
    chosen = by_sketch if len(order) >= MANY_CELLS else by_all
    return {
        "open_s": round(opened_s, 2),
        "classify_all_ms": by_all[0],
        "classify_sketch_ms": by_sketch[0],
        "retrieve_ms": chosen[1],
        "search_ms": round(chosen[0] + chosen[1], 3),
        "search_first_time_ms": round(sum(at_first), 3),
        "top3_recall": round(float(np.mean(shared)) / CELLS, 4),
        "memory_sketch_mb": round(sketch_mb["RssAnon"] - before_mb["RssAnon"], 1),
        "memory_all_mb": round(resident_mb()["RssAnon"] - before_mb["RssAnon"], 1),
        "mapped_mb": round(sketch_mb["RssFile"] - before_mb["RssFile"], 1),
    }


def query_descriptors(order: ClassOrder) -> np.ndarray:
    """Photos: places anywhere on the map, seen a little differently than on the day of the map."""
    draw, cells = np.random.default_rng(1), np.concatenate(order.cells)
    places = draw.uniform(0, cells.max() + 1, (QUERIES, 2))
    noise = draw.normal(0, 0.5 / math.sqrt(DIMS), (QUERIES, DIMS))
    return unit(Ground().descriptors_at(places) + noise).astype(np.float32)


def timed(
    queries: np.ndarray, classifier: CellClassifier, index: ReferenceIndex, order: ClassOrder
) -> tuple[tuple[float, float], list[list[int]]]:
    """Median milliseconds of both steps, and the classes that were named."""
    first, spent, named = np.cumsum([0, *order.sizes]), [], []
    for query in queries:
        began = time.perf_counter()
        ranking = classifier.top(query, CELLS)
        classes = first[ranking.group] + ranking.index
        between = time.perf_counter()
        index.search(query, classes, RETRIEVE)
        spent.append((1e3 * (between - began), 1e3 * (time.perf_counter() - between)))
        named.append(classes.tolist())
    classify, retrieve = np.median(spent[10:], axis=0)
    return (round(float(classify), 3), round(float(retrieve), 3)), named


def resident_mb() -> dict[str, float]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Rss")}


def print_table(rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")
    for row in rows:
        print("| " + " | ".join(str(row[name]) for name in names) + " |")


if __name__ == "__main__":
    main()
