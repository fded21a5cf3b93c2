"""Rows that compare descriptors: every reference is described once, and a photo takes the nearest.

Descriptors are written piece by piece, so that a run that was stopped goes on with the next piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import unit
from nadirfix.errors import InputError
from nadirfix.evaluation.methods.ground import CommonGround
from nadirfix.evaluation.methods.protocol import Describer, FittedDescriber
from nadirfix.files import Progress, atomic_file
from nadirfix.offline.describe import ReferenceRenderer, save_array
from nadirfix.parallel import cores
from nadirfix.photo_list import PhotoRecord
from nadirfix.retrieval.index import ReferenceIndex
from nadirfix.timing import Stopwatch
from nadirfix.types import Candidates, Fix

__all__ = ["DescriberMethod", "as_bytes", "fitted_views", "join_pieces", "pieces_of"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

#: References per piece on disk, and per call of the describer: progress is reported after every call.
_PIECE, _BATCH = 64, 8
#: References that one which learns from the map first is given, evenly spread.
_FITTED_TO = 256
_RANKED = 10
_MEGA = 1e6


class DescriberMethod:
    """Locates with somebody's descriptor: the nearest of all references is the answer."""

    def __init__(
        self, ground: CommonGround, describer: Describer, folder: Path, *, weights: Path | None = None
    ) -> None:
        self._ground, self._describer, self._folder = ground, describer, folder
        self._weights, self._fitted = weights, False

    @property
    def size_mb(self) -> float:
        """Its descriptors in half precision, and its checkpoint."""
        files = [self._target, *([self._weights] if self._weights else [])]
        return sum(path.stat().st_size for path in files) / _MEGA

    def prepare(self, progress: Progress) -> None:
        """Describe every reference; pieces an earlier run left are kept."""
        renderer = self._ground.renderer(self._describer.size_px)
        self._fit(renderer, progress)
        if not self._target.exists():
            with ThreadPoolExecutor(cores()) as pool:
                pieces = [self._piece(rows, renderer, pool, progress) for rows in pieces_of(len(renderer))]
            join_pieces(pieces, self._target)

    def locate(self, row: PhotoRecord) -> Fix:
        """The nearest reference, and those ranked after it."""
        watch = Stopwatch()
        picture = self._ground.picture(row, self._describer.size_px, watch)
        with watch.stage("embed"):
            descriptor = self._described(picture.pixels()[None])[0]
        with watch.stage("retrieve"):
            rows, distance = self._index.search(descriptor, None, _RANKED)
        candidates = self._candidates(rows, distance)
        return Fix(
            photo=str(row.photo),
            status="unverified",
            position=candidates.point(0),
            heading_deg=float(candidates.heading_deg[0]),
            gsd_m=picture.gsd_m,
            candidates=candidates,
            timings_ms=watch.timings_ms(),
        )

    @property
    def _target(self) -> Path:
        return self._folder / "descriptors.npy"

    @cached_property
    def _index(self) -> ReferenceIndex:
        descriptors = np.load(self._target, mmap_mode="r", allow_pickle=False)
        return ReferenceIndex(descriptors, [0, len(descriptors)])

    def _fit(self, renderer: ReferenceRenderer, progress: Progress) -> None:
        if isinstance(self._describer, FittedDescriber):
            progress("learning from the map", 0, 1)
            self._describer.fit(fitted_views(renderer, _FITTED_TO))
            progress("learning from the map", 1, 1)

    def _piece(
        self, rows: range, renderer: ReferenceRenderer, pool: ThreadPoolExecutor, progress: Progress
    ) -> Path:
        """The file of a piece, written if it is not there yet."""
        file = self._folder / "pieces" / f"{rows.start:08d}.npy"
        if not file.exists():
            batches = [rows[i : i + _BATCH] for i in range(0, len(rows), _BATCH)]
            described = []
            for some in batches:
                described.append(self._described(as_bytes(renderer.pictures(some, pool))))
                progress("describing references", some.stop, len(renderer))
            save_array(file, np.concatenate(described).astype(np.float16))
        return file

    def _described(self, images: Bytes) -> Floats:
        """Unit descriptors; an answer of another shape, or that is no numbers, is an error."""
        found = np.asarray(self._describer.describe(images))
        if found.ndim != 2 or len(found) != len(images) or not np.isfinite(found).all():
            raise InputError(
                "options.invalid",
                "a method gives no descriptors that can be compared",
                seen=f"{type(self._describer).__name__}: {found.dtype} {found.shape}, {len(images)} images",
                do="return a row of finite numbers for each image",
            )
        return unit(found)

    def _candidates(self, rows: NDArray[np.int64], distance: NDArray[np.float64]) -> Candidates:
        references = self._ground.bundle.references
        return Candidates(
            reference=rows,
            east_m=references.east_m[rows],
            north_m=references.north_m[rows],
            heading_deg=references.heading_deg[rows],
            distance=distance,
            cell=references.cell[rows],
            epsg=references.epsg,
        )


def as_bytes(pictures: Floats) -> Bytes:
    """Rendered pictures (channels first) as eight bits, rows × columns × RGB."""
    whole = np.clip(np.rint(pictures), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(np.moveaxis(whole, 1, -1))


def fitted_views(renderer: ReferenceRenderer, count: int) -> Bytes:
    """So many references from all over the map, always the same ones."""
    rows = np.unique(np.linspace(0, len(renderer) - 1, count).astype(np.int64))
    return as_bytes(np.stack([renderer.picture(int(row)) for row in rows]))


def join_pieces(files: list[Path], target: Path) -> None:
    """One array of all pieces, written piece by piece; then the pieces go."""
    first = np.load(files[0], mmap_mode="r", allow_pickle=False)
    counts = [len(np.load(file, mmap_mode="r", allow_pickle=False)) for file in files]
    with atomic_file(target) as scratch:
        shape = (sum(counts), *first.shape[1:])
        whole = np.lib.format.open_memmap(scratch, mode="w+", dtype=first.dtype, shape=shape)
        for start, file in zip(np.cumsum([0, *counts]), files, strict=False):
            piece = np.load(file, allow_pickle=False)
            whole[start : start + len(piece)] = piece
        whole.flush()
    for file in files:
        file.unlink()


def pieces_of(count: int) -> Iterator[range]:
    """Runs of references, each of which is a file until all are there."""
    for start in range(0, count, _PIECE):
        yield range(start, min(start + _PIECE, count))
