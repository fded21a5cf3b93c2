"""Scores of altitude classes fitted to a map; apart from the fitting, which locating never needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["scores_of"]

Floats = NDArray[np.float32]


def scores_of(vectors: Floats, rows: Floats) -> Floats:
    """The score of every class for each embedding."""
    return np.asarray(vectors @ rows[:, :-1].T + rows[:, -1], np.float32)
