"""What verification found, in metres: each place with its confidence, its radius and its aircraft."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Aircraft, View
from nadirfix.verify.calibration import (
    aircraft_covariance_m2,
    centre_covariance_m2,
    confidence_of,
    radius95_m,
)
from nadirfix.verify.pose import aircraft_of
from nadirfix.verify.registration import MatchResult
from nadirfix.verify.search import VerificationResult

__all__ = ["VerifiedPlace", "verified_places"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VerifiedPlace:
    """A view fitted to the photo's inliers, and how far it is to be trusted."""

    view: View
    inliers: int
    confidence: float
    covariance_m2: NDArray[np.float64]
    radius95_m: float
    aircraft: Aircraft


def verified_places(
    result: VerificationResult, options: VerifyOptions, *, focal_sigma: float = 0.0
) -> list[VerifiedPlace]:
    """The best match of each place that the map shows anything of the photo at, best first.

    ``focal_sigma`` is the relative deviation of the camera's focal length, which the aircraft's place
    follows.
    """
    return [_place_of(match, options, focal_sigma) for match in result.distinct]


def _place_of(match: MatchResult, options: VerifyOptions, focal_sigma: float) -> VerifiedPlace:
    covariance_m2 = centre_covariance_m2(match, options)
    return VerifiedPlace(
        view=match.view,
        inliers=match.inliers,
        confidence=confidence_of(match, options.calibration),
        covariance_m2=covariance_m2,
        radius95_m=radius95_m(covariance_m2),
        aircraft=_aircraft(match, options, focal_sigma),
    )


def _aircraft(match: MatchResult, options: VerifyOptions, focal_sigma: float) -> Aircraft:
    covariance_m2 = aircraft_covariance_m2(match, options, focal_sigma=focal_sigma)
    return Aircraft(
        position=aircraft_of(match.view),
        altitude_m=match.view.altitude_m,
        covariance_m2=covariance_m2,
        radius95_m=radius95_m(covariance_m2),
    )
