"""How long a map takes to become a bundle, by the command people type, on an install as it is.

python -m bench.speed.build --map MAP --name NAME [--recipe RECIPE] [--out BUNDLE.nadir]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.lib.record import networks_of, record
from nadirfix.bundle import Bundle
from nadirfix.parallel import cores


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--recipe", default="standard")
    options.add_argument("--out", type=Path, help="where the bundle stays; by default it does not")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = given.out or Path(folder) / "bundle.nadir"
        loaded = os.getloadavg()[0]
        wall_s = built(given.map, target, given.recipe)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        bundle = Bundle.load(target)
        found = {
            "seed": bundle.recipe.seed,
            "map": given.map.name,
            "recipe": bundle.recipe.name,
            "cores": cores(),
            "references": len(bundle.references),
            "matcher": bundle.matcher_name,
            "networks": networks_of(bundle.manifest),
            "minutes": round(wall_s / 60, 2),
            "processor_minutes": round((used.ru_utime + used.ru_stime) / 60, 2),
            "peak_resident_mb": round(used.ru_maxrss / 1024),
            "load_before": round(loaded, 2),
        }
    print(f"{found}\nwrote {record(f'build_{given.name}', found)}")


def built(source: Path, target: Path, recipe: str) -> float:
    command = [sys.executable, "-m", "nadirfix", "build", str(source), "--out", str(target), "--overwrite"]
    began = time.monotonic()
    subprocess.run([*command, "--recipe", recipe], check=True)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
