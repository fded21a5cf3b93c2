"""Mistakes on the command line: one clear line, the right exit number, nothing written."""

from __future__ import annotations

import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.command import PROGRAM, nadirfix, write_map

VIEW_COLUMNS = "easting_m,northing_m,epsg,altitude_m,heading_deg"
SMALL = ("--camera", "320x240@200", "--altitude", "100:150")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_map(tmp_path_factory.mktemp("map") / "map.tif")


def refused(folder: Path, *arguments: object, exit_number: int, code: str, **settings) -> str:
    """Run a command that must fail and leave the folder as it was; returns its message."""
    before = sorted(folder.rglob("*"))
    done = nadirfix("simulate", *arguments, "--quiet", **settings)
    assert done.returncode == exit_number, done.stderr
    assert done.stdout == ""
    assert sorted(folder.rglob("*")) == before
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("nadirfix: ")
    assert lines[0].endswith(f"[{code}]")
    return lines[0]


@pytest.mark.parametrize("spec", ["2048x1536@0", "0x1536@1200", "wide", "none.toml"])
def test_camera(ground: Path, tmp_path: Path, spec: str) -> None:
    out = tmp_path / "out"
    message = refused(tmp_path, ground, "--out", out, "--camera", spec, exit_number=2, code="camera.invalid")
    assert spec in message


def test_camera_file_with_zero_focal_length(ground: Path, tmp_path: Path) -> None:
    camera = tmp_path / "camera.toml"
    camera.write_text("width_px = 2048\nheight_px = 1536\nfocal_px = 0\n")
    out = tmp_path / "out"
    message = refused(
        tmp_path, ground, "--out", out, "--camera", camera, exit_number=2, code="camera.invalid"
    )
    assert "2048x1536@0" in message


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("easting_m,northing_m,epsg,heading_deg\n500300,4649700,32633,0\n", "no column altitude_m"),
        (f"{VIEW_COLUMNS}\n500300,4649700,32633,0,0\n", "line 2, column altitude_m: '0'"),
        (f"{VIEW_COLUMNS}\n500300,4649700,32633,-100,0\n", "line 2, column altitude_m: '-100'"),
        (f"{VIEW_COLUMNS}\n500300,nan,32633,100,0\n", "line 2, column northing_m: 'nan'"),
        (f"{VIEW_COLUMNS}\n15,42,4326,100,0\n", "line 2, column epsg: '4326'"),
        ("", "no column names"),
        (f"{VIEW_COLUMNS}\n500300,4649700,32633,100,0\n900300,4649700,32633,100,0\n", "view 2 of 2"),
    ],
)
def test_list_of_views(ground: Path, tmp_path: Path, text: str, where: str) -> None:
    views = tmp_path / "views.csv"
    views.write_text(text)
    out = tmp_path / "out"
    message = refused(
        tmp_path, ground, "--out", out, "--views", views, exit_number=2, code="manifest.invalid"
    )
    assert where in message


def test_list_of_views_that_is_not_there(ground: Path, tmp_path: Path) -> None:
    out, views = tmp_path / "out", tmp_path / "none.csv"
    message = refused(
        tmp_path, ground, "--out", out, "--views", views, exit_number=2, code="manifest.invalid"
    )
    assert str(views) in message


@pytest.mark.parametrize("other", [("--count", "5"), ("--altitude", "100:200")])
def test_views_exclude_what_they_say_themselves(ground: Path, tmp_path: Path, other: tuple[str, str]) -> None:
    out, views = tmp_path / "out", tmp_path / "views.csv"
    views.write_text(f"{VIEW_COLUMNS}\n500300,4649700,32633,100,0\n")
    arguments = (ground, "--out", out, "--views", views, *other)
    assert other[0] in refused(tmp_path, *arguments, exit_number=2, code="options.invalid")


@pytest.mark.parametrize(
    ("option", "value", "code"),
    [
        ("--altitude", "high", "altitude.invalid"),
        ("--altitude", "100:", "altitude.invalid"),
        ("--altitude", "200:100", "options.invalid"),
        ("--altitude", "0:100", "options.invalid"),
        ("--count", "0", "options.invalid"),
        ("--noise", "nan", "options.invalid"),
        ("--jpeg", "101", "options.invalid"),
        ("--tilt", "60", "options.invalid"),
        ("--seed", "-1", "options.invalid"),
    ],
)
def test_option_out_of_range(ground: Path, tmp_path: Path, option: str, value: str, code: str) -> None:
    refused(tmp_path, ground, "--out", tmp_path / "out", option, value, exit_number=2, code=code)


def test_map_that_is_not_there(tmp_path: Path) -> None:
    message = refused(tmp_path, "none.tif", "--out", tmp_path / "out", exit_number=3, code="map.missing")
    assert "none.tif" in message


def test_map_too_small_for_the_altitude(ground: Path, tmp_path: Path) -> None:
    message = refused(tmp_path, ground, "--out", tmp_path / "out", exit_number=3, code="map.too_small")
    assert "the map is 600 × 600 m" in message


@pytest.mark.parametrize(
    ("kind", "code"), [("below a file", "output.unwritable"), ("there", "output.exists")]
)
def test_output(ground: Path, tmp_path: Path, kind: str, code: str) -> None:
    (tmp_path / "mine").write_text("mine")
    out = tmp_path / "mine" / "below" / "out" if kind == "below a file" else tmp_path / "mine"
    message = refused(tmp_path, ground, "--out", out, *SMALL, "--count", 2, exit_number=7, code=code)
    assert str(out) in message
    assert (tmp_path / "mine").read_text() == "mine"


def test_overwrite_spares_what_is_not_ours(ground: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    arguments = (ground, "--out", tmp_path, "--overwrite", *SMALL)
    assert str(tmp_path) in refused(tmp_path, *arguments, exit_number=7, code="output.exists")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_disk_that_fills_up(ground: Path, tmp_path: Path) -> None:
    limit = (8_000, 8_000)
    arguments = (ground, "--out", tmp_path / "out", *SMALL, "--count", 3)
    refused(
        tmp_path,
        *arguments,
        exit_number=7,
        code="output.disk_full",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )


@pytest.mark.parametrize("arguments", [("--bogus",), (), ("--count", "many")])
def test_usage_errors_exit_2(ground: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = nadirfix("simulate", ground, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert (arguments or ("--out",))[0] in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_unknown_command() -> None:
    done = nadirfix("fly")
    assert done.returncode == 2
    assert "fly" in done.stderr


def test_ctrl_c_exits_130_and_leaves_nothing(ground: Path, tmp_path: Path) -> None:
    command = [PROGRAM, "simulate", ground, "--out", tmp_path / "out", *SMALL, "--count", "5000"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("rendering photos"):
            break
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert list(tmp_path.iterdir()) == []
