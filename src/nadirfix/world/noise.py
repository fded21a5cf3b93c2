"""Random fields fixed to the ground: the same spot always gets the same value, at any resolution.

One lattice of random numbers, wrapped around and read through cubic B-splines at many spacings, each with
its own offset. Spacings are metres, so another ground sampling distance only adds or drops fine octaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Floats", "Noise", "chance"]

#: Single precision wherever pixels are concerned.
Floats = NDArray[np.floating[Any]]

_SIDE = 1024
_GOLDEN = 0.61803398875
#: A B-spline over white noise has this spread; dividing by it gives values of spread one.
_SPREAD = 0.48
#: Above so many pixels per lattice step, fixed-point warping would show as terraces.
_WARP_LIMIT_PX = 16.0


def chance(salt: int, *keys: ArrayLike) -> NDArray[np.float64]:
    """A number in [0, 1) that depends only on the whole numbers given: a vectorised hash."""
    state = np.uint32((salt * 0x9E3779B1 + 0x85EBCA6B) & 0xFFFFFFFF)
    value = np.asarray(state)
    with np.errstate(over="ignore"):
        for key in keys:
            value = _mixed(
                value ^ (np.asarray(key).astype(np.int64).astype(np.uint32) * np.uint32(0xC2B2AE35))
            )
    return np.asarray(value, np.float64) / 4294967296.0


def _gsd_m(x_m: Floats, y_m: Floats) -> float:
    """Metres from pixel to pixel; a window may be a single column or row, and a lone pixel has any."""
    longer = max(x_m, y_m, key=len)
    return float(longer[1] - longer[0]) if len(longer) > 1 else 1.0


def _mixed(value: NDArray[np.uint32]) -> NDArray[np.uint32]:
    value = (value ^ (value >> np.uint32(16))) * np.uint32(0x7FEB352D)
    value = (value ^ (value >> np.uint32(15))) * np.uint32(0x846CA68B)
    return np.asarray(value ^ (value >> np.uint32(16)))


@dataclass(frozen=True, eq=False)
class Noise:
    """A seeded source of smooth random fields over the ground."""

    lattice: Floats

    @classmethod
    def seeded(cls, seed: int) -> Noise:
        """The noise of one world."""
        rng = np.random.default_rng([seed, 77])
        lattice = rng.uniform(-1.7320508, 1.7320508, (_SIDE, _SIDE))
        return cls(lattice.astype(np.float32))

    def grid(self, x_m: Floats, y_m: Floats, spacing_m: float, salt: int) -> Floats:
        """Noise on a regular grid given by its (ascending, even) pixel-centre coordinates."""
        gx, gy = _placed(x_m, y_m, spacing_m, salt)
        step = _gsd_m(x_m, y_m) / spacing_m
        if step > 1 / _WARP_LIMIT_PX:
            affine = np.array([[step, 0, gx[0] % _SIDE], [0, step, gy[0] % _SIDE]])
            flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
            size = (len(x_m), len(y_m))
            warped = cv2.warpAffine(self.lattice, affine, size, flags=flags, borderMode=cv2.BORDER_WRAP)
            return np.asarray(warped, np.float32)
        return self._smooth(x_m, y_m, spacing_m, salt)

    def _smooth(self, x_m: Floats, y_m: Floats, spacing_m: float, salt: int) -> Floats:
        """Splines are costly, so they are evaluated every few pixels and enlarged by a whole number."""
        gsd_m = _gsd_m(x_m, y_m)
        every = max(int(spacing_m / gsd_m / 4), 1)
        (gx, nx), (gy, ny) = (_thinned(a, every, gsd_m) for a in (x_m, y_m))
        (wx, kx), (wy, ky) = (_spline_matrix(g) for g in _placed(gx, gy, spacing_m, salt))
        coarse = wy @ self.lattice[np.ix_(ky % _SIDE, kx % _SIDE)] @ wx.T / np.float32(_SPREAD)
        fine = cv2.resize(coarse, None, fx=every, fy=every, interpolation=cv2.INTER_CUBIC)
        return np.ascontiguousarray(fine[2 * every : 2 * every + ny, 2 * every : 2 * every + nx], np.float32)

    def fbm(
        self, x_m: Floats, y_m: Floats, *, coarsest_m: float, finest_m: float, salt: int, gain: float = 0.7
    ) -> Floats:
        """Octaves of noise from coarse to fine, each ``gain`` times as strong as the one before."""
        finest_m = max(finest_m, 0.85 * _gsd_m(x_m, y_m))
        spacing_m, weight, k = coarsest_m, 1.0, 0
        total = np.zeros((len(y_m), len(x_m)), np.float32)
        while spacing_m >= finest_m:
            total += np.float32(weight) * self.grid(x_m, y_m, spacing_m, salt + 31 * k)
            spacing_m, weight, k = spacing_m / 2, weight * gain, k + 1
        return total

    def at(self, x_m: ArrayLike, y_m: ArrayLike, spacing_m: float, salt: int) -> NDArray[np.float64]:
        """The same noise at scattered points."""
        gx, gy = _placed(np.asarray(x_m), np.asarray(y_m), spacing_m, salt)
        ix, iy = np.floor(gx).astype(np.int64), np.floor(gy).astype(np.int64)
        wx, wy = _spline_weights(gx - ix), _spline_weights(gy - iy)
        total = np.zeros(np.shape(gx))
        for j in range(4):
            for i in range(4):
                total += wy[j] * wx[i] * self.lattice[(iy + j - 1) % _SIDE, (ix + i - 1) % _SIDE]
        return total / _SPREAD

    def drawn(self, u: Floats, v: Floats, salt: int) -> Floats:
        """Noise read along any coordinates (in lattice steps): streaks that follow the rows of a field."""
        du, dv = _offset(salt)
        u, v = np.mod(u + np.float32(du), _SIDE), np.mod(v + np.float32(dv), _SIDE)
        read = cv2.remap(self.lattice, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)
        return np.asarray(read, np.float32)


def _offset(salt: int) -> tuple[float, float]:
    return (salt * _GOLDEN * 379.0) % _SIDE, (salt * _GOLDEN * 811.0 + 57.0) % _SIDE


def _placed(
    x_m: NDArray[np.floating], y_m: NDArray[np.floating], spacing_m: float, salt: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    dx, dy = _offset(salt)
    return x_m.astype(np.float64) / spacing_m + dx, y_m.astype(np.float64) / spacing_m + dy


def _thinned(a_m: Floats, every: int, gsd_m: float) -> tuple[Floats, int]:
    """Middles of groups of pixels, two groups beyond either end, and how many pixels there were."""
    groups = np.arange(-2, math.ceil(len(a_m) / every) + 2)
    return float(a_m[0]) + (groups * every + 0.5 * (every - 1)) * gsd_m, len(a_m)


def _spline_weights(t: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Uniform cubic B-spline: four weights for a position between its second and third knot."""
    return [(1 - t) ** 3 / 6, (3 * t**3 - 6 * t**2 + 4) / 6, (-3 * t**3 + 3 * t**2 + 3 * t + 1) / 6, t**3 / 6]


def _spline_matrix(g: NDArray[np.float64]) -> tuple[Floats, NDArray[np.int64]]:
    """Weights of every knot for every position, and which knots those are."""
    base = np.floor(g).astype(np.int64)
    first = int(base.min()) - 1
    knots = np.arange(first, int(base.max()) + 3)
    matrix = np.zeros((len(g), len(knots)), np.float32)
    rows = np.arange(len(g))
    for k, weight in enumerate(_spline_weights(g - base)):
        matrix[rows, base - first - 1 + k] = weight
    return matrix, knots
