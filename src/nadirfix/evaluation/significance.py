"""How sure a figure is, and whether one method is better than another or only luckier with these photos.

Nothing here knows what is measured: arrays in, one number for each photo, all of them in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Interval", "difference_interval", "interval", "mcnemar_p", "median"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The lower and upper end of what 95 of 100 such test sets would give.
Interval = tuple[float, float]

_RESAMPLES, _SEED = 2000, 0
_TAILS = (2.5, 97.5)


def interval(values: ArrayLike, statistic: Callable[[Floats], Floats]) -> Interval:
    """The 95 % interval of a figure over photos, by drawing the photos again with replacement.

    The statistic takes one line of values for each draw and gives one number for each line.
    """
    measured = np.asarray(values, np.float64)
    return _between(statistic(measured[_draws(len(measured))]))


def difference_interval(first: ArrayLike, other: ArrayLike) -> Interval:
    """The 95 % interval of how much higher the other's mean is, both on the same photos in every draw."""
    off = np.asarray(other, np.float64) - np.asarray(first, np.float64)
    return _between(off[_draws(len(off))].mean(axis=1))


def median(lines: Floats) -> Floats:
    """The median of each line; infinite where more than half of it is."""
    ranked = np.sort(lines, axis=1)
    count = ranked.shape[1]
    low, high = ranked[:, (count - 1) // 2], ranked[:, count // 2]
    return np.where(np.isinf(high), high, (low + np.where(np.isinf(high), 0.0, high)) / 2)


def mcnemar_p(first: ArrayLike, other: ArrayLike) -> float:
    """How likely so unequal a split is by chance: the exact two-sided McNemar test of right and wrong.

    Only photos that one method answers rightly and the other does not say anything; without a difference
    each of them would fall either way like a coin.
    """
    one, two = np.asarray(first, np.bool_), np.asarray(other, np.bool_)
    only_one, only_two = int(np.sum(one & ~two)), int(np.sum(two & ~one))
    split, fewer = only_one + only_two, min(only_one, only_two)
    tail = sum(math.comb(split, k) for k in range(fewer + 1))
    return float(min(1.0, 2.0 * tail / 2**split))


@lru_cache(maxsize=4)
def _draws(count: int) -> Ints:
    """Which photos each draw holds: the same for every figure, so that figures can be compared."""
    return np.random.default_rng(_SEED).integers(0, count, (_RESAMPLES, count))


def _between(drawn: Floats) -> Interval:
    """Both ends; a value that was drawn, never one between a number and infinity."""
    low, high = np.percentile(drawn, _TAILS, method="inverted_cdf")
    return float(low), float(high)
