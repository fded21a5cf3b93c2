"""Whether a map that was tampered with can break opening it: tags, descriptions, tables, sizes, cut.

Asked for: no error but our own, none over 30 s, no peak over 2 GB, nothing left behind. Each map that opens
is rendered once, in its middle.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from bench.lib.hostile import Attempt, attempt_all
from bench.lib.record import record
from tests.hostile_maps import base_maps, mutated_map


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=24)
    options.add_argument("--most-minutes", type=float, default=60.0)
    given = options.parse_args()
    results = attempt_all(map_opener, given.count, seed=given.seed, most_s=60 * given.most_minutes)
    print(json.dumps(results, indent=2))
    print(f"wrote {record('fuzz_maps', results)}")


def map_opener(seed: int, folder: Path) -> Attempt:
    from nadirfix.camera import Camera
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.types import View

    originals = Path(tempfile.mkdtemp(dir=folder))
    maps = base_maps(originals)

    def attempt(number: int) -> str:
        kind, path = mutated_map(maps, originals, seed, number)
        before = set(originals.iterdir())
        with GeoMap.open(path) as opened:
            opened.render(View(opened.center, 100.0), Camera(64, 48, 60.0, 60.0))
        if left := {file.name for file in set(originals.iterdir()) - before}:
            raise RuntimeError(f"left behind: {left}")
        return kind

    return attempt


if __name__ == "__main__":
    main()
