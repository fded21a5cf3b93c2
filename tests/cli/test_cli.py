"""The command line from end to end: results on stdout, notes on stderr, files where they should be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nadirfix as package
from nadirfix import cli
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.tags import read_tags
from nadirfix.photo_list import read_photo_list
from tests.command import nadirfix, write_map

SMALL = ("--camera", "320x240@200", "--altitude", "100:150", "--count", "6")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_map(tmp_path_factory.mktemp("map") / "map.tif")


def test_version() -> None:
    assert nadirfix("--version").stdout == f"nadirfix {package.__version__}\n"
    module = subprocess.run([sys.executable, "-m", "nadirfix", "--version"], capture_output=True, text=True)
    assert module.stdout == f"nadirfix {package.__version__}\n"


@pytest.mark.parametrize("command", [("--help",), ("simulate", "--help"), ("--version",)])
def test_help_loads_nothing_heavy(command: tuple[str, ...]) -> None:
    code = "import sys; from nadirfix.cli import main; main(); print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    loaded = set(done.stdout.rpartition("LOADED ")[2].split())
    assert "nadirfix.cli" in loaded
    assert not loaded & {"torch", "rasterio", "cv2", "pyproj", "PIL", "sklearn", "matplotlib"}


def test_simulate_tells_its_defaults() -> None:
    output = nadirfix("simulate", "--help").stdout
    for default in ("500", "100:700", "2048x1536@1200", "2.0", "95", "0.0"):
        assert default in output


def test_simulate(ground: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    done = nadirfix("simulate", ground, "--out", out, *SMALL)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "manifest": str(out / "manifest.csv"),
        "count": 6,
        "partial": 0,
        "camera": "320x240@200",
    }
    assert "rendering photos 6/6" in done.stderr
    rows = read_photo_list(out / "manifest.csv")
    assert [row.photo.relative_to(out).as_posix() for row in rows] == [
        f"photos/{i:06d}.jpg" for i in range(6)
    ]
    assert all(100 <= row.altitude_m < 150 for row in rows)
    assert {read_tags(row.photo).camera for row in rows} == {Camera(320, 240, 200.0, 200.0)}
    assert sorted(p.name for p in tmp_path.rglob("*") if p.suffix == ".part") == []


def test_quiet_says_nothing_and_overwrite_replaces(ground: Path, tmp_path: Path) -> None:
    for seed in ("0", "1"):
        done = nadirfix(
            "simulate", ground, "--out", tmp_path / "out", *SMALL, "--quiet", "--overwrite", "--seed", seed
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_two_map_files_are_one_map(ground: Path, tmp_path: Path) -> None:
    east = write_map(tmp_path / "east.tif", west_m=500_600.0)
    # From 400 m this photo covers 640 × 480 m: more than either file has, so it must look across the seam.
    views = tmp_path / "views.csv"
    views.write_text(
        "easting_m,northing_m,epsg,altitude_m,heading_deg\n500600,4649700,32633,400,0\n500100,4649700,32633,400,0\n"
    )
    arguments = ("--out", tmp_path / "out", "--views", views, "--camera", "320x240@200")
    done = nadirfix("simulate", ground, east, *arguments)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["partial"] == 1
    assert "1 photos have less than 99% of the map" in done.stderr
    across, over_the_edge = read_photo_list(tmp_path / "out" / "manifest.csv")
    assert across.valid_share == 1
    assert over_the_edge.valid_share == pytest.approx(420 / 640, abs=0.01)


def test_pose_only_when_asked(ground: Path, tmp_path: Path) -> None:
    nadirfix("simulate", ground, "--out", tmp_path / "out", *SMALL, "--write-pose", "--tilt", "2")
    [row, *_] = read_photo_list(tmp_path / "out" / "manifest.csv")
    assert read_tags(row.photo).relative_altitude_m == pytest.approx(row.altitude_m, abs=1e-3)


def test_our_errors_end_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise InputError("photo.missing", "the photo is not there", seen="a.jpg", do="check the path")

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main() == 2
    assert (
        capsys.readouterr().err == "nadirfix: the photo is not there: a.jpg. Check the path [photo.missing]\n"
    )


@pytest.mark.parametrize("debug", [True, False])
def test_unexpected_errors_say_how_to_report_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], debug: bool
) -> None:
    def fail(arguments: list[str]) -> int:
        raise ValueError("gremlins")

    monkeypatch.setattr(cli, "_run", fail)
    monkeypatch.setenv("NADIRFIX_DEBUG", "1" if debug else "0")
    assert cli.main() == 1
    output = capsys.readouterr().err
    assert "ValueError: gremlins" in output
    assert "[internal.error]" in output
    assert "report" in output
    assert ("Traceback" in output) == debug


def test_interrupt_exits_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main() == 130
