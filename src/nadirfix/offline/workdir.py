"""A bundle being built: its parts so far, in a hidden work folder beside the target.

Every part appears whole or not at all, so a build that was stopped, even by kill -9, goes on with what is
there. The target itself appears in one rename at the very end.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from nadirfix.bundle.layout import MANIFEST, TEXTURE, read_manifest
from nadirfix.errors import BundleError, OutputError
from nadirfix.files import Progress, atomic_file, check_target, output_errors, replace_dir
from nadirfix.files.owned import check_ours, output_exists
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.offline.contents import STATE, bundle_contents, work_contents
from nadirfix.offline.manifest import Inputs, list_parts, write_manifest
from nadirfix.options.recipe import Recipe

__all__ = ["BuildContext", "WorkDir", "is_built", "pack_map"]

#: Decoded tiles of the map kept while it is rendered from everywhere: a quarter of a gigabyte.
_CACHED_TILES = 256

_LOCK = "lock"
_MAX_DIFFERENCES = 4
_MAX_LETTERS = 40


@dataclass(frozen=True, slots=True)
class WorkDir:
    """An unfinished bundle; made by ``begin``, ended by ``finish``."""

    target: Path
    inputs: Inputs
    lock: FileLock | None = field(default=None, compare=False)

    @classmethod
    def begin(
        cls, target: Path, inputs: Inputs, *, resume: bool, overwrite: bool, maps: Sequence[Path] = ()
    ) -> WorkDir:
        """Start a build, or go on with the one that was stopped; refuses to touch anything else."""
        check_target(target, overwrite=overwrite, recognise=bundle_contents, inputs=maps)
        workdir = cls(target, inputs, _locked(target))
        if workdir.left_over():
            workdir._take_over(resume=resume, overwrite=overwrite)
        workdir.write_note(STATE, inputs)  # first: it says that the folder is ours
        with output_errors(target):
            workdir.parts.mkdir(parents=True, exist_ok=True)
            for scratch in [*workdir.folder.glob(".*.part"), *workdir.parts.glob(".*.part")]:
                scratch.unlink()
        return workdir

    @property
    def folder(self) -> Path:
        """The work folder: checkpoints, notes, and the parts."""
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
        """Remember the result of a step."""
        with atomic_file(self.folder / name) as scratch:
            scratch.write_text(json.dumps(content, sort_keys=True, allow_nan=False), encoding="utf-8")
        return content

    def finish(self, manifest: dict[str, Any]) -> None:
        """Seal the parts and put them in the target's place."""
        with output_errors(self.target):
            names = {path.name for path in self.parts.iterdir()} - {MANIFEST}
            write_manifest(self.parts, {**self.inputs, **manifest, "parts": list_parts(self.parts, names)})
            replace_dir(self.parts, self.target, recognise=bundle_contents)
        if self.lock is not None:
            self.lock.release(force=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _take_over(self, *, resume: bool, overwrite: bool) -> None:
        """Keep what an earlier build left, or clear it away."""
        if not (resume or overwrite):
            raise OutputError(
                "output.exists",
                "an unfinished build is already there",
                seen=str(self.folder),
                do="go on with it by --resume, or begin anew with --overwrite",
            )
        earlier = self.note(STATE)
        if resume and earlier == self.inputs and self.parts.is_dir():
            return
        if resume and earlier and earlier != self.inputs and not overwrite:
            raise _mismatch(self.folder, earlier, self.inputs)
        with output_errors(self.folder):
            self._check_left_over()
            for path in self.left_over():
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _check_left_over(self) -> None:
        """What is cleared away must be of a build: one that was killed at once left no more than scratch."""
        if not all(path.name.endswith(".part") for path in self.left_over()):
            check_ours(self.folder, work_contents)


@dataclass(frozen=True, slots=True, eq=False)
class BuildContext:
    """What every step of a build needs: work folder, map, recipe, and where progress is reported."""

    workdir: WorkDir
    texture: Texture
    recipe: Recipe
    progress: Progress


def pack_map(workdir: WorkDir, geomap: GeoMap, recipe: Recipe, progress: Progress) -> Texture:
    """The map as the bundle carries it: packed into one texture, unless an earlier build did."""
    path = workdir.part(TEXTURE)
    if not path.exists():
        pack_texture(geomap, path, options=recipe.texture, progress=progress)
    return Texture.load(path, kept_tiles=_CACHED_TILES)


def _folder(target: Path) -> Path:
    return target.with_name(f".{target.name}.work")


def _locked(target: Path) -> FileLock:
    """Held until the build ends or its process dies: two builds must not write into one folder."""
    folder = _folder(target)
    if folder.is_symlink():
        raise output_exists("the folder to work in is a link, and links are not followed", folder)
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
    built = {key: manifest.get(key) for key in inputs}
    if built != inputs:
        raise _mismatch(target, built, inputs)
    return True


def _mismatch(folder: Path, old: Inputs, new: Inputs) -> BundleError:
    differences = list(_differences(old, new))
    more = len(differences) - _MAX_DIFFERENCES
    listed = "; ".join(differences[:_MAX_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
    return BundleError(
        "bundle.mismatch",
        "the bundle was begun with another map or recipe",
        seen=f"{folder}: {listed}",
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
    return text if len(text) <= _MAX_LETTERS else f"{text[:_MAX_LETTERS]}…"
