"""Altitude cut into classes: their edges, their middles, and which class an altitude belongs to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nadirfix.arrays import softmax
from nadirfix.errors import InputError
from nadirfix.options.recipe import BinOptions, ReferenceOptions
from nadirfix.types import AltitudeEstimate

__all__ = ["AltitudeBins", "canonical_altitude_m"]

Floats = NDArray[np.float64]


#: More altitude classes than any network tells apart.
_MOST_CLASSES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class AltitudeBins:
    """Altitude classes between two altitudes; class i reaches from edge i up to, not including, edge i + 1.

    The last variable class may reach beyond ``max_m``: its middle counts that part, membership does not.
    """

    edges_m: Floats
    max_m: float

    @classmethod
    def from_options(cls, options: BinOptions) -> AltitudeBins:
        """The classes these options describe; options that describe none are an error."""
        if not 0 < options.min_m < options.max_m < math.inf:
            raise _bad_bins("the altitude range is empty", f"{options.min_m} to {options.max_m} m")
        edges = _fixed_edges(options) if options.kind == "fixed" else _variable_edges(options)
        return cls(edges, options.max_m)

    def __len__(self) -> int:
        return self.edges_m.size - 1

    @property
    def min_m(self) -> float:
        """The lowest altitude that has a class."""
        return float(self.edges_m[0])

    @property
    def centers_m(self) -> Floats:
        """The altitude each class stands for: its middle."""
        middles: Floats = (self.edges_m[:-1] + self.edges_m[1:]) / 2
        return middles

    def index_of(self, altitude_m: float) -> int:
        """The class this altitude belongs to; one outside the range has none and is an error."""
        return int(self.indices_of([altitude_m])[0])

    def indices_of(self, altitudes_m: ArrayLike) -> NDArray[np.int64]:
        """The class of each altitude; looked up in the edges, so that edges and classes always agree.

        The closed form (a quotient, a logarithm) rounds and disagrees with its own edges at some of them.
        """
        altitudes = np.asarray(altitudes_m, np.float64)
        inside = (altitudes >= self.min_m) & (altitudes < self.max_m)
        if not inside.all():
            raise self._outside(float(altitudes[~inside].flat[0]))
        return np.searchsorted(self.edges_m, altitudes, side="right").astype(np.int64) - 1

    def estimate(self, logits: ArrayLike) -> AltitudeEstimate:
        """The altitude the network's scores speak for: the middle of the best class, the lower one of equals.

        Best at the lowest or highest class means that the photo may come from beyond it: ``at_edge`` says so.
        """
        probabilities = softmax(logits)
        best = int(np.argmax(np.asarray(logits)))
        at_edge = best in (0, len(self) - 1)
        return AltitudeEstimate(float(self.centers_m[best]), probabilities, self.centers_m, at_edge)

    def _outside(self, altitude_m: float) -> InputError:
        return InputError(
            "altitude.invalid",
            "this altitude has no class",
            seen=f"{altitude_m!r} m; the classes reach from {self.min_m:g} m to just below {self.max_m:g} m",
            do="leave such views out of training, or widen min_m and max_m in the recipe's bins",
        )


def canonical_altitude_m(references: ReferenceOptions, bins: AltitudeBins) -> float:
    """The altitude references are rendered at: never above the lowest altitude the network can name.

    Otherwise a photo from the lowest class would need ground outside its frame.
    """
    return min(references.canonical_altitude_m, float(bins.centers_m[0]))


def _fixed_edges(options: BinOptions) -> Floats:
    span = options.max_m - options.min_m
    fits = 0 < options.width_m <= span and span / options.width_m <= _MOST_CLASSES
    if not fits or not _is_whole(span / options.width_m):
        raise _bad_bins(
            "the width of the altitude classes does not divide the altitude range",
            f"width {options.width_m:g} m, range {span:g} m ({options.min_m:g} to {options.max_m:g} m)",
        )
    return np.linspace(options.min_m, options.max_m, round(span / options.width_m) + 1)


def _variable_edges(options: BinOptions) -> Floats:
    ratio, first = options.ratio, options.first_width_m
    if not (1 < ratio < math.inf and 0 < first < math.inf):
        raise _bad_bins(
            "variable altitude classes need a first width above 0 m and a ratio above 1",
            f"first width {first:g} m, ratio {ratio:g}",
        )
    edges = [options.min_m]
    while edges[-1] < options.max_m:
        edges.append(options.min_m + first * (ratio ** len(edges) - 1) / (ratio - 1))
        if len(edges) > _MOST_CLASSES:
            raise _bad_bins(f"there would be more than {_MOST_CLASSES} altitude classes", f"{options}")
    return np.array(edges)


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-9


def _bad_bins(what: str, seen: str) -> InputError:
    return InputError(
        "options.invalid", what, seen=seen, do="change the recipe's bins; 50 m from 100 to 700 m is usual"
    )
