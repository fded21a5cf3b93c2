"""Whether a change of the code changed any answer: the same photos located by two versions of the package.

    python -m bench.accuracy.same_answers --source OTHER/src --map OLD.tif --newer NEW.tif --out before.json
    python -m bench.accuracy.same_answers --map OLD.tif --newer NEW.tif --out after.json --against before.json

Each version takes the photos, builds the bundle and locates them by its own command line, with an empty cache
of its own. ``--demo DIR`` takes the figures of `nadirfix demo` instead, which needs no imagery; a demo that
was stopped goes on. ``--against`` compares every field but times and memory, digit by digit; ``--name
same_answers_PLACE`` records what differs, and between which commits.
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
LEFT_OUT = ("photo", "timings_ms", "peak_rss_mb")
Answers = list[dict[str, Any]]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--source", type=Path, default=ROOT / "src", help="where the package is imported from"
    )
    options.add_argument("--map", type=Path)
    options.add_argument("--newer", type=Path, help="the same place at another date")
    options.add_argument("--count", type=int, default=24)
    options.add_argument("--seed", type=int, default=5)
    options.add_argument("--demo", type=Path, help="a folder for `nadirfix demo`, in place of map and photos")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--against", type=Path, help="answers of the other version")
    options.add_argument("--name", help="record the comparison under this name")
    given = options.parse_args()
    if not (given.demo or (given.map and given.newer)):
        options.error("give --map and --newer, or --demo")
    answers = demo_of(given) if given.demo else answers_of(given)
    after = {**commit_of(given.source), "answers": answers}
    given.out.write_text(json.dumps(after, indent=1), encoding="utf-8")
    if given.against:
        compare(json.loads(given.against.read_text(encoding="utf-8")), after, given)


def answers_of(given: argparse.Namespace) -> Answers:
    """Photos taken, a bundle built and the photos located, all by one version of the package."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        taken, bundle = str(folder / "photos"), str(folder / "place.nadir")
        count = ["--count", str(given.count), "--seed", str(given.seed)]
        run(given, folder, "simulate", str(given.newer), "--out", taken, *count)
        run(given, folder, "build", str(given.map), "--out", bundle)
        lines = run(given, folder, "locate", f"{taken}/photos", "--bundle", bundle).splitlines()
    return [dict(sorted(json.loads(line).items())) for line in lines]


def demo_of(given: argparse.Namespace) -> Answers:
    """The figures of the demo as one answer, and the table that compares variants, a row each."""
    with tempfile.TemporaryDirectory() as scratch:
        run(given, Path(scratch), "demo", "--out", str(given.demo))
    metrics = json.loads((given.demo / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    return [metrics, *metrics.pop("comparison")]


def run(given: argparse.Namespace, folder: Path, *words: str) -> str:
    """What a command of that version says on standard output."""
    environment = {
        **os.environ, "PYTHONPATH": str(given.source.resolve()), "NADIRFIX_CACHE": str(folder / "cache")
    }  # fmt: skip
    command = [sys.executable, "-m", "nadirfix", *words, "--quiet"]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def commit_of(source: Path) -> dict[str, Any]:
    """Which commit the package is of, and whether its files are those of the commit."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=source, check=True, capture_output=True, text=True).stdout

    return {"commit": git("rev-parse", "HEAD").strip(), "clean": not git("status", "--porcelain", "--", ".")}


def compare(before: dict[str, Any], after: dict[str, Any], given: argparse.Namespace) -> None:
    """Print and record which answers differ, and in which fields."""
    pairs = zip(before["answers"], after["answers"], strict=True)
    differ = {
        str(i): [name for name in old if name not in LEFT_OUT and old[name] != new.get(name)]
        for i, (old, new) in enumerate(pairs)
    }
    differ = {i: names for i, names in differ.items() if names}
    sides = {
        name: {k: side[k] for k in ("commit", "clean")}
        for name, side in (("before", before), ("after", after))
    }
    summary = {**sides, **contents(after["answers"], given), "differ": differ}
    print(json.dumps(summary))
    if given.name:
        record(given.name, summary)
    if differ:
        sys.exit(1)


def contents(answers: Answers, given: argparse.Namespace) -> dict[str, Any]:
    """What was compared: photos and how many were answered, or the demo's figures as they are."""
    if given.demo:
        return {"demo": {name: value for name, value in answers[0].items() if name not in LEFT_OUT}}
    fixes = sum(answer["status"] == "fix" for answer in answers)
    return {"photos": len(answers), "seed": given.seed, "fixes": fixes}


if __name__ == "__main__":
    main()
