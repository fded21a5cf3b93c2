"""The arrays of a bundle fit each other: as many rows and columns as the manifest and the others say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nadirfix.bundle import layout as parts
from nadirfix.bundle.arrays import StoredArray
from nadirfix.bundle.contents import array_of
from nadirfix.options.recipe import Recipe
from nadirfix.retrieval.cell_index import index_names

__all__ = ["check_shapes"]

Arrays = dict[str, StoredArray]
#: Rows and columns of an array; None where any number will do.
Expected = tuple[str, tuple[int | None, ...]]


def check_shapes(
    folder: Path, manifest: parts.Manifest, recipe: Recipe, *, bins: int, cells: Sequence[int]
) -> None:
    """Raise an error where an array has another size than a photo needs, reading headers only."""
    if recipe.references.whiten_dims > 0 and parts.PROJECTION not in manifest["parts"]:
        raise parts.damaged(folder, f"{parts.MANIFEST} lists no {parts.PROJECTION}, which its recipe needs")
    arrays = {name: _opened(folder / name) for name in manifest["parts"] if name.endswith(".npy")}
    expected = [*_of_references(manifest, arrays, cells), *_of_cells(arrays, cells), *_of_low(arrays)]
    for name, sides in [*expected, (parts.ALTITUDE_CLASSES, (bins, None))]:
        shape = arrays[name].shape if name in arrays else None
        if shape and any(side not in (None, found) for side, found in zip(sides, shape, strict=True)):
            raise parts.damaged(folder, f"{name} has {shape} numbers, {sides} were expected")


def _opened(path: Path) -> StoredArray:
    try:
        return array_of(path)
    except (OSError, ValueError) as error:
        raise parts.damaged(path.parent, f"{path.name}: {error}") from error


def _of_references(manifest: parts.Manifest, arrays: Arrays, cells: Sequence[int]) -> Iterator[Expected]:
    """References and what photos are compared with; prototypes that were trained take raw embeddings."""
    rows, width = arrays[parts.DESCRIPTORS].shape
    trained = manifest["networks"]["place"]["training"] is not None
    yield parts.DESCRIPTORS, (manifest["counts"]["references"], None)
    yield parts.REFERENCES, (rows,)
    yield parts.PROJECTION, (width + 1, None)
    yield parts.PROTOTYPES, (sum(cells), _embedding_width(arrays) if trained else width)


def _of_cells(arrays: Arrays, cells: Sequence[int]) -> Iterator[Expected]:
    """The index of the likeliest cells, where there is one."""
    width = arrays[parts.PROTOTYPES].shape[1]
    names = index_names(len(cells))
    for directions, sketches, count in zip(names[::2], names[1::2], cells, strict=True):
        yield directions, (None, width)
        if directions in arrays:
            yield sketches, (count, arrays[directions].shape[0])


def _of_low(arrays: Arrays) -> Iterator[Expected]:
    """The references for photos from low above."""
    if parts.LOW_DESCRIPTORS not in arrays:
        return
    rows, width = arrays[parts.LOW_DESCRIPTORS].shape
    yield parts.LOW_REFERENCES, (rows,)
    yield parts.LOW_PROJECTION, (width + 1, _embedding_width(arrays))
    if parts.LOW_PROJECTION not in arrays:
        yield parts.LOW_DESCRIPTORS, (None, _embedding_width(arrays))


def _embedding_width(arrays: Arrays) -> int:
    """How many numbers the place network gives, by what takes them."""
    whitened = arrays.get(parts.PROJECTION)
    return int((whitened or arrays[parts.DESCRIPTORS]).shape[1])
