"""Softmax and unit vectors without torch, for the machine that only locates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["channels_first", "softmax", "unit"]


def softmax(logits: ArrayLike) -> NDArray[np.float64]:
    """Scores along the last axis as probabilities that add up to one."""
    scores = np.asarray(logits, np.float64)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    whole: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return whole


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Each row at length one; a row of nothing stays nothing."""
    single = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(single, axis=-1, keepdims=True)
    return np.asarray(single / np.maximum(lengths, np.float32(1e-12)), np.float32)


def channels_first(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """A picture (rows, columns, channels) as networks want it: channels, rows, columns."""
    return np.moveaxis(picture, -1, 0)
