"""A plain ``locate`` is read without typer, and means what typer would have made of it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from nadirfix.cli import app, fast_path
from nadirfix.cli.fast_path import parse_plain_arguments
from nadirfix.cli.locating import Format, LocateArguments

PLAIN = [
    ["a.jpg", "--bundle", "b.nadir"],
    ["--bundle", "b.nadir", "a.jpg", "c d.jpg", "--quiet"],
    ["a.jpg", "--bundle", "b", "--camera", "2048x1536@1200", "--altitude", "300+-20", "--no-wce"],
    ["a.jpg", "--bundle", "b", "--format", "kml", "--out", "o.kml", "--overwrite", "--no-verify"],
    ["a.jpg", "--bundle", "b", "--no-vote", "--explain", "why", "--format", "csv"],
    ["a.jpg", "--bundle", "b", "--ground-height", "431.5"],
    ["-", "--bundle", "b", "--near", "14.35,48.86+-50", "--heading", "270+-10", "--altitude", "80@takeoff"],
    ["a.jpg", "--bundle", "b", "--priors", "known.csv", "--use-exif-position", "--takeoff-height", "12"],
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


def parsed_by_typer(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> LocateArguments:
    received: list[LocateArguments] = []

    def receive(arguments: LocateArguments) -> int:
        received.append(arguments)
        return 0

    monkeypatch.setattr("nadirfix.cli.locate.locate_photos", receive)
    done = CliRunner().invoke(app, ["locate", *arguments])
    assert done.exit_code == 0, done.output
    return received[0]


@pytest.mark.parametrize("arguments", PLAIN)
def test_it_means_what_typer_makes_of_it(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_plain_arguments(arguments) == parsed_by_typer(arguments, monkeypatch)


@pytest.mark.parametrize("arguments", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_typer(arguments: list[str]) -> None:
    assert parse_plain_arguments(arguments) is None


def test_every_option_of_locate_is_known() -> None:
    """An option that is added to the command must be added here, or it would cost a tenth of a second."""
    import typer.main

    command: Any = typer.main.get_command(app).commands["locate"]  # type: ignore[attr-defined]
    named = {name for p in command.params for name in p.opts if name.startswith("--")} - {"--help"}
    assert named == set(fast_path._FLAGS) | set(fast_path._VALUES)
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
