"""Whitening: what all references of a map have in common is taken out, what tells them apart is evened out.

Fitted on the map's own references when a bundle is built, and done to a photo's descriptor in the same way.
Nothing is trained: the mean and the principal axes are computed, and the same references give the same ones
(ADR 15).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.arrays import unit

__all__ = ["Projection"]

Floats = NDArray[np.float32]
Rows = NDArray[np.float16] | NDArray[np.float32]

#: Rows brought into memory at a time.
_PIECE = 4096
#: Rows the axes are fitted on, at most; more cost minutes and change nothing that matters.
_FITTED = 16_384
#: Axes with less of the variance than this share of the first one's hold rounding, not ground.
_NOISE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """The mean of unit descriptors, and axes that turn what differs from it into numbers of equal weight."""

    mean: Floats  # (numbers,)
    axes: Floats  # (dimensions, numbers), each divided by (a power of) its deviation

    @classmethod
    def fit(cls, units: Rows, dims: int, *, power: float = 1.0) -> Projection:
        """The projection of these descriptors (a row each) on their principal axes, the largest first.

        Each axis is divided by this power of its deviation: 1 evens all out, 0 leaves them as they are. No
        more axes than the rows can tell apart; always the same sign: its largest number is positive.
        """
        sample = units[:: -(-len(units) // _FITTED)]
        mean = _mean(sample)
        variance, axes = _largest(_covariance(sample, mean), min(dims, max(1, len(sample) - 1)))
        significant = variance > _NOISE * variance.max()
        scaled = (axes[:, significant] / np.sqrt(variance[significant]) ** power).T
        return cls(mean.astype(np.float32), _signed(scaled).astype(np.float32))

    @classmethod
    def from_array(cls, stored: Floats) -> Projection:
        """The projection a bundle carries: the mean in the first row, the axes below."""
        return cls(stored[0], stored[1:])

    def to_array(self) -> Floats:
        """The projection as a bundle carries it."""
        return np.concatenate([self.mean[None], self.axes])

    def __call__(self, units: Rows) -> Floats:
        """Unit descriptors (a row each) as whitened ones, again at unit length."""
        return unit((np.asarray(units, np.float32) - self.mean) @ self.axes.T)


def _mean(units: Rows) -> NDArray[np.float64]:
    total = sum((piece.sum(axis=0) for piece in _pieces(units)), np.zeros(units.shape[1]))
    return np.asarray(total / len(units), np.float64)


def _covariance(units: Rows, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean product of each pair of numbers, about the mean (population form)."""
    total = np.zeros((units.shape[1], units.shape[1]))
    for piece in _pieces(units):
        centred = (piece - mean).astype(np.float32)  # sums of one piece; those of all pieces are in double
        total += centred.T @ centred
    return np.asarray(total / len(units), np.float64)


def _largest(covariance: NDArray[np.float64], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest variances and their axes, in falling order."""
    variance, axes = np.linalg.eigh(covariance)
    return variance[::-1][:count], axes[:, ::-1][:, :count]


def _pieces(units: Rows) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(units), _PIECE):
        yield np.asarray(units[start : start + _PIECE], np.float64)


def _signed(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.abs(axes).argmax(axis=1)[:, None]
    return np.asarray(axes * np.sign(np.take_along_axis(axes, largest, axis=1)), np.float64)
