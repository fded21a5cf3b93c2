"""Writing files so that nothing is ever lost or half-written (ADR 59).

Everything is written under a temporary name beside its target and renamed when whole. What is there already
is replaced only where it is ours (``owned``). A disk that is full, a folder that cannot be made and a target
that already exists are each their own clear error.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nadirfix.errors import OutputError
from nadirfix.files.owned import (
    Recognise,
    any_file,
    check_name,
    check_ours,
    check_unused,
    marked,
    output_exists,
    remove_listed,
    write_marker,
)

__all__ = [
    "FULL_DISK",
    "Progress",
    "atomic_dir",
    "atomic_file",
    "check_folder",
    "check_target",
    "output_errors",
    "quiet",
    "remove_ours",
    "replace_dir",
]

#: How long work reports itself: stage, how much is done, how much there is.
Progress = Callable[[str, int, int], None]
#: Errors that mean that there is no room left.
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def quiet(_stage: str, _done: int, _total: int) -> None:
    """Progress for those who do not want any."""


def check_target(target: Path, *, overwrite: bool, recognise: Recognise, inputs: Iterable[Path] = ()) -> None:
    """Refuse a target that is there, unless it is ours and may be replaced; make sure its folder can be made.

    Never replaced: links, what is read from (``inputs``), and the folder one is in.
    """
    check_name(target)
    with output_errors(target):
        if os.path.lexists(target):
            check_ours(target, recognise, overwrite=overwrite)
            check_unused(target, inputs)
            if not overwrite:
                raise output_exists("the output is already there", target, overwrite_helps=True)
        target.parent.mkdir(parents=True, exist_ok=True)


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder to put files into that is there, unless files in it may be replaced, and any link."""
    check_name(folder)
    if folder.is_symlink() or (os.path.lexists(folder) and not folder.is_dir()):
        raise output_exists("the output is no folder, and links are not followed", folder)
    if folder.exists() and not overwrite:
        raise output_exists("the output is already there", folder, overwrite_helps=True)


@contextmanager
def atomic_file(target: Path, *, overwrite: bool = True, recognise: Recognise = any_file) -> Iterator[Path]:
    """A temporary path to write to; it becomes the target if all goes well and vanishes if not."""
    check_target(target, overwrite=overwrite, recognise=recognise)
    scratch = _scratch(target)
    try:
        with output_errors(target):
            yield scratch
            _sync(scratch)
            if os.path.lexists(target):
                check_ours(target, recognise)
            scratch.replace(target)
    finally:
        with suppress(OSError):
            scratch.unlink()


@contextmanager
def atomic_dir(
    target: Path, *, kind: str, overwrite: bool = False, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """A temporary folder to fill; marked as this kind it becomes the target if all goes well."""
    check_target(target, overwrite=overwrite, recognise=marked(kind), inputs=inputs)
    scratch = _scratch(target)
    try:
        with output_errors(target):
            scratch.mkdir()
            yield scratch
            write_marker(scratch, kind)
            replace_dir(scratch, target, recognise=marked(kind))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def replace_dir(scratch: Path, target: Path, *, recognise: Recognise) -> None:
    """Put the new folder in the old one's place; the old one goes only when the new one is there."""
    old = _set_aside(target, recognise)
    try:
        scratch.rename(target)
    except BaseException:
        if old is not None and not os.path.lexists(target):
            old.rename(target)
        raise
    if old is not None:
        remove_listed(old, recognise(old) or {})


def remove_ours(target: Path, *, recognise: Recognise) -> None:
    """Remove what we wrote, if it is there; refuse where anything else lies with it."""
    with output_errors(target):
        old = _set_aside(target, recognise)
        if old is not None:
            remove_listed(old, recognise(old) or {})


@contextmanager
def output_errors(target: Path | str) -> Iterator[None]:
    """Operating-system errors while writing become clear ones that name the target."""
    _count_oversize_as_error()
    try:
        yield
    except OSError as error:
        full = error.errno in FULL_DISK
        raise OutputError(
            "output.disk_full" if full else "output.unwritable",
            "the disk is full" if full else "the output cannot be written",
            seen=f"{target} ({error.strerror or error})",
            do="free some space and run it again" if full else "name a folder you can write to with --out",
        ) from error


def _set_aside(target: Path, recognise: Recognise) -> Path | None:
    """Rename what is there, so that what is checked is what will go; not ours, it gets its name back."""
    if not os.path.lexists(target):
        return None
    old = _scratch(target)
    target.rename(old)
    try:
        check_ours(old, recognise, target=target)
    except BaseException:
        old.rename(target)
        raise
    return old


def _scratch(target: Path) -> Path:
    return target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.part")


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
