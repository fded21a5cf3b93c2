"""Descriptors of the reference views, computed by the place network piece by piece.

Each piece is a file of its own until all are there: a build that was stopped goes on with the next piece.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import unit
from nadirfix.bundle import layout as parts
from nadirfix.bundle.references import References
from nadirfix.files import Progress, atomic_file, output_errors
from nadirfix.geo.grid import ClassOrder
from nadirfix.geo.render import filled
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.offline.mosaic import Mosaic, mosaic_camera
from nadirfix.offline.workdir import WorkDir
from nadirfix.options.map import RenderOptions
from nadirfix.options.recipe import HeadOptions
from nadirfix.parallel import cores, map_in_order
from nadirfix.retrieval.cell_index import MANY_CELLS, index_names, sketched
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network
from nadirfix.types import Point, View

__all__ = [
    "ReferenceRenderer",
    "describe_mosaics",
    "describe_references",
    "index_cells",
    "mean_directions",
    "save_array",
    "whiten_references",
    "write_cell_index",
]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Halves = NDArray[np.float16]

#: References are rendered this much finer than the network's input and then reduced by area, as photos are.
#: Rendered at the network's size they would have less fine detail than a photo reduced to it.
_FINER = 2
#: They are rendered with one sample for each fine pixel: averaging these is all the filter a reference needs.
_SAMPLED = RenderOptions(supersample=1)

#: Views per piece: always the same, because a network's last digits may depend on the batch size.
_PIECE = 64
_STAGE = "describing references"
#: Vectors brought into memory at a time.
_ROWS = 4096


class ReferenceRenderer:
    """Renders reference views as the place network takes them."""

    def __init__(
        self, texture: Texture, canonical: Canonical, references: References, size: tuple[int, int]
    ) -> None:
        self.texture = texture.rendered_with(_SAMPLED)
        self.canonical, self.references, self.size = canonical, references, size

    def __len__(self) -> int:
        return len(self.references)

    def pictures(self, rows: range, pool: ThreadPoolExecutor) -> Floats:
        """The pictures of these rows (count, RGB, rows, columns; 0-255)."""
        return np.stack(list(pool.map(self.picture, rows)))

    def picture(self, row: int) -> Floats:
        """The picture of one row."""
        table = self.references
        center = Point(float(table.east_m[row]), float(table.north_m[row]), table.epsg)
        view = View(center, self.canonical.altitude_m, float(table.heading_deg[row]))
        fine = self.size[0] * _FINER, self.size[1] * _FINER
        return _reduced(filled(self.texture.render(view, self.canonical.camera, fine)))

    def mosaic(self, mosaic: Mosaic, steps: int) -> Floats:
        """The picture of a whole mosaic, as fine as that of a view."""
        fine = self.size[0] * _FINER // steps, self.size[1] * _FINER // steps
        camera = mosaic_camera(mosaic, self.canonical, steps, fine)
        return _reduced(filled(self.texture.render(mosaic.view, camera)))


def describe_references(
    renderer: ReferenceRenderer, network: Network, target: Path, *, folder: Path, progress: Progress
) -> None:
    """Write one unit vector per reference view; pieces that are already in the folder are kept."""
    pieces = [range(i, min(i + _PIECE, len(renderer))) for i in range(0, len(renderer), _PIECE)]
    files = [folder / f"{rows.start:08d}.npy" for rows in pieces]
    with ThreadPoolExecutor(cores()) as pool:
        for rows, file in zip(pieces, files, strict=True):
            if not file.exists():
                save_array(file, unit(network.run(renderer.pictures(rows, pool))).astype(np.float16))
            progress(_STAGE, rows.stop, len(renderer))
    _join(files, target)
    with output_errors(folder):
        shutil.rmtree(folder)


def describe_mosaics(
    renderer: ReferenceRenderer,
    embed: Callable[[Mosaic], Floats],
    mosaics: Sequence[Mosaic],
    target: Path,
    *,
    folder: Path,
    progress: Progress,
) -> None:
    """Write one unit vector per reference view, mosaic by mosaic; those already in the folder are kept."""
    files = [folder / f"{number:06d}.npy" for number in range(len(mosaics))]

    def describe(number: int) -> int:
        if not files[number].exists():
            save_array(files[number], unit(embed(mosaics[number])).astype(np.float16))
        return len(mosaics[number].members)

    done = 0
    for count in map_in_order(describe, range(len(mosaics)), workers=cores()):
        done += count
        progress(_STAGE, done, len(renderer))
    _scatter(files, [mosaic.members for mosaic in mosaics], target)
    with output_errors(folder):
        shutil.rmtree(folder)


def whiten_references(units: Path, target: Path, projection: Projection) -> None:
    """Write the descriptors of references, whitened, from their unit vectors."""
    rows = np.load(units, mmap_mode="r", allow_pickle=False)
    pieces = (projection(rows[start : start + _ROWS]) for start in range(0, len(rows), _ROWS))
    save_array(target, np.concatenate([piece.astype(np.float16) for piece in pieces]))


def mean_directions(descriptors: Halves, references: References) -> Halves:
    """A prototype for each class without training: the direction its views have in common."""
    classes = range(len(references.starts) - 1)
    sums = [descriptors[references.rows_of(c)].astype(np.float32).sum(axis=0) for c in classes]
    return unit(np.stack(sums)).astype(np.float16)


def index_cells(workdir: WorkDir, order: ClassOrder, head: HeadOptions) -> None:
    """Where there are very many cells, write what finds the likeliest without comparing with all of them."""
    if len(order) < MANY_CELLS or head.kind == "ce":
        return
    prototypes = np.load(workdir.part(parts.PROTOTYPES), mmap_mode="r", allow_pickle=False)
    tables = np.split(prototypes, np.cumsum(order.sizes)[:-1])
    write_cell_index([unit(np.asarray(table, np.float32)) for table in tables], workdir.part)


def write_cell_index(tables: Sequence[Floats], path_of: Callable[[str], Path]) -> None:
    """Write the index of each group's prototypes, where it is not there yet."""
    arrays = (array for table in tables for array in sketched(table))
    for name, array in zip(index_names(len(tables)), arrays, strict=True):
        if not path_of(name).exists():
            save_array(path_of(name), array)


