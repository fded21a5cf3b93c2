"""Whether a change of the code changed any answer: the same photos located by two versions of the package.

    python -m bench.accuracy.same_answers --source OTHER/src --map OLD.tif --newer NEW.tif --out before.json
    python -m bench.accuracy.same_answers --map OLD.tif --newer NEW.tif --out after.json --against before.json

Each version takes the photos, builds the bundle and places them by its own command line, with an empty cache
of its own. ``--against`` compares every field but the times, digit by digit; ``--name same_answers_PLACE``
records what differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.lib.record import record

ROOT = Path(__file__).parents[2]
LEFT_OUT = ("photo", "timings_ms")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--source", type=Path, default=ROOT / "src", help="where the package is imported from"
    )
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--newer", type=Path, required=True, help="the same place at another date")
    options.add_argument("--count", type=int, default=24)
    options.add_argument("--seed", type=int, default=5)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--against", type=Path, help="answers of the other version")
    options.add_argument("--name", help="record the comparison under this name")
    given = options.parse_args()
    answers = answers_of(given)
    given.out.write_text(json.dumps(answers, indent=1), encoding="utf-8")
    if given.against:
        compare(json.loads(given.against.read_text(encoding="utf-8")), answers, given)


def answers_of(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Photos taken, a bundle built and the photos located, all by one version of the package."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        taken, bundle = str(folder / "photos"), str(folder / "place.nadir")
        count = ["--count", str(given.count), "--seed", str(given.seed)]
        run(given, folder, "simulate", str(given.newer), "--out", taken, *count)
        run(given, folder, "build", str(given.map), "--out", bundle)
        lines = run(given, folder, "locate", f"{taken}/photos", "--bundle", bundle).splitlines()
    return [dict(sorted(json.loads(line).items())) for line in lines]


def run(given: argparse.Namespace, folder: Path, *words: str) -> str:
    """What a command of that version says on standard output."""
    environment = {
        **os.environ, "PYTHONPATH": str(given.source.resolve()), "NADIRFIX_CACHE": str(folder / "cache")
    }  # fmt: skip
    command = [sys.executable, "-m", "nadirfix", *words, "--quiet"]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(before: list[dict[str, Any]], after: list[dict[str, Any]], given: argparse.Namespace) -> None:
    """Print and record which answers differ, and in which fields."""
    differ = {
        str(i): [name for name in old if name not in LEFT_OUT and old[name] != new.get(name)]
        for i, (old, new) in enumerate(zip(before, after, strict=True))
    }
    differ = {i: names for i, names in differ.items() if names}
    summary = {"photos": len(after), "seed": given.seed, "fixes": sum(a["status"] == "fix" for a in after)}
    print(json.dumps({**summary, "differ": differ}))
    if given.name:
        record(given.name, {**summary, "differ": differ})
    if differ:
        sys.exit(1)


if __name__ == "__main__":
    main()
