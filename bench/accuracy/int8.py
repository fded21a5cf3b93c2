"""What int8 costs in accuracy: the same photos and bundle, in single precision and in int8.

python -m bench.accuracy.int8 --bundle B --manifest M.csv [--limit 150] [--name NAME] [--library onnxruntime]

Photo by photo in turns, without verification, so that what the networks say is what is measured.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.record import record
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.photo_list import read_photo_list
from nadirfix.runtime.backend import Backend
from nadirfix.runtime.load import load_backend
from nadirfix.types import Fix, Point

OPTIONS = LocateOptions(verify=False, whole_frame=False)
NETWORKS = {"altitude_network": parts.ALTITUDE, "place_network": parts.PLACE}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--bundle", required=True)
    options.add_argument("--manifest", required=True, type=Path)
    options.add_argument("--limit", type=int, default=150)
    options.add_argument("--name", default="photos")
    options.add_argument("--library", default="onnxruntime", choices=["onnxruntime", "openvino"])
    given = options.parse_args()
    rows = read_photo_list(given.manifest)
    rows = rows[:: max(1, len(rows) // given.limit)][: given.limit]
    both = {name: opened(given, name) for name in ("single", "eight_bit")}
    fixes: dict[str, list[Fix]] = {name: [] for name in both}
    spent: dict[str, list[float]] = {name: [] for name in both}
    for row in rows:
        for name, bundle in both.items():
            began = time.perf_counter()
            fixes[name].append(locate(row.photo, bundle=bundle, options=OPTIONS))
            spent[name].append(1e3 * (time.perf_counter() - began))
    truth = [row.point for row in rows]
    results = {
        "seed": 0,
        "photos": len(rows),
        "library": given.library,
        "eight_bits": in_int8(both["single"]),
    }
    for name in both:
        results[name] = {**accuracy(fixes[name], truth), "median_ms": round(float(np.median(spent[name])), 1)}
    results["agreement"] = agreement(fixes["single"], fixes["eight_bit"])
    print(json.dumps(results, indent=2))
    print(f"wrote {record(f'int8_{given.name}', results)}")


def opened(given: argparse.Namespace, precision: Any) -> Bundle:
    """The bundle with both networks run in this precision, where it has them so."""
    bundle = Bundle.load(given.bundle)
    for name, part in NETWORKS.items():
        files = bundle.network_files(part)
        backend = Backend(given.library, precision if files.int8 else "single")
        bundle.__dict__[name] = load_backend(files, backend)
    return bundle


def in_int8(bundle: Bundle) -> dict[str, bool]:
    return {part: bundle.network_files(part).int8 is not None for part in NETWORKS.values()}


def accuracy(fixes: list[Fix], truth: list[Point]) -> dict[str, float]:
    """Share of photos located, as METHOD counts: less than 100 m off."""
    off_m = [
        fix.position.distance_m(p) if fix.position else np.inf for fix, p in zip(fixes, truth, strict=True)
    ]
    return {
        "s_loc_100": round(100 * float(np.mean(np.array(off_m) < 100)), 2),
        "s_loc_25": round(100 * float(np.mean(np.array(off_m) <= 25)), 2),
        "median_m": round(float(np.median(off_m)), 1),
    }


def agreement(ones: list[Fix], others: list[Fix]) -> dict[str, float]:
    pairs = [(a, b) for a, b in zip(ones, others, strict=True) if a.candidates and b.candidates]
    same = [a.altitude_m == b.altitude_m for a, b in pairs]
    same_class = [pair for pair, agree in zip(pairs, same, strict=True) if agree]
    first = [a.candidates.reference[0] == b.candidates.reference[0] for a, b in same_class]  # type: ignore[union-attr]
    off_m = [a.position.distance_m(b.position) for a, b in same_class if a.position and b.position]
    return {
        "same_altitude_class": round(float(np.mean(same)), 4),
        "same_first_reference_where_so": round(float(np.mean(first)), 4),
        "positions_within_5_m_where_so": round(float(np.mean(np.array(off_m) <= 5)), 4),
    }


if __name__ == "__main__":
    main()
