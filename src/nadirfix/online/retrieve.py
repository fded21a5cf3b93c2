"""What the middle of a photo looks like: its embedding, the likeliest cells, and the references most like it.

A network that counts in eight bits or bfloat16 is off by a little. Where two cells, or two references, are as
like the photo as each other, that little would decide which of them counts, and the weighted coordinate would
lie elsewhere on another machine. There the photo is looked at once more, in single precision. Who goes on to
let the whole frame vote or to ask the map need not: they look at more than the last candidate.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.image.crop import Picture
from nadirfix.online.photo import planes
from nadirfix.options.locate import LocateOptions
from nadirfix.timing import Stopwatch
from nadirfix.types import Candidates

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["likeliest", "may_look_twice", "recognise"]

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


def recognise(
    pixels: Picture, *, bundle: Bundle, options: LocateOptions, watch: Stopwatch
) -> tuple[Floats, Candidates]:
    """The raw embedding of a crop at the references' scale, and the references most like it."""
    shown = planes(pixels)[None]
    with watch.stage("embed"):
        embedding = bundle.place_network.run(shown)[0]
    candidates, lead = _searched(embedding, bundle, options, watch)
    if lead < bundle.place_slack and may_look_twice(bundle, options):
        with watch.stage("embed"):
            embedding = bundle.careful_place_network.run(shown)[0]
        candidates, _ = _searched(embedding, bundle, options, watch)
    return embedding, candidates


def may_look_twice(bundle: Bundle, options: LocateOptions) -> bool:
    """Whether the answer is what the candidates say, so that the last of them matters."""
    asks_map = options.verify and bundle.matcher_name is not None
    votes = options.votes is not None or (options.whole_frame and bundle.described)
    return bundle.place_slack > 0 and not (asks_map or votes)


def _searched(
    embedding: Floats, bundle: Bundle, options: LocateOptions, watch: Stopwatch
) -> tuple[Candidates, float]:
    """References most like an embedding, and by how much likeness what was chosen leads what was not."""
    with watch.stage("classify"):
        classes, ahead = likeliest(embedding, bundle, options)
    with watch.stage("retrieve"):
        rows, distance = bundle.index.search(bundle.describe(embedding), classes, options.retrieve + 1)
        kept = _candidates(rows[: options.retrieve], distance[: options.retrieve], bundle)
    decides = options.retrieve if options.weighted else 1
    return kept, min(ahead, _lead(distance, decides))


def likeliest(embedding: Floats, bundle: Bundle, options: LocateOptions) -> tuple[Ints | None, float]:
    """Classes of the likeliest cells, counted through all groups, and how far they lead; None for all."""
    count = _cells(bundle, options)
    if count == 0:
        return None, math.inf
    ranking = bundle.likeliest_cells(embedding, count)
    first = np.cumsum([0, *bundle.order.sizes])
    return np.asarray(first[ranking.group] + ranking.index, np.int64), ranking.lead


def _cells(bundle: Bundle, options: LocateOptions) -> int:
    """How many cells are searched: what was asked for, else three, or all of a map that is not too large
    and that nothing was trained on.
    """
    if options.cells is not None:
        return options.cells
    everywhere = bundle.described and len(bundle.index) <= options.search_all_up_to
    return 0 if everywhere else options.published_cells


def _lead(distance: NDArray[np.float64], count: int) -> float:
    """By how much the cosine of the last of so many exceeds that of the next."""
    if len(distance) <= count:
        return math.inf
    return float(distance[count] ** 2 - distance[count - 1] ** 2) / 2


def _candidates(rows: Ints, distance: NDArray[np.float64], bundle: Bundle) -> Candidates:
    known = bundle.references
    return Candidates(
        reference=rows,
        east_m=known.east_m[rows],
        north_m=known.north_m[rows],
        heading_deg=known.heading_deg[rows],
        distance=distance,
        cell=known.cell[rows],
        epsg=bundle.epsg,
    )
