"""The reference database of a bundle: a whitened descriptor for every view, a prototype for each cell."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import unit
from nadirfix.bundle import layout as parts
from nadirfix.offline.describe import (
    ReferenceRenderer,
    describe_mosaics,
    describe_references,
    mean_directions,
    save_array,
    whiten_references,
)
from nadirfix.offline.int8 import describing_variant
from nadirfix.offline.mosaic import Mosaic, mosaics_fit, plan_mosaics, pool_views, write_feature_network
from nadirfix.offline.workdir import BuildContext, WorkDir
from nadirfix.options.recipe import Recipe, ReferenceOptions
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network, load_network
from nadirfix.runtime.benchmark import cosine_similarity

__all__ = ["LOW", "MAIN", "Database", "DatabaseParts"]

Record = dict[str, Any]

#: Views cut from a mosaic differ from views rendered alone by their edges only. A network that normalises its
#: features over the whole picture gives others for a mosaic: then fewer views than this are most similar to
#: themselves.
_RECOGNISED = 0.8
_COMPARED, _COMPARED_MOSAICS = 24, 4
_NOTE = "described.json"


@dataclass(frozen=True, slots=True)
class DatabaseParts:
    """Which parts of a bundle one set of references is written to; prototypes are the first set's alone."""

    descriptors: str
    projection: str
    prototypes: str | None
    prefix: str  # of what lies in the work folder meanwhile


MAIN = DatabaseParts(parts.DESCRIPTORS, parts.PROJECTION, parts.PROTOTYPES, "")
LOW = DatabaseParts(parts.LOW_DESCRIPTORS, parts.LOW_PROJECTION, None, "low_")


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """Describes the references of a bundle that is being built."""

    context: BuildContext
    renderer: ReferenceRenderer
    origin_m: tuple[float, float]
    parts: DatabaseParts = MAIN

    @property
    def _workdir(self) -> WorkDir:
        return self.context.workdir

    @property
    def _options(self) -> ReferenceOptions:
        return self.context.recipe.references

    def make(self) -> Record:
        """Write descriptors, projection and prototypes; how references were described."""
        workdir, target = self._workdir, self._workdir.part(self.parts.descriptors)
        whiten = self._options.whiten_dims > 0
        units, note = self._scratch("units.npy") if whiten else target, self.parts.prefix + _NOTE
        record = workdir.note(note) or workdir.write_note(note, self._describe(units))
        if whiten and not target.exists():
            self._whiten(units, target)
        prototypes = self.parts.prototypes and workdir.part(self.parts.prototypes)
        if prototypes and not prototypes.exists():  # a trained head brought its own
            descriptors = np.load(target, mmap_mode="r", allow_pickle=False)
            save_array(prototypes, mean_directions(descriptors, self.renderer.references))
        return record

    def _scratch(self, name: str) -> Path:
        """Where something lies while this set of references is made."""
        return self._workdir.folder / f"{self.parts.prefix}{name}"

    def _describe(self, units: Path) -> Record:
        """A unit vector for every reference, by the variant of the network the map is described with."""
        variant, describer = describing_variant(self._workdir, parts.PLACE), None
        options: dict[str, Any] = {
            "folder": self._scratch("descriptors"),
            "progress": self.context.progress,
        }
        if mosaics_fit(self.context.recipe.place_network, self._options.steps) and find_spec("onnx"):
            describer = self._mosaic_describer(variant.path)
        if units.exists():
            pass  # stopped just after it was written
        elif describer is not None:
            describe_mosaics(self.renderer, describer.embed, describer.mosaics, units, **options)
        else:
            describe_references(self.renderer, load_network(variant.path), units, **options)
        return {"precision": variant.precision, "sheets": describer and describer.record()}

    def _mosaic_describer(self, path: Path) -> _MosaicDescriber | None:
        """What describes whole mosaics; None where the network's views cannot be cut from them."""
        renderer = self.renderer
        mosaics = plan_mosaics(
            renderer.references, renderer.canonical, self._options.steps, origin_m=self.origin_m
        )
        features = self._workdir.folder / "features.onnx"
        if not write_feature_network(path, features):
            return None
        network = load_network(features, threads=1)
        describer = _MosaicDescriber(renderer, network, mosaics, self.context.recipe)
        if not describer.fits():
            return None
        recognised, similarity = describer.compared(load_network(path))
        if recognised < _RECOGNISED:
            return None
        return dataclasses.replace(
            describer, recognised=round(recognised, 3), similarity=round(similarity, 4)
        )

    def _whiten(self, units: Path, target: Path) -> None:
        progress = self.context.progress
        progress("whitening references", 0, 2)
        rows = np.load(units, mmap_mode="r", allow_pickle=False)
        projection = Projection.fit(rows, self._options.whiten_dims, power=self._options.whiten_power)
        save_array(self._workdir.part(self.parts.projection), projection.to_array())
        progress("whitening references", 1, 2)
        whiten_references(units, target, projection)
        progress("whitening references", 2, 2)


@dataclass(frozen=True, slots=True, eq=False)
class _MosaicDescriber:
    """Runs the network on a mosaic once, and pools an embedding for each view on it."""

    renderer: ReferenceRenderer
    features: Network
    mosaics: list[Mosaic]
    recipe: Recipe
    recognised: float = 0.0
    similarity: float = 0.0

    def embed(self, mosaic: Mosaic) -> NDArray[np.float32]:
        """The raw embeddings of the mosaic's views."""
        steps = self.recipe.references.steps
        picture = self.renderer.mosaic(mosaic, steps)
        return pool_views(self.features, picture, mosaic, steps, self.recipe.place_network)

    def fits(self) -> bool:
        """Whether the network has one feature to a step, as the recipe takes it to have."""
        mosaic = self.mosaics[0]
        picture = self.renderer.mosaic(mosaic, self.recipe.references.steps)
        return self.features.run(picture[None]).shape[2:] == (mosaic.rows, mosaic.columns)

    def record(self) -> Record:
        """Its entry in the manifest."""
        return {"count": len(self.mosaics), "recognised": self.recognised, "likeness": self.similarity}

    def compared(self, network: Network) -> tuple[float, float]:
        """The share of views whose own cut from a mosaic is the most similar, and how similar it is.

        Some views against all of some mosaics, whatever their heading. Their common direction is taken out
        first, as whitening will.
        """
        mosaics = [self.mosaics[i] for i in _spread(len(self.mosaics), _COMPARED_MOSAICS)]
        pooled = unit(np.concatenate([self.embed(mosaic) for mosaic in mosaics]))
        rows = np.concatenate([mosaic.members for mosaic in mosaics])
        chosen = _spread(len(rows), _COMPARED)
        pictures = np.stack([self.renderer.picture(int(row)) for row in rows[chosen]])
        alone = unit(network.run(pictures))
        common = pooled.mean(axis=0)
        nearest = (unit(alone - common) @ unit(pooled - common).T).argmax(axis=1)
        return float(np.mean(nearest == chosen)), cosine_similarity(pooled[chosen], alone)


def _spread(count: int, wanted: int) -> NDArray[np.int64]:
    """So many numbers below the count, far from each other; all of them where there are no more."""
    return np.unique(np.linspace(0, count - 1, wanted).astype(np.int64))