def save_array(path: Path, array: NDArray[np.generic]) -> None:
    """Write an array as .npy, whole or not at all."""
    with atomic_file(path) as scratch:
        scratch.write_bytes(_npy(array))


def _npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _join(files: Sequence[Path], target: Path) -> None:
    """One array from all pieces, without holding them in memory."""
    arrays = [np.load(file, mmap_mode="r", allow_pickle=False) for file in files]
    shape = (sum(len(a) for a in arrays), arrays[0].shape[1])
    with atomic_file(target) as scratch, scratch.open("wb") as out:
        header = {"descr": "<f2", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(out, header)
        out.writelines(_bytes(arrays))


def _scatter(files: Sequence[Path], rows: Sequence[NDArray[np.int64]], target: Path) -> None:
    """One array from all mosaics, every vector in its row, without holding them in memory."""
    arrays = [np.load(file, mmap_mode="r", allow_pickle=False) for file in files]
    shape = (sum(len(a) for a in arrays), arrays[0].shape[1])
    with atomic_file(target) as scratch:
        table = np.lib.format.open_memmap(scratch, "w+", np.dtype("<f2"), shape)
        for members, array in zip(rows, arrays, strict=True):
            table[members] = array
        table.flush()


def _bytes(arrays: Sequence[Halves]) -> Iterator[bytes]:
    return (array.astype("<f2").tobytes() for array in arrays)


def _reduced(pixels: Bytes) -> Floats:
    """The mean of each block of fine pixels, channels first."""
    import cv2

    height, width = pixels.shape[0] // _FINER, pixels.shape[1] // _FINER
    means = cv2.resize(pixels.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(np.moveaxis(means, -1, 0))
