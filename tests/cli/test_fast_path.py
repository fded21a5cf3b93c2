"""A plain ``locate`` is read without typer, and means what typer would have made of it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from nadirfix.cli import app
from nadirfix.cli import fast_path as quick
from nadirfix.cli.fast_path import plainly_asked
from nadirfix.cli.locating import Asked, Format

PLAIN = [
    ["a.jpg", "--bundle", "b.nadir"],
    ["--bundle", "b.nadir", "a.jpg", "c d.jpg", "--quiet"],
    ["a.jpg", "--bundle", "b", "--camera", "2048x1536@1200", "--altitude", "300+-20", "--no-wce"],
    ["a.jpg", "--bundle", "b", "--format", "kml", "--out", "o.kml", "--overwrite", "--no-verify"],
    ["a.jpg", "--bundle", "b", "--explain", "why", "--format", "csv"],
    ["a.jpg", "--bundle", "b", "--ground-height", "431.5"],
]
NOT_PLAIN = [
    [],
    ["--help"],
    ["a.jpg"],
    ["--bundle", "b"],
    ["a.jpg", "--bundle"],
    ["a.jpg", "--bundle=b"],
    ["a.jpg", "--bundle", "--quiet"],
    ["a.jpg", "--bundle", "b", "--format", "xml"],
    ["a.jpg", "--bundle", "b", "-q"],
    ["a.jpg", "--bundle", "b", "--ground-height", "high"],
    ["a.jpg", "--bundle", "b", "--ground-height", "-12"],
    ["a.jpg", "--bundle", "b", "--", "-odd.jpg"],
]


def by_typer(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> Asked:
    heard: list[Asked] = []

    def hear(asked: Asked) -> int:
        heard.append(asked)
        return 0

    monkeypatch.setattr("nadirfix.cli.locate.place_photos", hear)
    done = CliRunner().invoke(app, ["locate", *arguments])
    assert done.exit_code == 0, done.output
    return heard[0]


@pytest.mark.parametrize("arguments", PLAIN)
def test_it_means_what_typer_makes_of_it(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert plainly_asked(arguments) == by_typer(arguments, monkeypatch)


@pytest.mark.parametrize("arguments", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_typer(arguments: list[str]) -> None:
    assert plainly_asked(arguments) is None


def test_every_option_of_locate_is_known() -> None:
    """An option that is added to the command must be added here, or it would cost a tenth of a second."""
    import typer.main

    command: Any = typer.main.get_command(app).commands["locate"]  # type: ignore[attr-defined]
    named = {name for p in command.params for name in p.opts if name.startswith("--")} - {"--help"}
    assert named == set(quick._FLAGS) | set(quick._VALUES)
    assert {f.value for f in Format} == {"jsonl", "geojson", "csv", "kml"}


def test_a_plain_locate_loads_no_parser() -> None:
    code = (
        "import sys; from nadirfix.cli import main\n"
        "sys.argv = ['nadirfix', 'locate', 'a.jpg', '--bundle', 'not-there', '--quiet']\n"
        "print(main(), sorted({'typer', 'pydantic', 'rich', 'sklearn', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "4 []", done.stderr
    assert "bundle.missing" in done.stderr
