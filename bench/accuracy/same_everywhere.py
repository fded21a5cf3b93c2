"""Same photos, same bundle: what differs with the cache, the number of cores and the library.

    python -m bench.accuracy.same_everywhere --bundle B.nadir --photos FOLDER --place mine

Runs ``nadirfix locate`` on the photos in processes of their own: with an empty cache, with one that was
measured, on one core, on two with ONNX Runtime by name, and with OpenVINO (the ``fast`` extra; left out, and
said so, where it is not installed). Compares each run with the first: statuses, and metres between positions
(ADR 49).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.lib.record import record
from nadirfix.runtime.backend import CACHE_VARIABLE
from nadirfix.runtime.openvino import openvino_is_here
from nadirfix.types import Point

#: How far apart positions of one photo may lie.
BOUND_M = 0.1
Lines = list[dict[str, Any]]

#: Measured as ``locate`` and ``serve`` measure before many photos.
MEASURE = """
import sys
from nadirfix.bundle import Bundle
from nadirfix.offline.tune import tune_backends
print(tune_backends(Bundle.load(sys.argv[1])))
"""
#: A library kept as the fastest, whatever it is.
NAME = """
import sys
from nadirfix.bundle import Bundle
from nadirfix.offline.tune import measured_parts
from nadirfix.runtime.backend import Backend, remember
bundle = Bundle.load(sys.argv[1])
for files in map(bundle.network_files, measured_parts(bundle)):
    remember(files, Backend(sys.argv[2], files.precision), {})
"""


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--photos", type=Path, required=True)
    options.add_argument("--place", required=True, help="what the result is called")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        runs = all_runs(given.bundle, given.photos, Path(scratch))
    reference = runs.pop("empty cache")
    compared = {name: difference(lines, reference) for name, lines in runs.items()}
    summary = {
        "photos": len(reference),
        "fixes": sum(line["status"] == "fix" for line in reference),
        "openvino": openvino_is_here(),
        "against_empty_cache": compared,
    }
    print(record(f"same_everywhere_{given.place}", summary))


def all_runs(bundle: Path, photos: Path, scratch: Path) -> dict[str, Lines]:
    """The lines of each run, by what was different in it."""
    every = sorted(os.sched_getaffinity(0))
    runs = {"empty cache": located(bundle, photos, scratch / "empty", every)}
    measured = output_of(["-c", MEASURE, bundle], scratch / "full", every)
    print(f"measured: {measured.strip()}", flush=True)
    runs["measured cache"] = located(bundle, photos, scratch / "full", every)
    runs["one core"] = located(bundle, photos, scratch / "one", every[:1])
    for name, library in {"ONNX Runtime": "onnxruntime", "OpenVINO": "openvino"}.items():
        if library == "onnxruntime" or openvino_is_here():
            output_of(["-c", NAME, bundle, library], scratch / library, every[:2])
            runs[f"two cores, {name}"] = located(bundle, photos, scratch / library, every[:2])
    return runs


def located(bundle: Path, photos: Path, cache: Path, cores: Sequence[int]) -> Lines:
    """The lines of ``nadirfix locate`` on these cores, with this cache."""
    text = output_of(["-m", "nadirfix", "locate", photos, "--bundle", bundle, "--quiet"], cache, cores)
    lines = [json.loads(line) for line in text.splitlines()]
    print(f"{cache.name}: {sum(line['status'] == 'fix' for line in lines)} of {len(lines)} fixes", flush=True)
    return lines


def output_of(arguments: Sequence[str | Path], cache: Path, cores: Sequence[int]) -> str:
    """What a Python process of its own prints, on these cores, with what this cache remembers."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, CACHE_VARIABLE: str(cache)},
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    return done.stdout


def difference(lines: Lines, reference: Lines) -> dict[str, Any]:
    """What differs between two runs: statuses, reasons, positions; photos by number where they may not."""
    pairs = list(zip(lines, reference, strict=True))
    apart_m = [distance_m(a, b) for a, b in pairs]
    known_m = [far for far in apart_m if far is not None]
    candidates = [
        [c["reference"] for c in a["candidates"]] == [c["reference"] for c in b["candidates"]]
        for a, b in pairs
    ]
    return {
        "other_status": sum(a["status"] != b["status"] for a, b in pairs),
        "other_reason": sum(a["reason_code"] != b["reason_code"] for a, b in pairs),
        "other_candidates": candidates.count(False),
        "digits_differ": sum(far > 0 for far in known_m),
        "beyond_bound": sum(far > BOUND_M for far in known_m),
        "farthest_m": max(known_m, default=0.0),
    }


def distance_m(a: dict[str, Any], b: dict[str, Any]) -> float | None:
    """Metres between two answers; None unless both have a position."""
    if a["epsg"] is None or b["epsg"] is None:
        return None
    ours, theirs = (Point(line["easting_m"], line["northing_m"], line["epsg"]) for line in (a, b))
    return ours.distance_m(theirs)


if __name__ == "__main__":
    main()
