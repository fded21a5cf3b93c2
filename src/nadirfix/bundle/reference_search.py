"""How a photo's crops are looked up among a bundle's references: those of the whole range, and low ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import unit
from nadirfix.bundle import layout as parts
from nadirfix.bundle.references import References, read_references
from nadirfix.image.crop import Canonical
from nadirfix.options.recipe import Recipe
from nadirfix.retrieval.crops import ReferenceSearch
from nadirfix.retrieval.index import ReferenceIndex
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network

__all__ = ["SearchedBundle", "low_search_of", "search_of"]

Floats = NDArray[np.float32]

#: Crops of a photo that are described at a time.
_BATCH = 4


class SearchedBundle(Protocol):
    """What of a bundle a search of its references needs."""

    @property
    def path(self) -> Path:
        """Its folder."""

    @property
    def manifest(self) -> dict[str, Any]:
        """What its parts mean."""

    @property
    def recipe(self) -> Recipe:
        """How it was made."""

    @property
    def canonical(self) -> Canonical:
        """What its usual references cover."""

    @property
    def epsg(self) -> int:
        """Its UTM zone."""

    @property
    def references(self) -> References:
        """Where its usual references look from."""

    @property
    def index(self) -> ReferenceIndex:
        """Finds the nearest of them."""

    @property
    def place_network(self) -> Network:
        """From a crop to its raw embedding."""

    def describe(self, embeddings: Floats) -> Floats:
        """Raw embeddings as descriptors of usual references."""

    def array(self, name: str) -> NDArray[Any]:
        """A part that holds numbers."""


def search_of(bundle: SearchedBundle) -> ReferenceSearch:
    """Among the references photos are usually retrieved with."""
    return ReferenceSearch(
        canonical=bundle.canonical,
        crop_px=bundle.recipe.place_network.size_px,
        embed=_embedder(bundle),
        nearest=bundle.index.nearest,
        references=bundle.references,
        epsg=bundle.epsg,
        enlarge=bundle.recipe.enlarge,
        project=bundle.describe,
    )


def low_search_of(bundle: SearchedBundle) -> ReferenceSearch | None:
    """Among those for photos from low above, which show a smaller piece of ground each."""
    known = bundle.manifest.get("low_references")
    if known is None:
        return None
    descriptors = bundle.array(parts.LOW_DESCRIPTORS)
    path, cells = bundle.path / parts.LOW_REFERENCES, int(known["cells"])
    references = read_references(path, cells, rows=len(descriptors))
    return ReferenceSearch(
        canonical=Canonical(bundle.recipe.camera, float(known["altitude_m"])),
        crop_px=bundle.recipe.place_network.size_px,
        embed=_embedder(bundle),
        nearest=ReferenceIndex(descriptors, references.starts).nearest,
        references=references,
        epsg=bundle.epsg,
        enlarge=bundle.recipe.enlarge,
        project=_low_projection(bundle),
    )


def _low_projection(bundle: SearchedBundle) -> Callable[[Floats], Floats]:
    if parts.LOW_PROJECTION not in bundle.manifest["parts"]:
        return unit
    projection = Projection.from_array(bundle.array(parts.LOW_PROJECTION))
    return lambda embeddings: projection(unit(embeddings))


def _embedder(bundle: SearchedBundle) -> Callable[[Floats], Floats]:
    """From crops (rows, columns, RGB) to raw embeddings; a few at a time, and the last ones one by one.

    Libraries prepare a network for each batch size anew, which takes longer than to run it.
    """

    def embed(crops: Floats) -> Floats:
        planes = np.moveaxis(crops, -1, 1)
        whole = len(planes) - len(planes) % _BATCH
        cuts = [*range(0, whole, _BATCH), *range(whole, len(planes) + 1)]
        return np.concatenate([bundle.place_network.run(planes[a:b]) for a, b in itertools.pairwise(cuts)])

    return embed
