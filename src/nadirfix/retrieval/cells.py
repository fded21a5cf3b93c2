"""Which cells a photo may lie in: every group votes on its own, the best cells of all groups are kept.

Decided in ADR 30.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nadirfix.arrays import softmax, unit
from nadirfix.geo.grid import ClassOrder
from nadirfix.options.recipe import HeadOptions
from nadirfix.retrieval.cell_index import CellIndex

__all__ = ["CellClassifier", "CellRanking", "log_odds"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class CellRanking:
    """Cells a photo may lie in, the likeliest first, each with its group and its class there."""

    cells: Ints
    group: Ints
    index: Ints
    probability: Floats
    lead: float = math.inf  # in cosine similarity, of the last of them over the first left out

    def __len__(self) -> int:
        return int(self.probability.size)


class CellClassifier:
    """Classifies a raw embedding: how likely each cell is, within its group.

    With an index only the likeliest cells of each group are scored, and prototypes stay on disk.
    """

    def __init__(
        self,
        prototypes: Sequence[ArrayLike],
        order: ClassOrder,
        head: HeadOptions,
        *,
        index: CellIndex | None = None,
    ) -> None:
        if tuple(np.shape(table)[0] for table in prototypes) != order.sizes:
            raise ValueError("one prototype per class of every group")
        self.order, self.head = order, head
        self._prototypes = [np.asarray(table) for table in prototypes]  # what is on disk stays there
        self._index = None if head.kind == "ce" else index
        if self._index is None:
            _ = self._tables

    @cached_property
    def _tables(self) -> list[Singles]:
        tables = [np.asarray(table, np.float32) for table in self._prototypes]
        return tables if self.head.kind == "ce" else [unit(table) for table in tables]

    def probabilities(self, embedding: ArrayLike) -> list[Floats]:
        """One array per group: the probability of each of its cells, adding up to one in every group."""
        return [softmax(score) for score in self._scores(embedding)]

    def _scores(self, embedding: ArrayLike) -> list[Floats]:
        """One array per group: the logit of each of its cells."""
        vector = np.asarray(embedding, np.float32)
        if self.head.kind == "ce":
            return [np.asarray(vector @ table.T, np.float64) for table in self._tables]
        unit_vector = unit(vector)
        return [np.asarray(self.head.scale * (unit_vector @ table.T), np.float64) for table in self._tables]

    def _shortlist(self, embedding: ArrayLike, count: int) -> list[tuple[Ints, Floats]]:
        """For each group, the classes that come into question and their logits."""
        if self._index is None:
            return [(np.arange(score.size), score) for score in self._scores(embedding)]
        unit_vector = unit(np.asarray(embedding, np.float32))
        shortlist = self._index.nearest(unit_vector, count)
        rows = [table[classes] for table, classes in zip(self._prototypes, shortlist, strict=True)]
        logits = self.head.scale * (unit(np.concatenate(rows).astype(np.float32)) @ unit_vector)
        borders = np.cumsum([classes.size for classes in shortlist])[:-1]
        return list(zip(shortlist, np.split(logits.astype(np.float64), borders), strict=True))

    def top(self, embedding: ArrayLike, count: int) -> CellRanking:
        """The likeliest cells over all groups; of equals, the one that comes first in the class order.

        Sorted by their odds: with sharp scores the best of every group has a probability that is one to
        the last digit, and the odds still tell which of them is surer.
        """
        shortlists = self._shortlist(embedding, count)
        odds = np.concatenate([log_odds(score) for _, score in shortlists])
        ranked = np.argsort(-odds, kind="stable")
        best = ranked[:count]
        group = np.repeat(np.arange(len(shortlists)), [score.size for _, score in shortlists])[best]
        index = np.concatenate([classes for classes, _ in shortlists])[best]
        probabilities_of_all = np.concatenate([softmax(score) for _, score in shortlists])
        cells = np.array([self.order.cell_at(int(g), int(i)) for g, i in zip(group, index, strict=True)])
        lead = self._lead(odds[ranked[: count + 1]], count)
        return CellRanking(cells.reshape(-1, 2), group, index, probabilities_of_all[best], lead)

    def _lead(self, odds: Floats, count: int) -> float:
        """What divides the last of so many from the next; logits of no cosines cannot tell."""
        if len(odds) <= count or self.head.kind == "ce":
            return math.inf
        return float(odds[count - 1] - odds[count]) / self.head.scale


def log_odds(logits: Floats) -> Floats:
    """Logarithm of p / (1 − p) for the softmax of each logit, exact also where p is one to the last digit."""
    if logits.size == 1:
        return np.full(1, np.inf)
    best = int(np.argmax(logits))
    shares = softmax(logits)
    with np.errstate(divide="ignore"):
        odds = np.log(shares) - np.log1p(-shares)
    odds[best] = logits[best] - np.logaddexp.reduce(np.delete(logits, best))
    return np.asarray(odds, np.float64)
