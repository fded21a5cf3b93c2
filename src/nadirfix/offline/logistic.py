"""Multinomial logistic regression, fitted to the last digits: the same rows give the same directions.

The loss is convex and has one minimum, which L-BFGS comes near in a few dozen steps; it is followed until the
gradient is all but nothing, so that the answer does not depend on where it was stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["logistic_regression"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: A function's value and its gradient.
Loss = Callable[[Floats], tuple[float, Floats]]

#: Steps whose changes shape the next one; the gradient at which it is done, per view; steps at most.
_MEMORY, _DONE, _STEPS = 12, 1e-9, 3000
#: A step must lower the loss by this share of what its slope promises, or it is halved.
_DESCENT = 1e-4


def logistic_regression(vectors: Floats, labels: Ints, classes: int, *, penalty: float) -> Floats:
    """A row for each class, its direction and then its intercept; each class must have a vector.

    The least sum of the negative logarithms of the labels' probabilities and half the ``penalty`` times the
    squared directions. Intercepts cost nothing; they are centred, for adding to all of them changes nothing.
    """
    ones = np.column_stack([vectors, np.ones(len(vectors))])
    wanted = np.eye(classes)[labels]

    def loss(weights: Floats) -> tuple[float, Floats]:
        rows = weights.reshape(classes, -1)
        logits = ones @ rows.T
        logits -= logits.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(logits).sum(axis=1))
        cost = float(log_sum.sum() - (logits * wanted).sum() + penalty / 2 * (rows[:, :-1] ** 2).sum())
        gradient = (np.exp(logits - log_sum[:, None]) - wanted).T @ ones
        gradient[:, :-1] += penalty * rows[:, :-1]
        return cost, gradient.ravel()

    rows = _minimum(loss, np.zeros(classes * ones.shape[1]), done=_DONE * len(vectors)).reshape(classes, -1)
    rows[:, -1] -= rows[:, -1].mean()
    return rows


def _minimum(loss: Loss, weights: Floats, *, done: float) -> Floats:
    """Where a convex function is least: limited-memory BFGS, each step halved until it descends."""
    changes: deque[tuple[Floats, Floats]] = deque(maxlen=_MEMORY)
    cost, gradient = loss(weights)
    for _ in range(_STEPS):
        if np.abs(gradient).max() <= done:
            break
        step = -_preconditioned(gradient, changes)
        slope, length = float(step @ gradient), 1.0 if changes else 1.0 / max(1.0, float(np.abs(step).sum()))
        new_cost, new_gradient = loss(weights + length * step)
        while new_cost > cost + _DESCENT * length * slope:
            length /= 2
            if length < 1e-12:  # the loss has no more digits to lose
                return weights
            new_cost, new_gradient = loss(weights + length * step)
        if (length * step) @ (new_gradient - gradient) > 0:
            changes.append((length * step, new_gradient - gradient))
        weights, cost, gradient = weights + length * step, new_cost, new_gradient
    return weights


def _preconditioned(gradient: Floats, changes: deque[tuple[Floats, Floats]]) -> Floats:
    """The gradient times what the last steps say of the inverse of the second derivatives."""
    direction, shares = gradient.copy(), []
    for moved, turned in reversed(changes):
        share = (moved @ direction) / (moved @ turned)
        shares.append(share)
        direction -= share * turned
    if changes:
        moved, turned = changes[-1]
        direction *= (moved @ turned) / (turned @ turned)
    for (moved, turned), share in zip(changes, reversed(shares), strict=True):
        direction += moved * (share - (turned @ direction) / (moved @ turned))
    return direction
