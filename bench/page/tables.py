"""What the accuracy page is made of: result files, lines of a run that was cut off, and tables."""

from __future__ import annotations

import csv
import json
from typing import Any

from record import RESULTS

Result = dict[str, Any]


def has(name: str) -> bool:
    return (RESULTS / f"{name}.json").is_file()


def result(name: str) -> Result:
    found: Result = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def printed(name: str) -> Result:
    """What a run printed for each place, "PLACE {…}", before it could write its file."""
    lines = (RESULTS / f"{name}.log").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" ", 1) for line in lines if line.partition(" ")[2].startswith("{")]
    return {place: json.loads(told) for place, told in pairs}


def source(name: str, command: str) -> str:
    """Where a table comes from, in one line."""
    told = result(name)
    cores, date = told["machine"]["cores"], told["date"][:10]
    link = f"[`{name}.json`](../bench/results/{name}.json)"
    tree = "" if told.get("clean") else ", with changes"
    return f"*`{command}`; {date}, commit `{told['commit'][:7]}`{tree}, {cores} cores; {link}.*"


def table(heads: list[str], rows: list[list[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def percent(value: float) -> str:
    return f"{value:.1f} %"


def pair(values: list[float]) -> str:
    return f"{values[0]:.1f} / {values[1]:.1f}"


def verdict(enough: bool) -> str:
    """What to say beside a target."""
    return "reached" if enough else "**missed**"


def lines_of(name: str) -> list[dict[str, str]]:
    """The photos of a run, a line each."""
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
