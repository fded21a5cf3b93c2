"""Weighted coordinate (WCE): references that agree on a position are averaged, outliers are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.one_class_svm import decisions
from nadirfix.types import Candidates, Point

__all__ = ["Fused", "fuse", "inlier_mask", "inverse_distance_weights", "standardised"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_BOUNDARY = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """Where the photo was taken, and the weight of each candidate in it."""

    position: Point
    weights: Floats


def fuse(candidates: Candidates, options: LocateOptions) -> Fused:
    """The weighted mean position of the inliers, or the nearest candidate alone where nothing is weighted."""
    inliers = _only_first(len(candidates))
    if options.weighted:
        positions_m = np.column_stack([candidates.east_m, candidates.north_m])
        inliers = inlier_mask(
            positions_m, outlier_share=options.outlier_share, keep_on_line=options.keep_on_line
        )
    weights = inverse_distance_weights(candidates.distance, inliers, epsilon=options.weight_epsilon)
    first = candidates.point(0)
    # Relative to the first candidate: northings are millions of metres, and their digits are needed.
    east_m = float(weights @ (candidates.east_m - first.east_m))
    north_m = float(weights @ (candidates.north_m - first.north_m))
    return Fused(first.moved(east_m, north_m), weights)


def inlier_mask(positions_m: Floats, *, outlier_share: float, keep_on_line: bool) -> Flags:
    """Which positions (a row each) lie with the others; if none does, only the first, which is the nearest.

    A one-class support vector machine draws the boundary. Equal positions, and a single one, are inliers.
    Some lie exactly on it; the machine is solved to the last digit, so that chance does not decide those.
    """
    if np.all(positions_m == positions_m[0]):
        return np.ones(len(positions_m), np.bool_)
    decision = decisions(standardised(positions_m), outlier_share=outlier_share)
    inliers: Flags = decision >= -_BOUNDARY if keep_on_line else decision > _BOUNDARY
    return inliers if inliers.any() else _only_first(len(positions_m))


def standardised(positions_m: Floats) -> Floats:
    """Each coordinate relative to its mean, in deviations (population form); one without any stays at 0."""
    from_first = positions_m - positions_m[0]
    centred = from_first - from_first.mean(axis=0)
    deviation = centred.std(axis=0)
    return np.asarray(centred / np.where(deviation > 0, deviation, 1.0), np.float64)


def inverse_distance_weights(distance: Floats, inliers: Flags, *, epsilon: float) -> Floats:
    """The weight of each candidate, the nearer the more; outliers have none, all together one."""
    inverse = np.where(inliers, 1.0 / (distance + epsilon), 0.0)
    return np.asarray(inverse / inverse.sum(), np.float64)


def _only_first(count: int) -> Flags:
    return np.asarray(np.arange(count) == 0)
