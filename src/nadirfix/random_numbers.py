"""Random numbers that depend only on a seed and a place in the run, never on what was drawn before.

A view's numbers follow from (seed, stream, index) by a hash, so a run that was stopped, resumed, or split
over several processes uses the same views in the same order.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["hashed", "mix_seed", "uniform"]

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniform(seed: int, stream: str, index: NDArray[np.int64], columns: int) -> NDArray[np.float64]:
    """Numbers in [0, 1): one row for each index, the same whichever other rows are asked for."""
    rows = hashed(np.asarray(index).astype(np.uint64) + hashed(_start(seed, stream)))
    words = hashed(rows[:, None] + np.arange(1, columns + 1, dtype=np.uint64) * _GOLDEN)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mix_seed(seed: int, stream: str, index: int) -> int:
    """One seed for torch's own generator at this place in the run."""
    row = hashed(np.array([index], dtype=np.uint64) + hashed(_start(seed, stream)))
    return int(row[0] >> np.uint64(1))


def hashed(words: Words) -> Words:
    """Each word scrambled so that neighbours have nothing in common (the finaliser of SplitMix64)."""
    z = words + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def _start(seed: int, stream: str) -> Words:
    """Where a stream begins; as an array, because only arrays wrap around quietly."""
    return np.array([(seed % 2**32) << 32 | zlib.crc32(stream.encode())], dtype=np.uint64)
