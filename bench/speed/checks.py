"""What looking at a photo before decoding it costs: an ordinary one, against another commit.

Two processes read the same photo in turns, one with the source of the checkout ``--before``, one with this
one's; each reads the tags and decodes, as the service does. The photo is a drone's by size and tags.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bench.lib.record import record
from nadirfix.camera import Camera
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.types import Point, View

ROOT = Path(__file__).parents[2]
#: What reads a photo in either checkout: the service's decoder where there is one.
READER = """
import sys, time
from pathlib import Path
from nadirfix.image.decode import decode
from nadirfix.image.tags import read_tags
try:
    from nadirfix.serve.decoding import LimitedDecoder
    decode = LimitedDecoder(20.0)
except ImportError:
    pass
photo = Path(sys.argv[1]).read_bytes()
for line in sys.stdin:
    began_s = time.process_time()
    read_tags(photo)
    decode(photo, max_pixels=64_000_000)
    print(1000 * (time.process_time() - began_s), flush=True)
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--before", type=Path, required=True, help="a checkout to compare with")
    options.add_argument("--rounds", type=int, default=60)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        photo = Path(folder, "photo.jpg")
        photo.write_bytes(drone_photo())
        results = compare(given.before.resolve(), photo, given.rounds)
    print(json.dumps(results, indent=2))
    print(f"wrote {record('checks', results)}")


def drone_photo() -> bytes:
    """12 megapixels of detail, smooth and rough, with camera and pose."""
    random = np.random.default_rng(0)
    coarse = Image.fromarray(random.integers(0, 255, (75, 100, 3), np.uint8)).resize((4000, 3000))
    pixels = np.clip(np.asarray(coarse, np.int16) + random.integers(-12, 12, (3000, 4000, 1)), 0, 255)
    view = View(Point(500_000.0, 5_400_000.0, 32633), 120.0)
    return encode_jpeg(pixels.astype(np.uint8), Camera(4000, 3000, 2800.0, 2800.0), quality=92, pose=view)


def compare(before: Path, photo: Path, rounds: int) -> dict[str, Any]:
    readers = {"before": reader(before, photo), "after": reader(ROOT, photo)}
    times_ms: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(rounds + 3):
        for name in sorted(readers, reverse=turn % 2 == 0):
            took_ms = ask(readers[name])
            if turn >= 3:  # the first ones load what all share
                times_ms[name].append(took_ms)
    for process in readers.values():
        process.communicate()
    ratios = [after / old for after, old in zip(times_ms["after"], times_ms["before"], strict=True)]
    return {
        "photo_mb": round(photo.stat().st_size / 1e6, 1),
        "rounds": rounds,
        "load_average": round(os.getloadavg()[0], 1),
        "before_ms": round(statistics.median(times_ms["before"]), 2),
        "after_ms": round(statistics.median(times_ms["after"]), 2),
        "ratio": round(statistics.median(ratios), 4),
        "ratio_quartiles": [round(q, 4) for q in statistics.quantiles(ratios, n=4)[::2]],
        "ratio_of_fastest": round(min(times_ms["after"]) / min(times_ms["before"]), 4),
    }


def reader(checkout: Path, photo: Path) -> subprocess.Popen[str]:
    surroundings = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-c", READER, str(photo)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd="/", env=surroundings)


def ask(process: subprocess.Popen[str]) -> float:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


if __name__ == "__main__":
    main()
