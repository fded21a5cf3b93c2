"""Whether a flipped bit in a bundle is noticed: 300 of them, spread over the bytes of all its parts.

Nothing else changes: sizes agree, and the manifest is the one that was written. Each bundle is opened as a
photo opens it. Asked for: an error on opening, or the very answer of the whole bundle. Beside it, what
opening costs: the first time, when every part is read, and after that.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.hostile_cases import whole_answer
from bench.lib.record import record
from bench.speed.bundle_fuzz import prepare
from nadirfix.bundle import Bundle
from nadirfix.errors import BundleError
from tests.hostile_bundles import flip_bit

TIMES = 15


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--bundle", type=Path, help="whose opening is timed instead of the small one's")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        whole, photo = prepare(Path(name))
        results = {
            "seed": given.seed,
            **flips(whole, photo, Path(name), given.count, given.seed),
            "opening": opening(given.bundle or whole, photo),
        }
    print(json.dumps(results, indent=2))
    print(f"wrote {record('bundle_bit_flips', results)}")


def flips(whole: Path, photo: Path, folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Bits drawn evenly over all bytes of the bundle, and at least one of each part."""
    draw, answer = np.random.default_rng(seed), whole_answer(whole, photo)
    paths = sorted(whole.iterdir())
    sizes = np.array([path.stat().st_size for path in paths])
    chosen = [*range(len(paths)), *draw.choice(len(paths), max(0, count - len(paths)), p=sizes / sizes.sum())]
    found: Counter[str] = Counter()
    for i in chosen[:count]:
        target = folder / "flipped.nadir"
        shutil.copytree(whole, target, copy_function=lambda one, other: Path(other).symlink_to(one))
        flip_bit(target / paths[i].name, draw)
        found[f"{paths[i].name}: {verdict(target, photo, answer)}"] += 1
        shutil.rmtree(target)
    verdicts = Counter(name.rpartition(": ")[2] for name in found.elements())
    return {"flips": sum(found.values()), **verdicts, "by_part": dict(sorted(found.items()))}


def verdict(bundle: Path, photo: Path, answer: dict[str, Any]) -> str:
    try:
        Bundle.load(bundle)
    except BundleError:
        return "noticed on opening"
    return "same answer" if whole_answer(bundle, photo) == answer else "another answer"


def opening(bundle: Path, photo: Path) -> dict[str, Any]:
    """Processor time of opening: every part read, as after it was copied, and as every time after that.

    Beside it that of ``nadirfix locate`` with one photo, from nothing.
    """
    first_ms = [spent_ms(lambda: Bundle.check(bundle)) for _ in range(3)]
    Bundle.load(bundle)
    later_ms = [spent_ms(lambda: Bundle.load(bundle)) for _ in range(TIMES)]
    photo_ms = statistics.median([located_ms(bundle, photo) for _ in range(TIMES // 3)])
    return {
        "megabytes": round(sum(path.stat().st_size for path in bundle.iterdir()) / 1e6, 1),
        "every_part_read_ms": round(statistics.median(first_ms), 1),
        "remembered_ms": round(statistics.median(later_ms), 2),
        "first_photo_ms": round(photo_ms),
        "remembered_share": round(statistics.median(later_ms) / photo_ms, 4),
    }


def located_ms(bundle: Path, photo: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "nadirfix", "locate", photo, "--bundle", bundle, "--quiet"]
    subprocess.run([*map(str, command)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def spent_ms(call: Callable[[], object]) -> float:
    began_s = time.process_time()
    call()
    return 1e3 * (time.process_time() - began_s)


if __name__ == "__main__":
    main()
