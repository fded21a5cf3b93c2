"""A one-class support vector machine for a handful of points: which of them lie with the others (ADR 10).

Minimise ½ aᵀKa with 0 ≤ a ≤ 1 and Σa = νn; the decision about a point is its row of Ka less the level ρ that
points between the bounds share. Two weights at a time are moved until no pair gains (Platt's sequential
minimal optimisation). With ten points that takes less than a millisecond, where the library of the tests,
which solves the same for a million, takes a second to be loaded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["decisions"]

Floats = NDArray[np.float64]

#: Levels that differ by less are equal; pairs of points nearer than this in the kernel are one point.
_CONVERGED, _SAME_POINT = 1e-11, 1e-12
#: No set of a few points needs as many steps; it ends all the same.
_MAX_STEPS = 100_000


def decisions(points: Floats, *, outlier_share: float) -> Floats:
    """For each point (a row) how far it lies inside the boundary around most of them; on it 0."""
    kernel = _kernel(points)
    alphas = _solved(kernel, outlier_share * len(points))
    levels = kernel @ alphas
    return np.asarray(levels - _boundary(alphas, levels), np.float64)


def _kernel(points: Floats) -> Floats:
    """Radial, its width by the variance of all coordinates together."""
    squared_distance = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-squared_distance / (points.shape[1] * points.var())), np.float64)


def _solved(kernel: Floats, total: float) -> Floats:
    """Weights between 0 and 1 that sum to ``total`` and lie at the lowest place there is."""
    # Lists: for ten numbers they are ten times faster than arrays.
    rows = kernel.tolist()
    alphas = np.clip(total - np.arange(len(rows)), 0.0, 1.0).tolist()
    levels = (kernel @ alphas).tolist()
    for _ in range(_MAX_STEPS):
        _, up = min((level, i) for i, level in enumerate(levels) if alphas[i] < 1)
        _, down = max((level, i) for i, level in enumerate(levels) if alphas[i] > 0)
        if levels[down] - levels[up] <= _CONVERGED:
            break
        curvature = max(rows[up][up] + rows[down][down] - 2 * rows[up][down], _SAME_POINT)
        step = min((levels[down] - levels[up]) / curvature, 1 - alphas[up], alphas[down])
        alphas[up], alphas[down] = _at_bound(alphas[up] + step), _at_bound(alphas[down] - step)
        levels = [level + step * (a - b) for level, a, b in zip(levels, rows[up], rows[down], strict=True)]
    return np.array(alphas)


def _at_bound(alpha: float) -> float:
    """Rounding must not leave a weight just beside its bound: it would count as a support vector."""
    return float(round(alpha)) if abs(alpha - round(alpha)) < _SAME_POINT else alpha


def _boundary(alphas: Floats, levels: Floats) -> float:
    """The level of the weights between the bounds; where there are none, half-way between both sides."""
    free = (alphas > 0) & (alphas < 1)
    if free.any():
        return float(levels[free].mean())
    return float(levels[alphas == 1].max() + levels[alphas == 0].min()) / 2
