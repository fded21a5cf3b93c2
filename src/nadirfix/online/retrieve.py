"""Place recognition: the embedding of a photo's middle, the likeliest cells, the nearest references.

A network run in int8 is off by a little. Where two cells, or two references, are nearly as
similar to the photo, that little would decide which of them counts, and the weighted coordinate would lie
elsewhere on another machine. There the photo is described once more in float32 (ADR 43). Where the whole
frame votes or the map verifies, more than the last candidate is considered, and that is not needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import channels_first
from nadirfix.image.crop import Picture
from nadirfix.options.locate import LocateOptions
from nadirfix.timing import Stopwatch
from nadirfix.types import Candidates

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle
    from nadirfix.bundle.plan import Plan

__all__ = ["Retrieved", "likeliest_classes", "retrieve"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Retrieved:
    """The raw embedding of a photo's middle, and the references nearest to it."""

    embedding: Floats
    candidates: Candidates
    lead: float  # by how much cosine similarity the last candidate that counts leads what was left out
    within: Ints | None = None  # the only references that were searched; None: all of the likeliest cells


def retrieve(
    pixels: Picture,
    plan: Plan,
    *,
    bundle: Bundle,
    options: LocateOptions,
    watch: Stopwatch,
    within: Ints | None = None,
) -> Retrieved:
    """The references nearest to a crop at the references' scale, within the likeliest cells or these rows."""
    inputs = channels_first(pixels)[None]
    with watch.stage("embed"):
        embedding = bundle.place_network.run(inputs)[0]
    found = _nearest(embedding, plan, bundle, options, watch, within=within)
    if not (plan.ties_matter and found.lead < bundle.similarity_tolerance):
        return found
    with watch.stage("embed"):
        embedding = bundle.float32_place_network.run(inputs)[0]
    return _nearest(embedding, plan, bundle, options, watch, within=within)


def _nearest(
    embedding: Floats,
    plan: Plan,
    bundle: Bundle,
    options: LocateOptions,
    watch: Stopwatch,
    *,
    within: Ints | None,
) -> Retrieved:
    """References nearest to an embedding, and how far they lead those that were left out."""
    with watch.stage("classify"):
        cells = plan.cells if within is None else 0  # what the pilot knows is surer than a classifier
        classes, cell_lead = likeliest_classes(embedding, bundle, cells)
    with watch.stage("retrieve"):
        only = {} if within is None else {"within": within}
        descriptor, count = bundle.describe(embedding), options.retrieve + 1
        rows, distance = bundle.index.search(descriptor, classes, count, **only)
        kept = _candidates(rows[: options.retrieve], distance[: options.retrieve], bundle)
    counted = options.retrieve if options.weighted else 1
    return Retrieved(embedding, kept, min(cell_lead, _lead(distance, counted)), within)


def likeliest_classes(embedding: Floats, bundle: Bundle, cells: int) -> tuple[Ints | None, float]:
    """Classes of the likeliest cells, counted through all groups, and how far they lead; None for all."""
    if cells == 0:
        return None, math.inf
    ranking = bundle.likeliest_cells(embedding, cells)
    first = np.cumsum([0, *bundle.order.sizes])
    return np.asarray(first[ranking.group] + ranking.index, np.int64), ranking.lead


def _lead(distance: NDArray[np.float64], count: int) -> float:
    """By how much the cosine similarity of the last of so many exceeds that of the next."""
    if len(distance) <= count:
        return math.inf
    return float(distance[count] ** 2 - distance[count - 1] ** 2) / 2


def _candidates(rows: Ints, distance: NDArray[np.float64], bundle: Bundle) -> Candidates:
    references = bundle.references
    return Candidates(
        reference=rows,
        east_m=references.east_m[rows],
        north_m=references.north_m[rows],
        heading_deg=references.heading_deg[rows],
        distance=distance,
        cell=references.cell[rows],
        epsg=bundle.epsg,
    )
