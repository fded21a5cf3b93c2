"""Output appears whole or not at all, and nothing of ours is left lying about."""

from __future__ import annotations

import errno
import os
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from nadirfix.errors import OutputError
from nadirfix.files import atomic_dir, atomic_file, output_errors
from nadirfix.files.owned import MARKER


def dir_of_tests(target: Path, *, overwrite: bool = False) -> AbstractContextManager[Path]:
    return atomic_dir(target, kind="tests", overwrite=overwrite)


def fail_in(target: Path, *, folder: bool) -> None:
    with (dir_of_tests if folder else atomic_file)(target) as scratch:
        (scratch / "half" if folder else scratch).write_text("half")
        raise RuntimeError("stop")


def test_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with atomic_file(target) as scratch:
        scratch.write_text("whole")
        assert not target.exists()
    assert [p.name for p in target.parent.iterdir()] == ["a.txt"]
    assert target.read_text() == "whole"


def test_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a"
    with dir_of_tests(target) as scratch:
        (scratch / "part").write_text("x")
        assert not target.exists()
    assert [p.name for p in target.parent.iterdir()] == ["a"]
    assert (target / "part").read_text() == "x"


@pytest.mark.parametrize("folder", [True, False])
def test_failure_leaves_nothing(tmp_path: Path, folder: bool) -> None:
    with pytest.raises(RuntimeError):
        fail_in(tmp_path / "a", folder=folder)
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with dir_of_tests(target) as scratch:
        (scratch / "old").write_text("old")
    with pytest.raises(RuntimeError), dir_of_tests(target, overwrite=True):
        raise RuntimeError("stop")
    assert sorted(p.name for p in tmp_path.rglob("*")) == [MARKER, "a", "old"]


def test_overwriting_replaces_the_whole_folder(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with dir_of_tests(target) as scratch:
        (scratch / "old").write_text("old")
    with dir_of_tests(target, overwrite=True) as scratch:
        (scratch / "new").write_text("new")
    assert sorted(p.name for p in tmp_path.rglob("*")) == [MARKER, "a", "new"]


@pytest.mark.parametrize("write", [dir_of_tests, atomic_file])
def test_existing_output_is_refused(tmp_path: Path, write) -> None:
    target = tmp_path / "a"
    target.write_text("mine")
    with pytest.raises(OutputError) as caught, write(target, overwrite=False):
        pass
    assert caught.value.code == "output.exists"
    assert target.read_text() == "mine"


def test_path_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError) as caught, dir_of_tests(tmp_path / "file" / "below" / "a"):
        pass
    assert caught.value.code == "output.unwritable"


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "output.disk_full"),
        (errno.EDQUOT, "output.disk_full"),
        (errno.EFBIG, "output.disk_full"),
        (errno.EACCES, "output.unwritable"),
        (errno.EROFS, "output.unwritable"),
    ],
)
def test_every_disk_trouble_names_the_target(tmp_path: Path, number: int, code: str) -> None:
    with pytest.raises(OutputError) as caught, output_errors(tmp_path / "a"):
        raise OSError(number, os.strerror(number))
    assert caught.value.code == code
    assert str(tmp_path / "a") in caught.value.seen
    assert caught.value.exit_number == 7
