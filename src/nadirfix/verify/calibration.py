"""How far to trust what the map confirmed: a chance of being right, and a radius in metres.

``bench/calibrate.py`` measures what the constants should be, on places where the truth is known and nothing
is evaluated; docs/verification.md says how far that has gone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.verify import TrustOptions, VerifyOptions
from nadirfix.verify.registration import Sighting

__all__ = [
    "aircraft_covariance_m2",
    "bare_m",
    "centre_covariance_m2",
    "confidence_of",
    "radii95_m",
    "radius95_m",
    "support_of",
]

Floats = NDArray[np.float64]

#: 95 % of a normal distribution lie below this many deviations above its mean.
_Z95 = 1.6449


def support_of(sighting: Sighting, options: TrustOptions) -> float:
    """How many points agree, and over how many parts of the frame: the geometric mean of both.

    A heap of points in one spot is chance, and so are a few spread thinly all over; ground that is still the
    same has many in each of its parts.
    """
    if sighting.inliers == 0:
        return 0.0
    return math.sqrt(_parts(sighting, options) * sighting.inliers)


def _parts(sighting: Sighting, options: TrustOptions) -> int:
    """In how many parts of the frame points agree."""
    grid = np.array([options.grid_columns, options.grid_rows])
    part = np.clip((sighting.photo_share * grid).astype(int), 0, grid - 1)
    return len(np.unique(part @ [1, options.grid_columns]))


def confidence_of(sighting: Sighting, options: TrustOptions) -> float:
    """How likely the sighting is right, 0 to 1."""
    if sighting.fitted is None:
        return 0.0
    odds = options.confidence_slope * (support_of(sighting, options) - options.confidence_middle)
    return 1 / (1 + math.exp(-min(max(odds, -50.0), 50.0)))


def bare_m(sighting: Sighting, options: VerifyOptions) -> float:
    """The share of the frame in which nothing agrees, times how far off a point may be and still agree.

    Points that are farther off are left out, so residuals alone never say that the ground itself lies
    elsewhere: where two pictures are warped against each other, what is left is the part that fits.
    """
    trust = options.trust
    silent = 1 - _parts(sighting, trust) / (trust.grid_columns * trust.grid_rows)
    return silent * options.inlier_px * sighting.gsd_m


def centre_covariance_m2(sighting: Sighting, options: VerifyOptions) -> Floats:
    """Covariance of the frame centre, east and north: what the points say, and what they cannot know."""
    if sighting.fitted is None:
        raise ValueError("nothing was seen, so there is nothing to be sure of")
    trust = options.trust
    unseen_m2 = (trust.bare * bare_m(sighting, options)) ** 2 + trust.floor_m**2
    return trust.inflate**2 * sighting.fitted.covariance[:2, :2] + unseen_m2 * np.eye(2)


def aircraft_covariance_m2(sighting: Sighting, centre_m2: Floats, options: TrustOptions) -> Floats:
    """Covariance of the place below the camera: the frame centre's, and the lean's over the altitude."""
    if sighting.fitted is None:
        raise ValueError("nothing was seen, so there is nothing to be sure of")
    altitude_m = sighting.view.altitude_m
    move = np.hstack([np.eye(2), np.zeros((2, 2)), -altitude_m * np.eye(2)])
    seen = options.inflate**2 * sighting.fitted.covariance
    extra = move @ seen @ move.T - seen[:2, :2]
    return np.asarray(centre_m2 + extra, np.float64)


def radius95_m(covariance_m2: Floats) -> float:
    """The radius of the circle that holds the truth in 95 of 100 cases, for this covariance."""
    return float(radii95_m(np.asarray(np.linalg.eigvalsh(covariance_m2), np.float64)))


def radii95_m(spread_m2: Floats) -> Floats:
    """The same for many at once, from the variances along both axes of each (the last dimension).

    The squared distance is a sum of two weighted squares; its 95th percentile is taken from the gamma
    distribution with the same mean and variance.
    """
    mean, square = spread_m2.sum(axis=-1), (spread_m2**2).sum(axis=-1)
    bend = 2 * square / (9 * np.maximum(mean, 1e-12) ** 2)  # two ninths of one over the degrees of freedom
    cube = 1 - bend + _Z95 * np.sqrt(bend)
    return np.asarray(np.sqrt(np.maximum(mean, 0.0) * cube**3), np.float64)
