"""How far to trust a match: a chance of being right, and a radius in metres.

``bench/accuracy/calibrate.py`` measures what the constants should be, on places where the truth is known and
nothing is evaluated; docs/verification.md says how far that has gone (ADRs 14, 28 and 35).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.verify import CalibrationOptions, VerifyOptions
from nadirfix.verify.registration import MatchResult

__all__ = [
    "aircraft_covariance_m2",
    "centre_covariance_m2",
    "confidence_of",
    "inlier_score",
    "radii95_m",
    "radius95_m",
    "uncovered_m",
]

Floats = NDArray[np.float64]

#: 95 % of a normal distribution lie below this many deviations above its mean.
_Z95 = 1.6449


def inlier_score(result: MatchResult, options: CalibrationOptions) -> float:
    """How many inliers there are, and over how much of the frame: the geometric mean of both.

    A heap of inliers in one spot is chance, and so are a few spread thinly all over; ground that is still the
    same has many in each cell of the frame.
    """
    if result.inliers == 0:
        return 0.0
    return math.sqrt(_covered_cells(result, options) * result.inliers)


def _covered_cells(result: MatchResult, options: CalibrationOptions) -> int:
    """In how many cells of the frame there are inliers."""
    grid = np.array([options.grid_columns, options.grid_rows])
    cell = np.clip((result.photo_share * grid).astype(int), 0, grid - 1)
    return len(np.unique(cell @ [1, options.grid_columns]))


def confidence_of(result: MatchResult, options: CalibrationOptions) -> float:
    """How likely the match is right, 0 to 1."""
    if result.fitted is None:
        return 0.0
    odds = options.confidence_slope * (inlier_score(result, options) - options.confidence_middle)
    return 1 / (1 + math.exp(-min(max(odds, -50.0), 50.0)))


def uncovered_m(result: MatchResult, options: VerifyOptions) -> float:
    """The share of the frame without inliers, times how far off a match may be and still be one.

    Matches that are farther off are left out, so residuals alone never say that the ground itself lies
    elsewhere: where two images are warped against each other, what is left is the part that fits.
    """
    grid = options.calibration
    uncovered = 1 - _covered_cells(result, grid) / (grid.grid_columns * grid.grid_rows)
    return uncovered * options.match.inlier_px * result.gsd_m


def centre_covariance_m2(result: MatchResult, options: VerifyOptions) -> Floats:
    """Covariance of the frame centre, east and north: what the inliers say, and what they cannot know.

    That is the larger of two: ground that is warped under the part of the frame without inliers, and images of
    two dates that lie apart as a whole.
    """
    if result.fitted is None:
        raise ValueError("nothing was matched, so there is nothing to be sure of")
    calibration = options.calibration
    unknown_m = max(calibration.uncovered * uncovered_m(result, options), calibration.floor_m)
    return calibration.inflate**2 * result.fitted.covariance[:2, :2] + unknown_m**2 * np.eye(2)


def aircraft_covariance_m2(result: MatchResult, centre_m2: Floats, options: CalibrationOptions) -> Floats:
    """Covariance of the position below the camera: the frame centre's, and the tilt's over the altitude."""
    if result.fitted is None:
        raise ValueError("nothing was matched, so there is nothing to be sure of")
    altitude_m = result.view.altitude_m
    aircraft_from_view = np.hstack([np.eye(2), np.zeros((2, 2)), -altitude_m * np.eye(2)])
    inflated = options.inflate**2 * result.fitted.covariance
    extra = aircraft_from_view @ inflated @ aircraft_from_view.T - inflated[:2, :2]
    return np.asarray(centre_m2 + extra, np.float64)


def radius95_m(covariance_m2: Floats) -> float:
    """The radius of the circle that holds the truth in 95 of 100 cases, for this covariance."""
    return float(radii95_m(np.asarray(np.linalg.eigvalsh(covariance_m2), np.float64)))


def radii95_m(variances_m2: Floats) -> Floats:
    """The same for many at once, from the variances along both axes of each (the last dimension).

    The squared distance is a sum of two weighted squares; its 95th percentile is taken from the gamma
    distribution with the same mean and variance.
    """
    mean, square = variances_m2.sum(axis=-1), (variances_m2**2).sum(axis=-1)
    bend = 2 * square / (9 * np.maximum(mean, 1e-12) ** 2)  # two ninths of one over the degrees of freedom
    cube = 1 - bend + _Z95 * np.sqrt(bend)
    return np.asarray(np.sqrt(np.maximum(mean, 0.0) * cube**3), np.float64)
