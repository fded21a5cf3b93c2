"""`make bench` runs every benchmark that needs nothing given, and names those that do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "bench").glob("*.py"))


def listed(name: str) -> set[str]:
    """The files a variable of the Makefile lists."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.search(rf"^{name} := (.*)$", text, re.MULTILINE)
    assert found, name
    return {Path(word).name for word in found.group(1).split()}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_what_needs_something_given_is_not_run_without(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    needs = "required=True" in text or bool(re.search(r'add_argument\("[a-z]', text))
    assert needs == (path.name in listed("STUDIES"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_what_is_no_script_is_a_helper(path: Path) -> None:
    is_script = '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    assert is_script != (path.name in listed("HELPERS"))


def test_the_makefile_lists_only_what_is_there() -> None:
    names = {path.name for path in FILES}
    assert listed("HELPERS") | listed("STUDIES") | listed("PAGES") <= names
