"""How far to trust a match: a chance of being right, and a radius in metres.

``bench/accuracy/calibrate.py`` measures what the constants should be, on places where the truth is known and
nothing is evaluated; docs/verification.md says how far that has gone (ADRs 14, 28, 35 and 57).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.verify import CalibrationOptions, VerifyOptions
from nadirfix.types import View
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

    That is the larger of two: ground that is warped under the part of the frame without inliers, and images
    of two dates that lie apart as a whole.
    """
    if result.fitted is None:
        raise ValueError("nothing was matched, so there is nothing to be sure of")
    spread_m2 = options.calibration.inflate**2 * result.fitted.covariance[:2, :2]
    return spread_m2 + _unknown_m2(result, options) * np.eye(2)


def _unknown_m2(result: MatchResult, options: VerifyOptions) -> float:
    """Variance that residuals do not show: where there are no inliers, and of images as a whole."""
    calibration = options.calibration
    return max(calibration.uncovered * uncovered_m(result, options), calibration.floor_m) ** 2


def aircraft_covariance_m2(result: MatchResult, options: VerifyOptions, *, focal_sigma: float) -> Floats:
    """Covariance of the position below the camera: what the fit says of it, and what it cannot know.

    Unknown beside what is unknown of the frame centre: how far unevenness of the ground passed for a tilt,
    and the focal length, of which altitude and tilt are both wrong by its share.
    """
    if result.fitted is None:
        raise ValueError("nothing was matched, so there is nothing to be sure of")
    view, calibration = result.view, options.calibration
    from_view, fitted = _aircraft_from_view(view), result.fitted
    spread = calibration.inflate**2 * (fitted.covariance - fitted.from_prior) + fitted.from_prior
    uneven_m = calibration.uneven * view.altitude_m * _uneven_tilt(result)
    ahead_m = 2 * focal_sigma * view.altitude_m * math.tan(math.radians(view.tilt_deg))
    toward = np.array(
        [math.sin(math.radians(view.tilt_toward_deg)), math.cos(math.radians(view.tilt_toward_deg))]
    )
    unknown_m2 = _unknown_m2(result, options) + uneven_m**2
    along_m2 = ahead_m**2 * np.outer(toward, toward)
    return np.asarray(from_view @ spread @ from_view.T + along_m2 + unknown_m2 * np.eye(2), np.float64)


def _aircraft_from_view(view: View) -> Floats:
    """Derivatives of the position below the camera by the six parameters of a view."""
    tilt, toward = math.radians(view.tilt_deg), math.radians(view.tilt_toward_deg)
    along, across = (
        np.array([math.sin(toward), math.cos(toward)]),
        np.array([math.cos(toward), -math.sin(toward)]),
    )
    # A tilt that grows carries the frame centre away by one over cos², one that turns by its tangent.
    turned = math.tan(tilt) / tilt if tilt > 0 else 1.0
    by_tilt = np.outer(along, along) / math.cos(tilt) ** 2 + turned * np.outer(across, across)
    columns = [np.eye(2), -math.tan(tilt) * along[:, None], np.zeros((2, 1)), -by_tilt]
    return np.hstack([columns[0], *(view.altitude_m * column for column in columns[1:])])


def _uneven_tilt(result: MatchResult) -> float:
    """How much of a tilt the unevenness is residuals show, in radians: a slope of their size."""
    assert result.fitted is not None
    spread_m = np.sqrt(np.var(result.ground_m, axis=0).sum())
    return float(np.median(result.fitted.residual_m) / max(spread_m, 1e-9))


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
