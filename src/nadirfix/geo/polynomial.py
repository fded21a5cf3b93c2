"""Where a map's pixels lie: a polynomial from metres to columns and rows (ADR 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Polynomial"]

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
Affine = tuple[float, float, float, float, float, float]

#: A fit is good enough when no pixel is off by more than this.
_TOLERANCE_PX = 0.01
_MAX_DEGREE = 6


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """Columns and rows as polynomials of east and north, over the ground a map covers."""

    origin_m: tuple[float, float]
    span_m: float
    degree: int
    coefficients: Floats  # (terms, 2): column and row
    size_px: tuple[int, int]

    def __call__(self, east_m: Floats, north_m: Floats) -> tuple[Floats, Floats]:
        """Column and row of places, pixel corners at whole numbers."""
        x = (np.asarray(east_m, float) - self.origin_m[0]) / self.span_m
        y = (np.asarray(north_m, float) - self.origin_m[1]) / self.span_m
        both = np.tensordot(_terms(x, y, self.degree), self.coefficients, axes=(0, 0))
        return both[..., 0], both[..., 1]

    @classmethod
    def from_affine(cls, affine: Affine, size_px: tuple[int, int]) -> Polynomial:
        """The inverse of an affine that gives east and north of columns and rows."""
        a, b, c, d, e, f = affine
        corner = np.array([[0, size_px[0], 0, size_px[0]], [0, 0, size_px[1], size_px[1]]], float)
        east, north = a * corner[0] + b * corner[1] + c, d * corner[0] + e * corner[1] + f
        return cls.fit((east, north), (corner[0], corner[1]), degree=1, size_px=size_px)

    @classmethod
    def fit(cls, ground_m: Pair, pixel: Pair, *, degree: int, size_px: tuple[int, int]) -> Polynomial:
        """The polynomial of this degree nearest to pairs of places and pixels."""
        east, north = ground_m
        origin = float(east.mean()), float(north.mean())
        span = float(max(np.ptp(east), np.ptp(north))) / 2
        terms = _terms((east - origin[0]) / span, (north - origin[1]) / span, degree)
        target = np.column_stack([pixel[0].ravel(), pixel[1].ravel()])
        coefficients = np.linalg.lstsq(terms.reshape(len(terms), -1).T, target, rcond=None)[0]
        return cls(origin, span, degree, np.asarray(coefficients, np.float64), size_px)

    @classmethod
    def best(cls, ground_m: Pair, pixel: Pair, *, size_px: tuple[int, int]) -> Polynomial:
        """The polynomial of lowest degree that agrees with the pairs to a hundredth of a pixel."""
        for degree in range(1, _MAX_DEGREE + 1):
            polynomial = cls.fit(ground_m, pixel, degree=degree, size_px=size_px)
            col, row = polynomial(*ground_m)
            if np.hypot(col - pixel[0], row - pixel[1]).max() < _TOLERANCE_PX:
                break
        return polynomial

    def scale(self) -> float:
        """Pixels per metre in the middle of the map."""
        return float(np.sqrt(abs(np.linalg.det(self._jacobian()))))

    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of the ground the pixels cover."""
        width, height = self.size_px
        steps = np.linspace(0, 1, 9)
        col = np.concatenate([steps, steps * 0 + 1, steps, steps * 0]) * width
        row = np.concatenate([steps * 0, steps, steps * 0 + 1, steps]) * height
        east, north = self.inverse(col, row)
        return float(east.min()), float(north.min()), float(east.max()), float(north.max())

    def inverse(self, col: Floats, row: Floats) -> tuple[Floats, Floats]:
        """East and north of pixels, by Newton's steps with the Jacobian in the middle of the map."""
        east, north = np.full_like(col, self.origin_m[0]), np.full_like(row, self.origin_m[1])
        jacobian = self._jacobian()
        for _ in range(20):
            now = self(east, north)
            step = np.linalg.solve(jacobian, np.vstack([(col - now[0]).ravel(), (row - now[1]).ravel()]))
            east, north = east + step[0].reshape(col.shape), north + step[1].reshape(col.shape)
        return east, north

    def _jacobian(self) -> Floats:
        """How columns and rows change per metre east and north, in the middle of the map."""
        east = self.origin_m[0] + np.array([0.0, 1.0, 0.0])
        north = self.origin_m[1] + np.array([0.0, 0.0, 1.0])
        both = np.array(self(east, north))
        return both[:, 1:] - both[:, :1]

    def to_dict(self) -> dict[str, Any]:
        """The polynomial as plain numbers."""
        return {
            "origin_m": list(self.origin_m),
            "span_m": self.span_m,
            "degree": self.degree,
            "coefficients": self.coefficients.tolist(),
            "size_px": list(self.size_px),
        }

    @classmethod
    def from_dict(cls, table: dict[str, Any]) -> Polynomial:
        """The polynomial from plain numbers."""
        origin, size = table["origin_m"], table["size_px"]
        return cls(
            (float(origin[0]), float(origin[1])),
            float(table["span_m"]),
            int(table["degree"]),
            np.array(table["coefficients"], float),
            (int(size[0]), int(size[1])),
        )


def _terms(x: Floats, y: Floats, degree: int) -> Floats:
    """All products of powers up to a degree, constant first, then x, y, xx, xy, yy and so on."""
    return np.stack([x ** (n - k) * y**k for n in range(degree + 1) for k in range(n + 1)])
