"""What pages are made of: results, the lines of each photo, and tables."""

from __future__ import annotations

import csv
import itertools
import json
import textwrap
from pathlib import Path
from typing import Any

from bench.lib.record import BENCH, path_of

Result = dict[str, Any]
Lines = list[dict[str, str]]
ROOT = BENCH.parent


def has(name: str) -> bool:
    """Whether this was measured; nothing is where there is no script of that name."""
    try:
        return path_of(name).is_file()
    except ValueError:
        return False


def read(name: str) -> Result:
    """A whole result file: where it comes from, and under "results" what was measured."""
    document: Result = json.loads(path_of(name).read_text(encoding="utf-8"))
    return document


def result(name: str) -> Result:
    """What was measured."""
    measured: Result = read(name)["results"]
    return measured


def lines_of(name: str) -> Lines:
    """The photos of a run, a line each."""
    with path_of(name, "csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def printed(name: str) -> Result:
    """What a run printed for each place, "PLACE {…}", before it could write its file."""
    lines = path_of(name, "log").read_text(encoding="utf-8").splitlines()
    pairs = [line.split(" ", 1) for line in lines if line.partition(" ")[2].startswith("{")]
    return {place: json.loads(text) for place, text in pairs}


def link(name: str, kind: str = "json", page: str = "docs") -> str:
    """A link to a result, from a page of that folder."""
    path = path_of(name, kind).relative_to(ROOT).as_posix()
    return f"[`{name}.{kind}`]({'../' if page else ''}{path})"


def sources(commands: dict[str, str]) -> str:
    """Where results come from, a line for each command: the command, its runs and their files."""
    runs: dict[str, dict[str, list[str]]] = {}
    for name, words in commands.items():
        runs.setdefault(_module(name, words), {}).setdefault(_run(name), []).append(link(name))
    rows: list[list[object]] = [
        [f"`{command}`", "; ".join(found), ", ".join(itertools.chain(*found.values()))]
        for command, found in runs.items()
    ]
    return table(["command", "run", "results"], rows)


def _module(name: str, words: str) -> str:
    """The command: the module of the script a result is named after, and what it was given."""
    scripts = sorted((BENCH / path_of(name).parent.name).glob("*.py"), key=lambda path: -len(path.stem))
    script = next(path.stem for path in scripts if name == path.stem or name.startswith(f"{path.stem}_"))
    return f"python -m bench.{path_of(name).parent.name}.{script} {words}".rstrip()


def _run(name: str) -> str:
    document = read(name)
    tree = "" if document.get("clean") else " with changes"
    return f"{document['date'][:10]}, `{document['commit'][:7]}`{tree}, {document['machine']['cores']} cores"


def table(heads: list[str], rows: list[list[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def filled(page: str) -> str:
    """Paragraphs in even lines; tables, headings and marks as they are."""
    return "\n\n".join(_filled(part) for part in page.strip().split("\n\n") if part.strip())


def _filled(paragraph: str) -> str:
    if paragraph.lstrip().startswith(("|", "#", "<!--", "- ")):
        return paragraph.strip()
    return textwrap.fill(" ".join(paragraph.split()), 120, break_on_hyphens=False)


def block(text: str, name: str, content: str) -> str:
    """A page with what stands between its two marks replaced; as it was where it has no such marks."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in text or end not in text:
        return text
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"


def write_or_check(pages: dict[Path, str], check: bool, command: str) -> None:
    """Write pages, or fail where one is not what the results give."""
    for path, text in pages.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.name} is not what the results give: run {command}")


def percent(value: float) -> str:
    return f"{value:.1f} %"


def pair(values: list[float]) -> str:
    return f"{values[0]:.1f} / {values[1]:.1f}"


def verdict(enough: bool) -> str:
    """How a target came out."""
    return "reached" if enough else "**missed**"
