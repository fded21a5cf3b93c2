"""Results that say where they come from: date, commit, machine, versions."""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nadirfix.files import atomic_file

__all__ = [
    "commit",
    "machine",
    "networks_of",
    "path_of",
    "print_progress",
    "record",
    "record_lines",
    "say",
    "write_csv",
]

BENCH = Path(__file__).parents[1]
RESULTS = BENCH / "results"
FOLDERS = ("speed", "accuracy", "training")
LIBRARIES = (
    "nadirfix",
    "numpy",
    "opencv-python-headless",
    "rasterio",
    "pyproj",
    "torch",
    "transformers",
    "onnxruntime",
)


def path_of(name: str, kind: str = "json", out_dir: Path | None = None) -> Path:
    """Where a result lies: in the folder of the script whose name it begins with."""
    return (out_dir or RESULTS / _folder(name)) / f"{name}.{kind}"


def _folder(name: str) -> str:
    """The longest name of a script that the result begins with says which folder."""
    scripts = [path for folder in FOLDERS for path in (BENCH / folder).glob("*.py")]
    matching = [path for path in scripts if name == path.stem or name.startswith(f"{path.stem}_")]
    if not matching:
        raise ValueError(f"{name}: a result's name begins with that of a script in {', '.join(FOLDERS)}")
    return max(matching, key=lambda path: len(path.stem)).parent.name


def record(name: str, payload: dict[str, Any], out_dir: Path | None = None) -> Path:
    """Write ``name.json`` with the payload (its seed included) under "results"."""
    target = path_of(name, "json", out_dir)
    made = {"date": datetime.now(UTC).isoformat(timespec="seconds"), **commit()}
    whole = {"name": name, **made, "machine": machine(), "results": payload}
    with atomic_file(target) as scratch:
        scratch.write_text(json.dumps(whole, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return target


def record_lines(name: str, columns: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> None:
    """Write ``name.csv`` beside the result: a line for each photo."""
    with atomic_file(path_of(name, "csv")) as scratch, scratch.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def write_csv(path: Path, lines: list[dict]) -> None:
    with atomic_file(path) as scratch, scratch.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(lines[0]))
        out.writeheader()
        out.writerows({k: int(v) if isinstance(v, bool) else v for k, v in line.items()} for line in lines)


def print_progress(every_s: float = 20.0) -> Callable[[str, int, int], None]:
    """Progress of a long step, a line now and then."""
    last = [time.monotonic()]

    def report(stage: str, done: int, total: int) -> None:
        if time.monotonic() - last[0] > every_s:
            last[0] = time.monotonic()
            print(f"{stage}: {done} of {total}", flush=True)

    return report


def say(text: str) -> None:
    print(text, flush=True)


def networks_of(manifest: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Which networks a bundle was built with, by name and hash: what a result is worth depends on them."""
    weights = {part: about["weights"] for part, about in manifest["networks"].items()}
    return {
        part: {"weights": Path(known["source"]).name, "sha256": known["sha256"]}
        for part, known in weights.items()
    }


def machine() -> dict[str, Any]:
    """What this ran on."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def commit() -> dict[str, Any]:
    """Which commit this is; a box without the repository is told by NADIRFIX_COMMIT."""
    head = _git("rev-parse", "HEAD")
    # What was measured before is in nobody's way.
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", "..", ":(top,exclude)bench/results")
    head = os.environ.get("NADIRFIX_COMMIT") or head
    return {"commit": head, "clean": None if changes is None else changes == ""}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], check=False, cwd=BENCH, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    """The processor's name; Linux tells it in /proc only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
