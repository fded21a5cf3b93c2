"""The demo goes on where it stopped, and says what it made."""

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from nadirfix.cli import app, demo
from nadirfix.manifest import read_manifest
from nadirfix.options import SimulateOptions


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_SIZE_M", 500.0)
    monkeypatch.setattr(demo, "_PHOTOS", SimulateOptions(count=3, altitude_max_m=150.0))


def run(out: Path, *more: str) -> dict:
    done = CliRunner().invoke(app, ["demo", "--out", str(out), *more], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.stdout)


@pytest.mark.usefixtures("small")
def test_demo_makes_everything_and_keeps_what_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    told = run(out, "--quiet")
    assert all(spent_s is not None for spent_s in told["seconds"].values())
    assert len(read_manifest(out / "photos" / "manifest.csv")) == 3
    assert Image.open(told["contact"]).width > 1000

    (out / "contact.png").unlink()
    again = run(out)
    assert [name for name, spent_s in again["seconds"].items() if spent_s is not None] == ["contact"]


def test_what_follows_a_new_stage_is_made_anew(tmp_path: Path) -> None:
    made: list[str] = []
    (tmp_path / "second").touch()
    story = demo._Story(anew=False)
    for name in ("first", "second"):
        story.stage(name, tmp_path / name, lambda name=name: made.append(name))
    assert made == ["first", "second"]
