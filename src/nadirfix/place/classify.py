"""Which cells a photo may lie in: every group votes on its own, the best cells of all groups are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nadirfix.geo.grid import ClassOrder
from nadirfix.nn.probability import softmax, unit
from nadirfix.options import HeadOptions

__all__ = ["CellRanking", "CellVoter", "log_odds"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CellRanking:
    """Cells a photo may lie in, the likeliest first, each with its group and its class there."""

    cells: Ints
    group: Ints
    index: Ints
    probability: Floats

    def __len__(self) -> int:
        return int(self.probability.size)


class CellVoter:
    """Tells from a raw embedding how likely each cell is, within its group."""

    def __init__(self, prototypes: Sequence[ArrayLike], order: ClassOrder, head: HeadOptions) -> None:
        tables = [np.asarray(table, np.float32) for table in prototypes]
        if tuple(len(table) for table in tables) != order.sizes:
            raise ValueError("one prototype per class of every group")
        self.order, self.head = order, head
        self._tables = tables if head.kind == "ce" else [unit(table) for table in tables]

    def probabilities(self, embedding: ArrayLike) -> list[Floats]:
        """One array per group: the probability of each of its cells, adding up to one in every group."""
        return [softmax(score) for score in self._scores(embedding)]

    def _scores(self, embedding: ArrayLike) -> list[Floats]:
        """One array per group: the logit of each of its cells."""
        vector = np.asarray(embedding, np.float32)
        if self.head.kind == "ce":
            return [np.asarray(vector @ table.T, np.float64) for table in self._tables]
        return [np.asarray(self.head.scale * (unit(vector) @ table.T), np.float64) for table in self._tables]

    def top(self, embedding: ArrayLike, count: int) -> CellRanking:
        """The likeliest cells over all groups; of equals, the one that comes first in the class order.

        Sorted by their odds: with sharp scores the best of every group has a probability that is one to
        the last digit, and the odds still tell which of them is surer.
        """
        scores = self._scores(embedding)
        shares = [softmax(score) for score in scores]
        best = np.argsort(-np.concatenate([log_odds(score) for score in scores]), kind="stable")[:count]
        every = np.concatenate(shares)
        group = np.repeat(np.arange(len(shares)), self.order.sizes)[best]
        index = np.concatenate([np.arange(size) for size in self.order.sizes])[best]
        return CellRanking(np.concatenate(self.order.cells)[best], group, index, every[best])


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
