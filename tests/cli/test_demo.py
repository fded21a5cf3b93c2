"""The demo runs all its stages, goes on where it stopped, and writes its figures into the README."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from nadirfix.camera import Camera
from nadirfix.cli import app, demo
from nadirfix.cli.stages import Stage, run_stages
from nadirfix.errors import InputError
from nadirfix.files.owned import any_file
from nadirfix.options.map import SimulateOptions, WorldOptions
from nadirfix.options.recipe import FitOptions
from nadirfix.photo_list import read_photo_list
from tests.bundles import RECIPE

STAGES = ["world", "photos", "contact", "bundle", "evaluation"]
README = "# Title\n<!-- demo figures: begin -->\nold\n<!-- demo figures: end -->\nafter\n"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_WORLD", WorldOptions(size_m=500.0))
    monkeypatch.setattr(demo, "_PHOTOS", SimulateOptions(count=3, altitude_max_m=150.0))
    monkeypatch.setattr(demo, "_CAMERA", Camera(512, 384, 300.0, 300.0))
    monkeypatch.setattr(demo, "ships", lambda _network: False)
    monkeypatch.setattr(demo, "_TRAINED", RECIPE)


def run(out: Path, *more: str) -> dict:
    done = CliRunner().invoke(app, ["demo", "--out", str(out), *more], catch_exceptions=False)
    assert done.exit_code == 0
    return json.loads(done.stdout)


def made_now(results: dict) -> list[str]:
    return [name for name, spent_s in results["seconds"].items() if spent_s is not None]


@pytest.mark.usefixtures("small")
def test_the_demo_runs_all_stages_and_keeps_what_is_complete(tmp_path: Path) -> None:
    out, readme = tmp_path / "demo", tmp_path / "README.md"
    readme.write_text(README)
    results = run(out, "--quiet", "--write-readme", str(readme))
    assert made_now(results) == STAGES
    assert len(read_photo_list(out / "photos" / "manifest.csv")) == 3
    assert Image.open(results["contact"]).width > 1000
    assert [row["altitude"] for row in results["comparison"]] == ["estimated", "whole", "true"]
    assert (out / "evaluation" / "report.html").stat().st_size > 100_000
    assert "3 photos from 100 to 150 m" in readme.read_text()
    assert "| answered | " in readme.read_text()
    assert readme.read_text().endswith("<!-- demo figures: end -->\nafter\n")

    (out / "contact.png").unlink()
    assert made_now(run(out)) == ["contact"]
    (out / "evaluation" / "report.html").unlink()
    assert made_now(run(out)) == ["evaluation"]
    again = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert made_now(json.loads(again.stdout)) == []
    one_line = "".join(again.stderr.split())  # however wide the terminal is
    assert f"nadirfixserve--bundle{out / 'demo.nadir'}" in one_line


def test_nothing_is_trained_where_networks_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "ships", lambda _network: True)
    usual, requested = demo._setup(train=False), demo._setup(train=True)
    assert (usual.train, usual.recipe.name) == (False, "standard")
    assert (requested.train, requested.recipe.name) == (True, "tiny")
    monkeypatch.setattr(demo, "ships", lambda network: network.start != "standard-place")
    assert demo._setup(train=False) == requested


def test_the_readme_says_what_the_demo_would_write_above_its_figures() -> None:
    from nadirfix.cli.readme import _what

    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    setup = demo._setup(train=False)
    if not setup.train:  # else the package came without its networks
        assert _what(demo._conditions(setup)) in text
    trained = demo._conditions(demo._setup(train=True))
    assert _what(trained).endswith("trained on the map:")


@pytest.mark.slow
@pytest.mark.long
def test_the_demo_as_it_ships_runs_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks of the standard recipe on a smaller world: photos are found, and reported exactly."""
    if demo._setup(train=False).train:
        pytest.skip("the networks of the standard recipe are not here")
    shipped = dataclasses.replace(
        demo._AS_SHIPPED, fit=FitOptions(views=120), references=dataclasses.replace(
            demo._AS_SHIPPED.references, headings=6,
        ),
    )  # fmt: skip
    monkeypatch.setattr(demo, "_WORLD", WorldOptions(size_m=700.0, seed=4))
    monkeypatch.setattr(demo, "_FEW_PHOTOS", SimulateOptions(count=4, altitude_max_m=250.0))
    monkeypatch.setattr(demo, "_AS_SHIPPED", shipped)
    results = run(tmp_path / "demo", "--quiet")
    assert made_now(results) == STAGES
    manifest = json.loads((tmp_path / "demo/demo.nadir/manifest.json").read_text())
    assert manifest["networks"]["place"]["training"] is manifest["networks"]["altitude"]["training"] is None
    assert manifest["described"]["sheets"]["recognised"] >= 0.8
    verified = manifest["matcher"] is not None
    altitudes = [row["altitude"] for row in results["comparison"]]
    assert altitudes == [*(["verified"] if verified else []), "estimated", "whole", "true"]
    metrics = json.loads((tmp_path / "demo/evaluation/metrics.json").read_text())
    assert metrics["wrong_fix"] == 0 or not verified
    assert metrics["s_loc"]["10"] >= (75 if verified else 0)


