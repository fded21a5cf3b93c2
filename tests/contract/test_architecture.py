"""The walks in docs/architecture.md name modules that exist, each once and few, as the code reaches them."""

import re

import pytest
from sources import PACKAGE, ROOT, modules
from test_imports import imported_modules

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = re.findall(r"^## (A \w+ through `\w+`)\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
MODULES = 25


def steps(text: str) -> list[str]:
    """The module each numbered step enters."""
    return re.findall(r"^\d+\. `([a-z_0-9.]+)`", text, re.MULTILINE)


def exists(name: str) -> bool:
    return f"nadirfix.{name}" in modules()


def test_both_stories_are_walked() -> None:
    assert [title for title, _ in WALKS] == ["A photo through `locate`", "A map through `build_bundle`"]


@pytest.mark.parametrize("title", [title for title, _ in WALKS])
def test_a_walk_is_short_and_never_goes_back(title: str) -> None:
    walk = steps(dict(WALKS)[title])
    assert walk[0] in {"online", "offline"}
    assert len(walk) <= MODULES
    assert len(set(walk)) == len(walk), "a module is entered once"


@pytest.mark.parametrize("title", [title for title, _ in WALKS])
def test_every_module_on_the_walk_is_there(title: str) -> None:
    named = [name for name in re.findall(r"`([a-z_0-9.]+)`", dict(WALKS)[title]) if "." in name]
    missing = {name for name in [*named, *steps(dict(WALKS)[title])] if not exists(name)}
    assert not missing


@pytest.mark.parametrize("title", [title for title, _ in WALKS])
def test_every_step_is_reached_from_what_was_named_before(title: str) -> None:
    """A module is imported by one that stands before it on the page, or beside it in its own line."""
    before: set[str] = set()
    for line in re.split(r"^\d+\. ", dict(WALKS)[title].strip(), flags=re.MULTILINE)[1:]:
        named = [f"nadirfix.{name}" for name in re.findall(r"`([a-z_0-9.]+)`", line) if exists(name)]
        before |= set(named[1:])
        reached = {target for name in before for target in imported_modules(name)}
        assert not before or named[0] in reached, f"{named[0]} is imported by none of {sorted(before)}"
        before.add(named[0])


def test_every_file_named_is_there() -> None:
    named = re.findall(r"`([a-z_0-9/]+\.py)`", PAGE)
    assert named and all((PACKAGE / name).is_file() for name in named if not name.startswith("tests/"))


def test_every_room_is_in_the_table() -> None:
    table = PAGE.partition("## Where things are")[2]
    named = {name.rstrip("/") for name in re.findall(r"`([a-z_]+/?)`", table)}
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    top = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert (rooms | top) - {"weights"} == named
