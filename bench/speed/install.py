"""What an install brings and how soon it answers, beside an earlier version's.

    python -m bench.speed.install --new VENV --old VENV --bundle B.nadir --photo FILE [--old-bundle B.nadir]
        [--times 9]

Each VENV is an environment in which ``pip install`` put one version without extras. In turns, each time in a
process of its own: ``import nadirfix``, ``nadirfix --help``, and ``nadirfix locate`` of one photo with an
empty cache. Bundles of earlier layouts need an extra, so the older version has its own, of the same map;
without it only the newer one answers. Seconds that pass and seconds of the
processor are both kept: on a machine that is shared only the second say what it costs. What each library
brings (MB on disk, and the seconds it takes to import) is listed for the newer one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.lib.record import print_progress, record

#: In the environment that is measured: the megabytes of each distribution, and of the core's what to import.
DISTRIBUTIONS = """
import json
from importlib.metadata import distributions, packages_distributions, requires
found = {}
for one in distributions():
    paths = [file.locate() for file in one.files or ()]
    name = one.metadata["Name"].lower().replace("_", "-")
    found[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
needed = [line.split(">")[0].strip().lower() for line in requires("nadirfix") if "extra ==" not in line]
modules = {}
for module, names in packages_distributions().items():
    for name in names:
        if module.isidentifier() and not module.startswith("_"):
            modules.setdefault(name.lower().replace("_", "-"), []).append(module)
print(json.dumps([found, {name: modules[name] for name in needed if name in modules}]))
"""
IMPORTING = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"
#: They come with every environment.
NOT_OURS = {"pip", "setuptools", "wheel"}
NAMES = ("old", "new")
Spent = dict[str, list[dict[str, float]]]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--new", type=Path, required=True)
    options.add_argument("--old", type=Path, required=True)
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--photo", type=Path, required=True)
    options.add_argument("--old-bundle", type=Path)
    options.add_argument("--times", type=int, default=9)
    given = options.parse_args()
    folders = {name: getattr(given, name).absolute() for name in NAMES}
    results = {"times": given.times, **sizes(folders), **timed(folders, given)}
    print(json.dumps(results, indent=1))
    print(f"wrote {record('install', results)}")


def sizes(folders: dict[str, Path]) -> dict[str, Any]:
    """Installed megabytes of either, and what each library of the newer one brings."""
    megabytes, modules = {}, {}
    for name, folder in folders.items():
        found, modules = json.loads(output_of(folder, DISTRIBUTIONS))
        megabytes[name] = {one: size for one, size in found.items() if one not in NOT_OURS}
    totals = {name: round(sum(found.values())) for name, found in megabytes.items()}
    listed = sorted(megabytes["new"].items(), key=lambda item: -item[1])
    return {
        "installed_mb": {**totals, "ratio": round(totals["new"] / totals["old"], 3)},
        "libraries_mb": {name: round(size, 1) for name, size in listed if size >= 1},
        "imports_s": {name: import_s(folders["new"], found) for name, found in modules.items()},
    }


def import_s(folder: Path, modules: Sequence[str]) -> float:
    """Processor seconds to import a library: of its modules the one that takes longest."""
    return round(max(float(output_of(folder, IMPORTING.format(module))) for module in modules), 3)


def output_of(folder: Path, code: str) -> str:
    command = [str(folder / "bin" / "python"), "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=clean()).stdout


def timed(folders: dict[str, Path], given: argparse.Namespace) -> dict[str, Any]:
    """Seconds of each step in either environment, in turns; the first turn is not counted."""
    spent: dict[str, Spent] = {}
    progress = print_progress()
    for turn in range(given.times + 1):
        progress("measuring", turn, given.times + 1)
        for name in NAMES[:: 1 if turn % 2 else -1]:
            for step, (program, *arguments) in steps(name, given).items():
                command = [str(folders[name] / "bin" / program), *arguments]
                spent.setdefault(step, {}).setdefault(name, []).append(one_process(command))
    return {step: compared({name: found[1:] for name, found in each.items()}) for step, each in spent.items()}


def steps(name: str, given: argparse.Namespace) -> dict[str, list[str]]:
    """What is timed, as command lines."""
    bundle = given.bundle if name == "new" else given.old_bundle
    found = {"import": ["python", "-c", "import nadirfix"], "help": ["nadirfix", "--help"]}
    if bundle is not None:
        files = [str(given.photo.absolute()), "--bundle", str(bundle.absolute())]
        found["first_answer"] = ["nadirfix", "locate", *files, "--quiet"]
    return found


def one_process(command: Sequence[str]) -> dict[str, float]:
    """Seconds that passed, and seconds of the processor, from nothing to the end of a process."""
    with tempfile.TemporaryDirectory() as cache:
        before, began = used_s(), time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=clean() | {"NADIRFIX_CACHE": cache})
        return {"passed_s": time.perf_counter() - began, "processor_s": used_s() - before}


def used_s() -> float:
    """Processor seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def clean() -> dict[str, str]:
    """The environment here, without what would reach into the ones that are measured."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}


def compared(spent: Spent) -> dict[str, Any]:
    """Medians and the least of each, and the ratio turn by turn where there are both."""
    found: dict[str, Any] = {}
    for clock in ("passed_s", "processor_s"):
        values = {name: [one[clock] for one in turns] for name, turns in spent.items()}
        found[clock] = {name: round(statistics.median(each), 3) for name, each in values.items()}
        found[clock] |= {f"{name}_least": round(min(each), 3) for name, each in values.items()}
        if len(values) == len(NAMES):
            ratios = [new / old for new, old in zip(values["new"], values["old"], strict=True)]
            found[clock]["ratio"] = round(statistics.median(ratios), 3)
    return found


if __name__ == "__main__":
    main()