@pytest.mark.usefixtures("small")
def test_a_readme_without_a_place_for_figures_is_an_error(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "evaluation").mkdir()
    shares = {"answered": 1, "queries": 1, "wrong_fix": 0, "s_loc": {"10": 100.0}, "error_m": {"median": 1.0}}
    results = {"comparison": [], "altitude": {"e_avg_m": 1.0}, "timings_ms": {}, **shares}
    (tmp_path / "evaluation" / "metrics.json").write_text(json.dumps(results))
    monkeypatch.setattr(demo, "_run_stages", lambda *_, **__: run_stages([], restart=False))
    (tmp_path / "plain.md").write_text("nothing here")
    with pytest.raises(InputError, match="no place for the figures"):
        run(tmp_path, "--write-readme", str(tmp_path / "plain.md"))
    assert (tmp_path / "plain.md").read_text() == "nothing here"


#: Runs a small demo in a process of its own, which kills itself where ``where`` says.
DRIVER = """
import importlib, os, signal, sys
from nadirfix.camera import Camera
from nadirfix.cli import app, demo
from nadirfix.options.map import SimulateOptions, WorldOptions
from nadirfix.options.recipe import FitOptions
from tests.bundles import RECIPE
demo._WORLD, demo._TRAINED, demo.ships = WorldOptions(size_m=500.0), RECIPE, lambda _network: False
demo._PHOTOS = SimulateOptions(count=3, altitude_max_m=150.0)
demo._CAMERA = Camera(512, 384, 300.0, 300.0)
out, where = sys.argv[1:]
if where:
    module, _, name = where.rpartition(".")
    setattr(importlib.import_module(module), name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
app(["demo", "--out", out, "--quiet"])
"""
#: In the bundle, and between answers and report.
KILLED_IN = ("nadirfix.offline.workdir.write_manifest", "nadirfix.evaluation.study.evaluation.write_report")


@pytest.mark.slow
def test_killed_anywhere_the_demo_goes_on_and_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    def exit_code_of(name: str, where: str = "") -> int:
        command = [sys.executable, "-c", DRIVER, tmp_path / name, where]
        return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True).returncode

    assert [exit_code_of("killed", where) for where in KILLED_IN] == [-signal.SIGKILL] * len(KILLED_IN)
    assert (exit_code_of("killed"), exit_code_of("quiet")) == (0, 0)
    parts = [json.loads((tmp_path / n / "demo.nadir/manifest.json").read_text()) for n in ("killed", "quiet")]
    assert parts[0] == parts[1]
    killed, quiet = (
        json.loads((tmp_path / n / "evaluation/metrics.json").read_text()) for n in ("killed", "quiet")
    )
    for name in ("recall", "s_loc", "error_m", "altitude", "queries"):
        assert killed[name] == quiet[name]


def stages(folder: Path, made: list[str]) -> list[Stage]:
    """Four files; the third is made from the first, the last from the third."""

    def stage(name: str, *needs: str) -> Stage:
        return Stage(
            name,
            folder / name,
            lambda: (made.append(name), (folder / name).touch())[0],
            needs,
            recognise=any_file,
        )

    return [stage("a"), stage("b", "a"), stage("c", "a"), stage("d", "c")]


def test_what_is_made_from_a_new_stage_is_made_again(tmp_path: Path) -> None:
    made: list[str] = []
    pipeline = stages(tmp_path, made)
    run_stages(pipeline, restart=False)
    (tmp_path / "c").unlink()
    made.clear()
    run_stages(pipeline, restart=False)
    assert made == ["c", "d"]
    made.clear()
    run_stages(pipeline, restart=True)
    assert made == ["a", "b", "c", "d"]


def test_stages_that_were_stopped_never_keep_what_is_stale(tmp_path: Path) -> None:
    """Stopped after the first stage was made again: the old rest must not pass for the new one."""
    made: list[str] = []
    pipeline = stages(tmp_path, made)
    run_stages(pipeline, restart=False)
    (tmp_path / "a").unlink()

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stages([pipeline[0], dataclasses.replace(pipeline[1], make=stop), *pipeline[2:]], restart=False)
    made.clear()
    run_stages(pipeline, restart=False)
    assert made == ["b", "c", "d"]
