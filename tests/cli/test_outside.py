"""What a command meets outside: signals, closed streams, names that steer, folders it must not touch."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nadirfix as nadirfix_package
from nadirfix.cli import main
from nadirfix.errors import out_of_memory
from nadirfix.files.text import from_cell
from tests.command import PROGRAM, nadirfix, write_map

SOURCE = Path(nadirfix_package.__file__).parents[1]
NAME = "=\x1b]0;owned\x07\x1b[31m\u202egpj.jpg"
SMALL = ("--camera", "320x240@200", "--altitude", "100:150")


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_map(tmp_path_factory.mktemp("map") / "map.tif")


def run_with(redirect: str, *arguments: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    """A command whose streams the shell has sent somewhere else."""
    command = ["sh", "-c", f'exec "$0" "$@" {redirect}', str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **settings)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write to, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_an_ordinary_user_without_a_home_on_a_checkout_that_is_read_only(open_folder: Path) -> None:
    def as_nobody(*arguments: object) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": "/nonexistent", "NADIRFIX_CACHE": "/nonexistent", "PYTHONPATH": str(SOURCE)}
        command = [sys.executable, "-m", "nadirfix", *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, user=65534, group=65534, env=environment
        )  # fmt: skip

    try:
        open_to_all = as_nobody("--version").returncode == 0
    except PermissionError:
        open_to_all = False
    if not open_to_all:
        pytest.skip("the environment or the sources are closed to others")
    photo = open_folder / "a.jpg"
    photo.write_bytes(_jpeg())
    assert as_nobody("camera", photo, "--quiet").returncode == 0
    photo.chmod(0)
    closed = as_nobody("camera", photo, "--quiet")
    assert closed.returncode == 2 and "[photo." in closed.stderr, closed.stderr
    made = as_nobody("world", "--out", open_folder / "world", "--size-km", 0.5, "--gsd", 2, "--quiet")
    assert made.returncode == 0, made.stderr
    refused = as_nobody(
        "world", "--out", SOURCE / "nadirfix" / "world-of-nobody", "--size-km", 0.5, "--gsd", 2
    )
    assert refused.returncode == 7 and "[output.unwritable]" in refused.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    ("redirect", "code"),
    [("> /dev/full", "output.disk_full"), (">&-", "output.unwritable"), ("| head -c 0", "output.unwritable")],
)
def test_answers_that_cannot_be_written_are_exit_7(tmp_path: Path, redirect: str, code: str) -> None:
    photo = tmp_path / "a.jpg"
    photo.write_bytes(_jpeg())
    if "|" in redirect:
        done = subprocess.run(
            ["bash", "-c", '"$0" camera "$1" --quiet | true; exit ${PIPESTATUS[0]}', PROGRAM, photo],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    else:
        done = run_with(redirect, "camera", photo, "--quiet")
    assert (done.returncode, done.stderr.count("\n")) == (7, 1), done.stderr
    assert done.stderr.endswith(f"[{code}]\n") and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("redirect", ["> /dev/full", ">&-"])
def test_help_that_cannot_be_written_is_no_fault_of_ours(redirect: str) -> None:
    done = run_with(redirect, "camera", "--help")
    assert done.returncode == 7 and "[output." in done.stderr and "Traceback" not in done.stderr


def _jpeg() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 48), "green").save(file, format="JPEG")
    return file.getvalue()


def test_notes_nobody_reads_stop_nothing_and_get_into_no_answer(ground: Path, tmp_path: Path) -> None:
    arguments = ("simulate", ground, "--out", tmp_path / "out", *SMALL, "--count", 2)
    done = run_with("2>&-", *arguments)
    assert done.returncode == 0 and json.loads(done.stdout)["count"] == 2


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing(ground: Path, tmp_path: Path, stop: signal.Signals) -> None:
    command = [PROGRAM, "simulate", ground, "--out", tmp_path / "out", *SMALL, "--count", "5000"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert running.stderr is not None
    next(line for line in running.stderr if line.startswith("rendering photos"))
    running.send_signal(stop)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert list(tmp_path.iterdir()) == []


def in_process(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """The command line in this process: it starts in no time."""
    monkeypatch.setattr("sys.argv", ["nadirfix", *map(str, arguments)])
    return main()


def test_a_name_steers_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ("camera", tmp_path / NAME),
        ("info", tmp_path / NAME),
        (NAME,),
        ("camera", f"--x{NAME[1:]}"),
    ):
        assert in_process(monkeypatch, *arguments) in {2, 4}
        printed = capsys.readouterr()
        assert "\x1b" not in printed.out + printed.err and "\u202e" not in printed.err
        assert "x1b" in printed.err


def test_a_name_steers_nothing_in_a_table_and_is_read_back() -> None:
    from nadirfix.errors import InputError
    from nadirfix.formats import csv_text, error_record, json_line, kml_text

    error = InputError("photo.missing", "there is none", seen=NAME, do="name one")
    record = error_record(NAME, error)
    table = csv_text([record])
    (row,) = csv.DictReader(io.StringIO(table))
    assert from_cell(row["photo"]) == NAME and row["photo"].startswith("'=")
    for text in (table, json_line(record), kml_text([record])):
        assert not {"\x1b", "\x07", "\u202e"} & {*text}
    assert json.loads(json_line(record))["photo"] == NAME


def test_numbers_in_tables_stay_numbers() -> None:
    from nadirfix.formats import csv_text

    (row,) = csv.DictReader(
        io.StringIO(csv_text([{"photo": "a", "status": "fix", "lon": -14.25, "lat": 48.5}]))
    )
    assert (row["lon"], row["lat"]) == ("-14.25", "48.5")


def test_a_list_with_such_names_is_written_and_read(tmp_path: Path) -> None:
    from nadirfix.photo_list import PhotoRecord, read_photo_list, write_photo_list
    from nadirfix.types import Point

    names = ["=1+1.jpg", "@a.jpg", "-b.jpg", "'=c.jpg", " d ", "e\x1b[2J.jpg", "f\n.jpg", "\\x41.jpg"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    records = [PhotoRecord(photo=tmp_path / name, point=Point(5e5, 5e6, 32633)) for name in names]
    write_photo_list(tmp_path / "manifest.csv", records)
    text = (tmp_path / "manifest.csv").read_text()
    assert "\x1b" not in text and not any(line[:1] in "=@-" for line in text.splitlines()[1:])
    assert [record.photo.name for record in read_photo_list(tmp_path / "manifest.csv")] == names


@pytest.mark.parametrize("out", ["", "."])
@pytest.mark.parametrize(
    "command", [("world", "--size-km", "0.5", "--gsd", "2"), ("locate", "a.jpg", "--bundle", "b"), ("demo",)]
)
def test_the_folder_one_is_in_is_no_output(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
    out: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis").mkdir()
    assert in_process(monkeypatch, *command, "--out", out, "--overwrite") == 2
    assert "a name of its own" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_a_world_replaces_a_world_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "world"
    command = ("world", "--out", made, "--size-km", "0.5", "--gsd", "2", "--quiet")
    assert in_process(monkeypatch, *command) == 0
    assert in_process(monkeypatch, *command) == 7
    assert in_process(monkeypatch, *command, "--overwrite") == 0
    (made / "thesis").mkdir()
    capsys.readouterr()
    assert in_process(monkeypatch, *command, "--overwrite") == 7
    message = capsys.readouterr().err
    assert "thesis" in message and "allow replacing" not in message
    assert sorted(path.name for path in made.iterdir()) == [".nadirfix.json", "new.tif", "old.tif", "thesis"]


def test_a_picture_of_reasons_never_replaces_a_photo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "a.png").write_bytes(b"\x89PNG somebody's")
    given = ("locate", photos / "a.png", "--bundle", tmp_path / "b.nadir", "--explain", photos, "--overwrite")
    assert in_process(monkeypatch, *given) == 7
    assert "[output.exists]" in capsys.readouterr().err
    assert (photos / "a.png").read_bytes() == b"\x89PNG somebody's"


@pytest.mark.parametrize(
    "error",
    [MemoryError(), RuntimeError("std::bad_alloc"), OSError(12, "Cannot allocate memory"),
     Exception("Insufficient memory: Failed to allocate 8000000000 bytes")],
)  # fmt: skip
def test_too_little_memory_says_so(error: Exception) -> None:
    explained = out_of_memory(error, seen="a.jpg")
    assert explained is not None and (explained.code, explained.exit_number) == ("machine.memory", 9)
    assert "a.jpg" in str(explained)
    assert out_of_memory(ValueError("no")) is None


def test_a_command_without_memory_ends_with_9(ground: Path, tmp_path: Path) -> None:
    limit = 700 << 20
    done = nadirfix(
        "world", "--out", tmp_path / "out", "--size-km", 10, "--gsd", 0.5, "--quiet",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        env={"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (9, 1), done.stderr
    assert done.stderr.endswith("[machine.memory]\n")
    assert list(tmp_path.iterdir()) == []
