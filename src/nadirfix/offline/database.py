"""The reference database of a bundle: what every view looks like, whitened, and what speaks for each cell."""

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
from nadirfix.files import Progress
from nadirfix.offline.describe import (
    Lookout,
    describe_by_sheets,
    describe_references,
    mean_directions,
    save_array,
    whiten_references,
)
from nadirfix.offline.int8 import quickest_form
from nadirfix.offline.mosaic import Sheet, cut, plan_sheets, sheets_fit, write_features
from nadirfix.offline.workdir import Work
from nadirfix.options.recipe import Recipe, ReferenceOptions
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network, load_network
from nadirfix.runtime.benchmark import likeness

__all__ = ["Database"]

About = dict[str, Any]

#: Views cut from a sheet differ from views looked at alone by their edges only. A network that evens out its
#: features over all it sees says something else of a sheet: then fewer views than this know themselves again.
_RECOGNISED = 0.8
_COMPARED, _COMPARED_SHEETS = 24, 4
_NOTE = "described.json"


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """Describes the references of a bundle that is being built."""

    work: Work
    lookout: Lookout
    recipe: Recipe
    progress: Progress
    origin_m: tuple[float, float]

    def make(self) -> About:
        """Write descriptors, projection and prototypes; how references were described."""
        work, target = self.work, self.work.part(parts.DESCRIPTORS)
        white = self.recipe.references.whiten_dims > 0
        units = work.folder / "units.npy" if white else target
        about = work.note(_NOTE) or work.write_note(_NOTE, self._describe(units))
        if white and not target.exists():
            self._whiten(units, target, self.recipe.references)
        if not work.part(parts.PROTOTYPES).exists():  # a trained head brought its own
            descriptors = np.load(target, mmap_mode="r", allow_pickle=False)
            save_array(work.part(parts.PROTOTYPES), mean_directions(descriptors, self.lookout.references))
        return about

    def _describe(self, units: Path) -> About:
        """A unit vector for every reference, by the quickest form of the network that says the same."""
        form, looker = quickest_form(self.work, parts.PLACE), None
        told: dict[str, Any] = {"folder": self.work.folder / "descriptors", "progress": self.progress}
        if sheets_fit(self.recipe.place_network, self.recipe.references.steps) and find_spec("onnx"):
            looker = self._looker(form.path)
        if units.exists():
            pass  # stopped just after it was written
        elif looker is not None:
            describe_by_sheets(self.lookout, looker.look, looker.sheets, units, **told)
        else:
            describe_references(self.lookout, load_network(form.path), units, **told)
        return {"precision": form.precision, "sheets": looker and looker.about()}

    def _looker(self, path: Path) -> _Looker | None:
        """What describes whole sheets; None where the network's views cannot be cut from them."""
        known, steps = self.lookout, self.recipe.references.steps
        sheets = plan_sheets(known.references, known.canonical, steps, origin_m=self.origin_m)
        features = self.work.folder / "features.onnx"
        if not write_features(path, features):
            return None
        looker = _Looker(known, load_network(features, threads=1), sheets, self.recipe)
        if not looker.fits():
            return None
        recognised, alike = looker.compared(load_network(path))
        if recognised < _RECOGNISED:
            return None
        return dataclasses.replace(looker, recognised=round(recognised, 3), likeness=round(alike, 4))

    def _whiten(self, units: Path, target: Path, options: ReferenceOptions) -> None:
        self.progress("whitening references", 0, 2)
        rows = np.load(units, mmap_mode="r", allow_pickle=False)
        projection = Projection.fit(rows, options.whiten_dims, power=options.whiten_power)
        save_array(self.work.part(parts.PROJECTION), projection.to_array())
        self.progress("whitening references", 1, 2)
        whiten_references(units, target, projection)
        self.progress("whitening references", 2, 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Looker:
    """Looks at a sheet once, and tells what each view on it looks like."""

    lookout: Lookout
    features: Network
    sheets: list[Sheet]
    recipe: Recipe
    recognised: float = 0.0
    likeness: float = 0.0

    def look(self, sheet: Sheet) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The raw embeddings of the sheet's views."""
        steps = self.recipe.references.steps
        picture = self.lookout.sheet(sheet, steps)
        return cut(self.features, picture, sheet, steps, self.recipe.place_network)

    def fits(self) -> bool:
        """Whether the network has one feature to a step, as the recipe takes it to have."""
        sheet = self.sheets[0]
        picture = self.lookout.sheet(sheet, self.recipe.references.steps)
        return self.features.run(picture[None]).shape[2:] == (sheet.rows, sheet.columns)

    def about(self) -> About:
        """What the manifest says of it."""
        return {"count": len(self.sheets), "recognised": self.recognised, "likeness": self.likeness}

    def compared(self, network: Network) -> tuple[float, float]:
        """The share of views that, looked at alone, are most like themselves cut from a sheet; how alike.

        Some views against all of some sheets, whatever their heading. What these have in common is taken out
        first, as whitening will.
        """
        sheets = [self.sheets[i] for i in _spread(len(self.sheets), _COMPARED_SHEETS)]
        cut_out = unit(np.concatenate([self.look(sheet) for sheet in sheets]))
        rows = np.concatenate([sheet.members for sheet in sheets])
        some = _spread(len(rows), _COMPARED)
        seen = unit(network.run(np.stack([self.lookout.picture(int(row)) for row in rows[some]])))
        common = cut_out.mean(axis=0)
        nearest = (unit(seen - common) @ unit(cut_out - common).T).argmax(axis=1)
        return float(np.mean(nearest == some)), likeness(cut_out[some], seen)


def _spread(count: int, wanted: int) -> NDArray[np.int64]:
    """So many numbers below the count, far from each other; all of them where there are no more."""
    return np.unique(np.linspace(0, count - 1, wanted).astype(np.int64))
