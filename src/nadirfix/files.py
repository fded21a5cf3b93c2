"""Writing files so that nothing is ever lost or half-written.

Everything is written under a temporary name beside its target and renamed when whole. A disk that is full,
a folder that cannot be made and a target that already exists are each their own clear error.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nadirfix.errors import OutputError

__all__ = ["Progress", "atomic_dir", "atomic_file", "check_target", "output_errors", "quiet", "replace_dir"]

#: How long work reports itself: stage, how much is done, how much there is.
Progress = Callable[[str, int, int], None]

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def quiet(_stage: str, _done: int, _total: int) -> None:
    """Progress for those who do not want any."""


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a target that exists, unless it may be replaced; make sure its folder can be made."""
    if target.exists() and not overwrite:
        raise OutputError(
            "output.exists",
            "the output is already there",
            seen=str(target),
            do="name another one, or allow replacing it with --overwrite",
        )
    with output_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)


@contextmanager
def atomic_file(target: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """A temporary path to write to; it becomes the target if all goes well and vanishes if not."""
    check_target(target, overwrite=overwrite)
    scratch = _scratch(target)
    try:
        with output_errors(target):
            yield scratch
            _sync(scratch)
            scratch.replace(target)
    finally:
        with suppress(OSError):
            scratch.unlink()


@contextmanager
def atomic_dir(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder to fill; it becomes the target if all goes well and vanishes if not."""
    check_target(target, overwrite=overwrite)
    scratch = _scratch(target)
    try:
        with output_errors(target):
            scratch.mkdir()
            yield scratch
            replace_dir(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def output_errors(target: Path) -> Iterator[None]:
    """Operating-system errors while writing become clear ones that name the target."""
    _count_oversize_as_error()
    try:
        yield
    except OSError as error:
        full = error.errno in _FULL
        raise OutputError(
            "output.disk_full" if full else "output.unwritable",
            "the disk is full" if full else "the output cannot be written",
            seen=f"{target} ({error.strerror or error})",
            do="free some space and run it again" if full else "name a folder you can write to with --out",
        ) from error


def _scratch(target: Path) -> Path:
    return target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")


def replace_dir(scratch: Path, target: Path) -> None:
    """Put the new folder in the old one's place; the old one goes only when the new one is there."""
    old = _scratch(target)
    if target.exists():
        target.rename(old)
    scratch.rename(target)
    if old.is_dir():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _count_oversize_as_error() -> None:
    """A file-size limit (ulimit -f) must be an error we can explain, not a killed process."""
    with suppress(AttributeError, ValueError):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
