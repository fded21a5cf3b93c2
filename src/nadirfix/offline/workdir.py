"""A bundle being built: its parts so far, in a hidden folder beside the target.

Every part appears whole or not at all, so a build that was stopped, even by kill -9, goes on with what is
there. The target itself appears in one rename at the very end.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from nadirfix.bundle.layout import MANIFEST, listed, read_manifest, write_manifest
from nadirfix.errors import BundleError, OutputError
from nadirfix.files import atomic_file, check_target, output_errors, replace_dir

__all__ = ["Inputs", "Work", "is_built"]

#: What a bundle is made from: versions, recipe, map files. Two builds of equal inputs give equal bundles.
Inputs = dict[str, Any]

_STATE = "state.json"
_LOCK = "lock"
_SHOWN_DIFFERENCES = 4
_SHOWN_LETTERS = 40


@dataclass(frozen=True, slots=True)
class Work:
    """An unfinished bundle; made by ``begin``, ended by ``finish``."""

    target: Path
    inputs: Inputs
    lock: FileLock | None = field(default=None, compare=False)

    @classmethod
    def begin(cls, target: Path, inputs: Inputs, *, resume: bool, overwrite: bool) -> Work:
        """Start a build, or go on with the one that was stopped; refuses to touch anything else."""
        _check_free(target, overwrite=overwrite)
        work = cls(target, inputs, _locked(target))
        if work.left_over():
            work._take_over(resume=resume, overwrite=overwrite)
        with output_errors(target):
            work.parts.mkdir(parents=True, exist_ok=True)
            for scratch in [*work.folder.glob(".*.part"), *work.parts.glob(".*.part")]:
                scratch.unlink()
        work.write_note(_STATE, inputs)
        return work

    @property
    def folder(self) -> Path:
        """Where the work lies: checkpoints, notes, and the parts."""
        return _folder(self.target)

    @property
    def parts(self) -> Path:
        """The folder that becomes the bundle."""
        return self.folder / "parts"

    def left_over(self) -> list[Path]:
        """What an earlier build left here."""
        return [path for path in self.folder.iterdir() if path.name != _LOCK]

    def part(self, name: str) -> Path:
        """Where a part is or will be."""
        return self.parts / name

    def note(self, name: str) -> dict[str, Any] | None:
        """What an earlier step left to be remembered; a step with a note is done."""
        path = self.folder / name
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def write_note(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        """Remember what a step found out."""
        with atomic_file(self.folder / name) as scratch:
            scratch.write_text(json.dumps(content, sort_keys=True, allow_nan=False), encoding="utf-8")
        return content

    def finish(self, manifest: dict[str, Any]) -> None:
        """Seal the parts and put them in the target's place."""
        with output_errors(self.target):
            names = {path.name for path in self.parts.iterdir()} - {MANIFEST}
            write_manifest(self.parts, {**self.inputs, **manifest, "parts": listed(self.parts, names)})
            replace_dir(self.parts, self.target)
        if self.lock is not None:
            self.lock.release(force=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_over(self, *, resume: bool, overwrite: bool) -> None:
        """Keep what an earlier build left, or clear it away, as told."""
        if not (resume or overwrite):
            raise OutputError(
                "output.exists",
                "an unfinished build is already there",
                seen=str(self.folder),
                do="go on with it by --resume, or begin anew with --overwrite",
            )
        found = self.note(_STATE)
        if resume and found == self.inputs and self.parts.is_dir():
            return
        if resume and found and found != self.inputs and not overwrite:
            raise _mismatch(self.folder, found, self.inputs)
        with output_errors(self.folder):
            for path in self.left_over():
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _folder(target: Path) -> Path:
    return target.with_name(f".{target.name}.work")


def _locked(target: Path) -> FileLock:
    """Held until the build ends or its process dies: two builds must not write into one folder."""
    folder = _folder(target)
    with output_errors(target):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / _LOCK, is_singleton=True)  # a notebook may try again what failed
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise OutputError(
                "output.busy",
                "another build is writing this bundle",
                seen=f"{folder / _LOCK} is held by a running process",
                do="wait for it, or name another --out",
            ) from None
    return lock


def is_built(target: Path, inputs: Inputs) -> bool:
    """Whether the whole bundle is there already; one made from other inputs is an error."""
    if not (target / MANIFEST).exists():
        return False
    manifest = read_manifest(target)
    found = {key: manifest.get(key) for key in inputs}
    if found != inputs:
        raise _mismatch(target, found, inputs)
    return True


def _check_free(target: Path, *, overwrite: bool) -> None:
    """Only a bundle may be replaced by a bundle."""
    ours = (target / MANIFEST).exists()
    check_target(target, overwrite=overwrite and ours)


def _mismatch(folder: Path, old: Inputs, new: Inputs) -> BundleError:
    differences = list(_differences(old, new))
    more = len(differences) - _SHOWN_DIFFERENCES
    shown = "; ".join(differences[:_SHOWN_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
    return BundleError(
        "bundle.mismatch",
        "the bundle was begun with another map or recipe",
        seen=f"{folder}: {shown}",
        do="give the old inputs, name another --out, or begin anew with --overwrite",
    )


def _differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """Every setting that differs, named, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (before, now) in enumerate(zip(old, new, strict=True)):
            yield from _differences(before, now, f"{name}[{i}]")
    elif old != new:
        yield f"{name} was {_short(old)}, is {_short(new)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"
