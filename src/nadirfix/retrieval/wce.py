"""Weighted coordinate: references that agree on a place answer together, those apart are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.one_class_svm import decisions
from nadirfix.types import Candidates, Point

__all__ = ["Fused", "agreeing", "fuse", "shares", "standardised"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_ON_THE_LINE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Where the photo was taken, and how much each candidate had to say in it."""

    position: Point
    weights: Floats


def fuse(candidates: Candidates, options: LocateOptions) -> Fused:
    """The place the candidates speak for: all that agree, or the nearest alone where nothing is weighted."""
    kept = _only_first(len(candidates))
    if options.weighted:
        places_m = np.column_stack([candidates.east_m, candidates.north_m])
        kept = agreeing(places_m, outlier_share=options.outlier_share, keep_on_line=options.keep_on_line)
    weights = shares(candidates.distance, kept, epsilon=options.weight_epsilon)
    first = candidates.point(0)
    # Relative to the first candidate: northings are millions of metres, and their digits are needed.
    east_m = float(weights @ (candidates.east_m - first.east_m))
    north_m = float(weights @ (candidates.north_m - first.north_m))
    return Fused(first.moved(east_m, north_m), weights)


def agreeing(places_m: Floats, *, outlier_share: float, keep_on_line: bool) -> Flags:
    """Which places (a row each) lie with the others; if none does, only the first, which is the nearest.

    A one-class support vector machine draws the line. Equal places, and a single one, agree. Some places lie
    exactly on the line; the machine is solved to the last digit, so that chance does not decide about them.
    """
    if np.all(places_m == places_m[0]):
        return np.ones(len(places_m), np.bool_)
    decision = decisions(standardised(places_m), outlier_share=outlier_share)
    kept: Flags = decision >= -_ON_THE_LINE if keep_on_line else decision > _ON_THE_LINE
    return kept if kept.any() else _only_first(len(places_m))


def standardised(places_m: Floats) -> Floats:
    """Each coordinate relative to its mean, in deviations (population form); one without any stays at 0."""
    from_first = places_m - places_m[0]
    centred = from_first - from_first.mean(axis=0)
    deviation = centred.std(axis=0)
    return np.asarray(centred / np.where(deviation > 0, deviation, 1.0), np.float64)


def shares(distance: Floats, kept: Flags, *, epsilon: float) -> Floats:
    """What each candidate counts, the nearer the more; those left out nothing, all together one."""
    nearness = np.where(kept, 1.0 / (distance + epsilon), 0.0)
    return np.asarray(nearness / nearness.sum(), np.float64)


def _only_first(count: int) -> Flags:
    return np.asarray(np.arange(count) == 0)
