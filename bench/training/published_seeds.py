"""The published method on one place, from trials to three seeds on the fixed views, in one command.

python -m bench.training.published_seeds --place mine --real DIR --views DIR --weights FOLDER
    --altitude-start FILE --place-start FOLDER --out DIR

Altitude settings are tried on views of our own (``ablations.py``), chosen for each half of the place by the
other (``cross_validation.py``), trained with every seed and measured on the fixed views (``ablations.py
--chosen``); then places are trained and found with those altitudes (``published.py``). What is there already
is not done again, so that a run that was cut off goes on. ``--real``, ``--views`` and the starts are as in
rows.py. Needs no GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from bench.lib.ablation_list import CONTRAST_TRIALS
from bench.lib.record import say

TRIED = ("try-altitude-usual", "try-altitude-wide", "try-altitude-beside", *CONTRAST_TRIALS)
PLACE_STEPS = {"mine": 1200, "town": 2500}
SEEDS = (0, 1, 2)

Words = list[object]


def main() -> None:
    given = arguments()
    begin(given)
    todo = [
        name for name in given.trials if not (given.out / f"ablations_{given.place}_{name}.json").exists()
    ]
    if todo:
        run([["ablations", *rows(given, todo), "--limit", given.own]])
    west, east = chosen(given)
    say(f"photos of the west by {west}, of the east by {east}")
    wanted = {seed: [n for n in dict.fromkeys((west, east)) if not done(given, n, seed)] for seed in SEEDS}
    run([measured(given, [west], 0, "--take")])  # once for all
    run(measured(given, names, seed) for seed, names in wanted.items() if names)
    ends = {seed: given.out / f"published_{given.place}_s{seed}.json" for seed in SEEDS}
    run(published(given, seed, west, east) for seed, end in ends.items() if not end.exists())


def begin(given: argparse.Namespace) -> None:
    """A folder for these settings; one that was begun with others is refused."""
    kept = {key: str(value) for key, value in sorted(vars(given).items()) if key != "out"}
    text, note = json.dumps(kept, indent=1), given.out / "headline.json"
    if note.exists() and note.read_text(encoding="utf-8") != text:
        raise SystemExit(f"{given.out} was begun with other settings ({note.name}): take another folder")
    given.out.mkdir(parents=True, exist_ok=True)
    note.write_text(text, encoding="utf-8")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--place", choices=list(PLACE_STEPS), required=True)
    for name in ("--real", "--views", "--out", "--weights", "--altitude-start", "--place-start"):
        options.add_argument(name, type=Path, required=True)
    options.add_argument("--trials", nargs="+", default=TRIED, help="rows to choose from")
    options.add_argument("--own", type=int, default=400, help="views of our own to choose by")
    options.add_argument("--limit", type=int, default=0, help="only so many fixed views")
    options.add_argument("--place-steps", type=int, default=0, help="other than usual")
    options.add_argument("--keep", action="store_true", help="write the trained place networks, too")
    options.add_argument("--small", action="store_true", help="small networks: to try this command")
    return options.parse_args()


def rows(given: argparse.Namespace, names: list[str]) -> Words:
    """The words of ablations.py for these rows."""
    where = ["--real", given.real, "--views", given.views, "--weights", given.weights, "--out", given.out]
    where += ["--cache", given.out / "photos", "--altitude-start", given.altitude_start]
    budget = ["--altitude-steps", 2, "--batch", 16] if given.small else ["--altitude-steps", 250]
    budget += [] if given.small else ["--altitude-batch", 64]
    return ["--place", given.place, *where, *budget, *small(given, "--small"), "--rows", *names]


def small(given: argparse.Namespace, *words: object) -> Words:
    """Words that are said only to try the command."""
    return list(words) if given.small else []


def chosen(given: argparse.Namespace) -> tuple[str, str]:
    """The rows that photos of either half are answered with."""
    words = ["--place", given.place, "--real", given.real, "--rows", given.out, "--only", *given.trials]
    command = [sys.executable, "-m", "bench.training.cross_validation", *map(str, words)]
    west, east = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return west, east


def photos_file(given: argparse.Namespace, name: str, seed: int) -> Path:
    """What a chosen row estimated for the fixed photos."""
    return given.out / f"chosen_{given.place}_{name}_s{seed}.csv"


def done(given: argparse.Namespace, name: str, seed: int) -> bool:
    return photos_file(given, name, seed).with_suffix(".json").exists()


def measured(given: argparse.Namespace, names: list[str], seed: int, *more: str) -> Words:
    """The command that trains chosen rows with a seed and measures them on the fixed views."""
    kept = ["--pack", given.out / f"chosen_s{seed}.tgz"]
    return [
        "ablations",
        *rows(given, names),
        "--chosen",
        "--seed",
        seed,
        "--limit",
        given.limit,
        *kept,
        *more,
    ]


def published(given: argparse.Namespace, seed: int, west: str, east: str) -> Words:
    """The command that trains and finds places with these altitudes."""
    old, new = (given.real / f"{given.place}_{date}.ntx" for date in ("old", "new"))
    where = ["--map", old, "--photos", new, "--views", given.views / f"{given.place}_views.csv"]
    where += ["--out", given.out, "--cache", given.out / "photos", "--limit", given.limit]
    start = ["--weights", given.weights, "--place-weights", given.place_start]
    start += ["--start-name", given.place_start.name, "--imprint", 6]
    if given.small:
        start = ["--encoder", "small", "--weights", "random", "--batch", 16, "--held-out", 64]
    steps = given.place_steps or PLACE_STEPS[given.place]
    rest = ["--place-steps", steps, "--seed", seed, "--name", f"{given.place}_s{seed}"]
    answers = ["--altitudes", photos_file(given, west, seed), photos_file(given, east, seed)]
    return ["published", *where, *start, *rest, *answers, *(["--keep"] if given.keep else [])]


def run(commands: Iterable[Iterable[object]]) -> None:
    """All at once; one that fails does not stop the others, and is told at the end."""
    lines = [[sys.executable, "-m", f"bench.training.{first}", *map(str, rest)] for first, *rest in commands]
    running = [subprocess.Popen(line) for line in lines]
    failed = [" ".join(line) for line, process in zip(lines, running, strict=True) if process.wait()]
    if failed:
        raise SystemExit("\n".join(["failed:", *failed]))


if __name__ == "__main__":
    main()
