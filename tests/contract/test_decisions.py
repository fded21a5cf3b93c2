"""The index of decisions says what the files say, and modules name decisions that exist."""

import ast
import re
from pathlib import Path

from sources import ROOT, modules

FOLDER = ROOT / "docs" / "adr"
ROW = re.compile(r"^\| \[(\d+)\]\(([^)]+)\) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
TITLE = re.compile(r"^# (\d+)\. (.+)$", re.MULTILINE)
STATUS = re.compile(r"^Status: (.+)$", re.MULTILINE)
NUMBER = re.compile(r"\bADRs? (\d+(?:(?:, | and )\d+)*)")
KINDS = re.compile(r"accepted|superseded by|lost")


def files() -> dict[int, Path]:
    return {int(path.name[:4]): path for path in sorted(FOLDER.glob("[0-9]*.md"))}


def index() -> dict[int, tuple[str, str, str]]:
    """File, title and status of every row of the index."""
    rows = ROW.findall((FOLDER / "README.md").read_text(encoding="utf-8"))
    return {int(number): (name, title, status) for number, name, title, status, _line in rows}


def plain(status: str) -> str:
    """A status without its links, as the index has it."""
    return re.sub(r"\[ADR (\d+)\]\([^)]*\)", r"\1", status)


def heading(path: Path) -> tuple[str, str, str]:
    text = path.read_text(encoding="utf-8")
    title, status = TITLE.search(text), STATUS.search(text)
    assert title and status, f"{path.name} lacks a title or a line that begins with 'Status:'"
    assert int(title[1]) == int(path.name[:4])
    return path.name, title[2], plain(status[1])


def test_the_index_says_what_the_files_say() -> None:
    assert index() == {number: heading(path) for number, path in files().items()}


def test_every_status_is_one_of_three() -> None:
    wrong = {number: status for number, (*_, status) in index().items() if not KINDS.match(status)}
    assert not wrong


def test_what_is_superseded_names_a_later_decision() -> None:
    for number, (*_, status) in index().items():
        later = {int(other) for other in re.findall(r"\d+", status)}
        assert all(other in files() and other > number for other in later), f"{number}: {status}"


def named() -> dict[int, list[str]]:
    """Decisions by number, with the modules whose docstring names them."""
    found: dict[int, list[str]] = {}
    for name, tree in modules().items():
        for numbers in NUMBER.findall(ast.get_docstring(tree) or ""):
            for number in re.findall(r"\d+", numbers):
                found.setdefault(int(number), []).append(name)
    return found


def test_modules_name_decisions_that_hold() -> None:
    status = {number: row[2] for number, row in index().items()}
    wrong = {number: names for number, names in named().items() if "accepted" not in status.get(number, "")}
    assert not wrong, f"not there, or no longer in force: {wrong}"


def test_most_decisions_are_named_where_they_show() -> None:
    in_force = {number for number, row in index().items() if row[2].startswith("accepted")}
    assert len(in_force & set(named())) >= 0.75 * len(in_force)
