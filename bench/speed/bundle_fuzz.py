"""Whether a bundle that somebody tampered with can do more than be refused: two thousand of them.

Entries of the manifest, lists of parts, headers and numbers of arrays, tiles, operators and weights of
networks are changed, and most bundles sealed again; others are cut, replaced by folders or devices, or have
bits flipped. Asked for: an answer or an error of the bundle each time, never anything unexplained and never
the photo's fault, none above 30 s of processor time or 2 GB, and nothing left in its folder. A child that
says nothing for two minutes hangs, and is counted. Each case has a seed of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.lib.record import record
from nadirfix.offline import build_bundle
from nadirfix.types import View
from tests.bundles import MOSAICS, photo_of, write_ground

CHILD = "import sys; from bench.lib.hostile_cases import main; main(sys.argv[1:])"
LIMIT_S, LIMIT_MB, BATCH = 30.0, 2048, 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--minutes", type=float, default=60.0, help="begin no batch after so many")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        whole, photo = prepare(Path(name))
        scratch = Path(name) / "scratch"
        scratch.mkdir()
        results = fuzz((whole, photo, scratch), given.count, given.seed, given.minutes * 60)
    print(json.dumps(results, indent=2))
    print(f"wrote {record('bundle_fuzz', results)}")


def prepare(folder: Path) -> tuple[Path, Path]:
    """A small bundle and a photo of its ground."""
    whole, photo = folder / "whole.nadir", folder / "photo.png"
    bundle = build_bundle(write_ground(folder / "map.tif"), whole, recipe=MOSAICS)
    photo.write_bytes(photo_of(View(bundle.texture.center, 130.0, 20.0)))
    return whole, photo


def fuzz(paths: tuple[Path, Path, Path], count: int, seed: int, limit_s: float) -> dict[str, Any]:
    """All cases, a batch to a process; one that hangs or dies costs its own case and is counted."""
    began_s, lines, scratch = time.monotonic(), [], paths[2]
    for first in range(0, count, BATCH):
        if time.monotonic() - began_s < limit_s:
            lines += batch(paths, seed, range(first, min(first + BATCH, count)))
    codes = Counter(line["code"] for line in lines)
    return {
        "seed": seed,
        "bundles": len(lines),
        "seconds": round(time.monotonic() - began_s, 1),
        "codes": dict(sorted(codes.items())),
        "by_kind": dict(sorted(Counter(f"{line['kind']}: {line['code']}" for line in lines).items())),
        "unexplained": [line for line in lines if not fine(line["code"])][:20],
        "slowest_processor_s": max(line["seconds"] for line in lines),
        "peak_mb": max(line["peak_mb"] for line in lines),
        "above_limits": sum(line["seconds"] > LIMIT_S or line["peak_mb"] > LIMIT_MB for line in lines),
        "left_behind": sum(line["left_behind"] for line in lines),
        "left_in_folder": len([path for path in scratch.iterdir() if path.suffix != ".nadir"]),
    }


def fine(code: str) -> bool:
    return code == "answered" or code.startswith("bundle.")


def batch(paths: tuple[Path, Path, Path], seed: int, cases: range) -> Iterator[dict[str, Any]]:
    """The lines of these cases; after a hang or a crash the rest goes on in a new process."""
    first, stop, folder = cases.start, cases.stop, paths[2]
    while first < stop:
        command = [sys.executable, "-c", CHILD, *paths, seed, first, stop - first]
        environment = {**os.environ, "NADIRFIX_CACHE": str(folder.parent / "cache"), "TMPDIR": str(folder)}
        child = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True, env=environment)
        for line in answered(child):
            yield line
            first = line["case"] + 1
        if child.wait() != 0 and first < stop:
            ended = {"code": f"ended with {child.returncode}", "seconds": LIMIT_S, "peak_mb": 0}
            yield {"case": first, "kind": "?", **ended, "left_behind": False}
            first += 1


def answered(child: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What a child says of each case, until it ends or says nothing for too long."""
    timer = None
    for text in child.stdout or ():
        if timer is not None:
            timer.cancel()
        timer = threading.Timer(4 * LIMIT_S, child.kill)  # a busy machine is slow to begin
        timer.start()
        line = json.loads(text) if text.startswith("{") else {}  # libraries print as well
        if "case" in line:
            yield line
    if timer is not None:
        timer.cancel()


if __name__ == "__main__":
    main()
