"""One photo from nothing: how long ``nadirfix locate one.jpg`` takes, and how much memory.

python -m bench.speed.cold_start [--bundle B --photo FILE] [--wide] [--times 7]

Beside it a bare import of numpy, OpenCV and ONNX Runtime, plus one warm photo. Both as a single-crop
answer (``--no-wce --no-vote --no-verify``, the published stages) and as ``locate`` answers by default. With
``--wide`` the bundle's references are first multiplied to 20 km² (2025 cells, 56 700 references, made
descriptors). Without a bundle the tiny recipe's is made, of a small world.
Python's compiled modules are kept, as an installed package has them; the first run of each is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.record import record
from bench.speed.serve_load import prepare
from nadirfix.bundle import Bundle, References
from nadirfix.bundle import layout as parts
from nadirfix.geo.grid import ClassOrder
from nadirfix.offline.describe import mean_directions, save_array, write_cell_index
from nadirfix.offline.manifest import list_parts, write_manifest
from nadirfix.offline.references import write_references
from nadirfix.offline.tune import is_tuned, tune_backends
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.cell_index import index_names

CELLS_PER_SIDE, PER_CELL = 45, 28
SINGLE_CROP = LocateOptions(verify=False, weighted=False, whole_frame=False)
MODES = {
    "single_crop": (["--no-wce", "--no-vote", "--no-verify"], SINGLE_CROP),
    "default": ([], LocateOptions()),
}

START = """
import json, sys, time
began = time.perf_counter()
{body}
spent_s = time.perf_counter() - began
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps(dict(s=spent_s, mb=int(peak.split()[1]) / 1024)))
"""
IMPORTS = "import numpy, cv2, onnxruntime"
COLD = """
bundle, photo, out, *more = sys.argv[1:]
sys.argv = ["nadirfix", "locate", photo, "--bundle", bundle, "--quiet", "--out", out, "--overwrite", *more]
from nadirfix.cli import main
main()
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--bundle", type=Path)
    options.add_argument("--photo", type=Path)
    options.add_argument("--wide", action="store_true")
    options.add_argument("--times", type=int, default=7)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, bundle, photo = Path(name), given.bundle, given.photo
        if bundle is None or photo is None:
            bundle, photos = prepare(folder, 7, "none")
            photo = min(photos.iterdir())
        chosen = bundle.name
        if given.wide:
            bundle = widened(bundle, folder / "wide.nadir")
        opened = Bundle.load(bundle)
        if not is_tuned(opened):
            tune_backends(opened)
        results = {
            "bundle": chosen,
            "references": len(opened.references),
            "cells": len(opened.order),
            **cold_start(bundle, photo, folder, times=given.times),
        }
    print(json.dumps(results, indent=2))
    print(f"wrote {record('cold_start', results)}")


def cold_start(bundle: Path, photo: Path, folder: Path, *, times: int = 5) -> dict[str, Any]:
    """Seconds from nothing and memory at its peak, in turns with the bare import."""
    arguments = [str(bundle), str(photo), str(folder / "out.jsonl")]
    spent: dict[str, list[dict[str, float]]] = {"bare": [], **{mode: [] for mode in MODES}}
    for _ in range(times + 1):
        spent["bare"].append(child(folder, IMPORTS))
        for mode, (flags, _) in MODES.items():
            spent[mode].append(child(folder, COLD, *arguments, *flags))
    bare_s = median_s(spent["bare"])
    found: dict[str, Any] = {"bare_import_s": round(bare_s, 3)}
    for mode, (_, options) in MODES.items():
        cold_s, warm_s = median_s(spent[mode]), warm(bundle, photo, options)
        found[mode] = {
            "warm_photo_s": round(warm_s, 3),
            "cold_locate_s": round(cold_s, 3),
            "cold_over_bare_and_warm": round(cold_s / (bare_s + warm_s), 2),
            "peak_resident_mb": round(max(t["mb"] for t in spent[mode])),
        }
    return found


def child(folder: Path, body: str, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-c", START.format(body=body), *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compiled = {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=compiled)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def median_s(spent: list[dict[str, float]]) -> float:
    return float(np.median([t["s"] for t in spent[1:]]))


def warm(bundle: Path, photo: Path, options: LocateOptions) -> float:
    """A photo in a process that has located some, run as one photo alone is."""
    opened = Bundle.load(bundle, photos=1)
    taken = [locate(photo, bundle=opened, options=options).timings_ms["total"] for _ in range(5)]
    return float(np.median(taken[1:])) / 1e3


def widened(path: Path, target: Path) -> Path:
    """The bundle with so many cells and references as 20 km² have; made descriptors, the rest its own."""
    shutil.copytree(path, target)
    bundle = Bundle.load(path)
    side = range(CELLS_PER_SIDE)
    order = ClassOrder.from_cells(bundle.grid, [(x, y) for x in side for y in side])
    references = spread(bundle, order)
    draw, dims = np.random.default_rng(0), bundle.descriptors.shape[1]
    made = draw.normal(size=(len(references), dims)).astype(np.float32)
    descriptors = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)
    prototypes = mean_directions(descriptors, references)
    for name in (parts.REFERENCES, parts.DESCRIPTORS, parts.PROTOTYPES):
        (target / name).unlink()
    write_references(references, order, target / parts.REFERENCES)
    save_array(target / parts.DESCRIPTORS, descriptors)
    save_array(target / parts.PROTOTYPES, prototypes)
    names = index_names(len(order.sizes))
    tables = np.split(prototypes.astype(np.float32), np.cumsum(order.sizes)[:-1])
    write_cell_index(tables, target.joinpath)
    manifest = {**bundle.manifest, "classes": order.to_dict()}
    manifest["parts"] = list_parts(target, {*bundle.manifest["parts"], *names})
    (target / parts.MANIFEST).unlink()
    write_manifest(target, manifest)
    return target


def spread(bundle: Bundle, order: ClassOrder) -> References:
    """So many references in every cell, over the cell."""
    cells = np.repeat(np.concatenate(order.cells), PER_CELL, axis=0)
    within = np.tile(np.linspace(0.1, 0.9, PER_CELL), len(order))
    origin = np.array(bundle.manifest["grid"]["origin_m"])
    east, north = (origin + (cells + within[:, None]) * bundle.grid.cell_m).T
    heading = np.tile(np.arange(PER_CELL) * 360.0 / PER_CELL, len(order))
    return References.sorted_by_class(east, north, heading, epsg=bundle.epsg, grid=bundle.grid, order=order)


if __name__ == "__main__":
    main()
