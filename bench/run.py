"""Runs every benchmark that needs nothing given; `make bench` is this.

python -m bench.run          runs them one after the other, then writes the pages
python -m bench.run --list   says which, and what the others need
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent
#: Training needs imagery and a GPU; pages are written last, from what was measured.
MEASURED = ("speed", "accuracy")
PAGES = ("bench.page.accuracy", "bench.page.readme_tables")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--list", action="store_true")
    only_list = options.parse_args().list
    for path in scripts("speed", "accuracy", "training"):
        missing = required(path)
        if not runs_alone(path):
            print(f"not run: {module(path)} {' '.join(missing)}".rstrip())
    for name in [*map(module, filter(runs_alone, scripts(*MEASURED))), *PAGES]:
        print(f"== python -m {name}", flush=True)
        if not only_list:
            subprocess.run([sys.executable, "-m", name], check=True, cwd=BENCH.parent)


def scripts(*folders: str) -> list[Path]:
    return [p for folder in folders for p in sorted((BENCH / folder).glob("*.py")) if p.stem != "__init__"]


def module(path: Path) -> str:
    return ".".join(path.relative_to(BENCH.parent).with_suffix("").parts)


def runs_alone(path: Path) -> bool:
    """Whether `make bench` runs this script: a measurement without required arguments."""
    return path.parent.name in MEASURED and not required(path)


def required(path: Path) -> list[str]:
    """The arguments a script cannot do without, as its parser is told."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) == "add_argument"]
    return [name for call in calls if (name := _required_name(call))]


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _required_name(call: ast.Call) -> str:
    """An option that is required, or a positional that may not be absent; else nothing."""
    values = {word.arg: word.value for word in call.keywords}
    first = call.args[0]
    name = first.value if isinstance(first, ast.Constant) else ast.unparse(first)
    nargs = values.get("nargs")
    optional = isinstance(nargs, ast.Constant) and nargs.value in {"?", "*"}
    is_required = "required" in values and ast.unparse(values["required"]) == "True"
    positional = isinstance(first, ast.Constant) and not str(name).startswith("-")
    return str(name) if is_required or (positional and not optional) else ""


if __name__ == "__main__":
    main()
