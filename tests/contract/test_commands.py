"""Every command is in docs/cli.md with every option it has, and nothing is promised that is not there."""

import re

import pytest
import typer
from sources import ROOT

from nadirfix.cli import app

DOC = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
SHARED = {"--quiet", "--overwrite", "--help"}
COMMANDS = {
    name: command for name, command in typer.main.get_command(app).commands.items() if not command.hidden
}


def section(name: str) -> str:
    found = re.search(rf"^##+ `nadirfix {name}`$(.*?)(?=^##+ |\Z)", DOC, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no heading for {name}"
    return found[1]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_options_are_documented(name: str) -> None:
    flags = {flag for p in COMMANDS[name].params for flag in [*p.opts, *p.secondary_opts] if flag[:2] == "--"}
    table = "\n".join(line for line in section(name).splitlines() if line.startswith("| `"))
    documented = set(re.findall(r"--[a-z-]+[a-z]", table))
    assert flags - SHARED == documented - SHARED


def test_no_heading_without_a_command() -> None:
    assert set(re.findall(r"^##+ `nadirfix (\w+)`$", DOC, re.MULTILINE)) == set(COMMANDS)
