"""Scores as probabilities, without torch, for the machine that only locates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["softmax"]


def softmax(logits: ArrayLike) -> NDArray[np.float64]:
    """Scores along the last axis as probabilities that add up to one."""
    scores = np.asarray(logits, np.float64)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    whole: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return whole
