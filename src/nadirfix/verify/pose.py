"""From pixels of the photo and the ground points they show to the view that fits them, and its covariance.

Six parameters describe a view: where the frame centre lies, altitude, heading, and tilt east and north. They
are fitted by weighted least squares; what is known of the tilt (most photos are taken straight down, or a
gimbal says how) speaks against one that few points support. The covariance follows from the residuals,
added up by blocks of the frame: neighbouring points err together, and counting them one by one would
promise too much (ADR 13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg
from nadirfix.geo.pose import project
from nadirfix.types import Point, View
from nadirfix.verify.jacobian import Residuals
from nadirfix.verify.tilt import TiltPrior

__all__ = [
    "FittedView",
    "aircraft_of",
    "fit_view",
    "ground_residuals_m",
    "solve_view",
    "view_from_homography",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ITERATIONS = 8
#: A fit ends when no parameter moves more than this: a centimetre, and as little at the edges of the frame.
_CONVERGED = np.array([0.01, 0.01, 2e-5, 2e-5, 5e-5, 5e-5])
#: Over steps up to so many times this, the Jacobian hardly changes.
_LINEAR = 100.0
#: Residuals are never believed to be smaller than this many pixels: points are found no better.
_FINEST_PX = 0.15
#: How far a view may be from where its fit starts: metres east and north, log altitude, heading.
_START_SIGMA = (500.0, 500.0, 0.5, 0.5)
#: Points this many deviations off count half.
_CAUCHY_SCALE = 2.4
#: Blocks of the frame, each way: keypoints of one block err together.
_BLOCKS = 4


@dataclass(frozen=True, slots=True, eq=False)
class FittedView:
    """The view that fits the points best, how far off they are, and the covariance of its parameters."""

    view: View
    residual_m: Floats  # one length per point
    covariance: Floats  # east, north (m), log altitude, heading, tilt east, tilt north (rad)
    # The part of it that is the doubt of what was known beforehand.
    from_prior: Floats = field(default_factory=lambda: np.zeros((6, 6)))


def view_from_homography(ground_from_photo: Floats, camera: Camera, origin: Point) -> View:
    """The upright view nearest to a homography from photo pixels to metres around a point."""
    middle = np.array([camera.width_px / 2, camera.height_px / 2])
    u = middle[0] + np.array([0.0, 1.0, -1.0, 0.0, 0.0]) * camera.width_px / 4
    v = middle[1] + np.array([0.0, 0.0, 0.0, 1.0, -1.0]) * camera.height_px / 4
    east, north = project(ground_from_photo, u, v)
    right = complex(east[1] - east[2], north[1] - north[2]) / (camera.width_px / 2 / camera.fx_px)
    up = complex(east[4] - east[3], north[4] - north[3]) / (camera.height_px / 2 / camera.fy_px)
    # Both are the altitude times a direction; right turned by a quarter against the clock is up.
    mean = (right * 1j + up) / 2
    heading_deg = compass_deg(math.degrees(math.atan2(mean.real, mean.imag)))
    return View(origin.moved(float(east[0]), float(north[0])), max(abs(mean), 1e-3), heading_deg)


def fit_view(
    photo_px: Floats, ground_m: Floats, origin: Point, *, camera: Camera, start: View, tilt: TiltPrior
) -> FittedView:
    """The view for which these photo pixels look at these ground points (metres from the origin)."""
    residuals = Residuals(photo_px, ground_m, origin, camera, start)
    finest_m = _FINEST_PX * camera.gsd_m(start.altitude_m)
    change = _solved(residuals, tilt, finest_m)
    _, prior = _prior(residuals, change, tilt)
    residual_m, jacobian = residuals.with_jacobian(change)
    weight = _weights(residual_m, finest_m)
    gradients = _gradients(jacobian, weight, residual_m)
    block = _blocks(photo_px, camera)
    normal = _hessian(jacobian, weight, gradients) + prior
    inverse = np.asarray(np.linalg.inv(normal), np.float64)
    from_prior = np.asarray(inverse @ prior @ inverse, np.float64)
    covariance = _covariance(gradients, inverse, block) + from_prior
    return FittedView(residuals.view(change), np.hypot(*residual_m), covariance, from_prior)


def solve_view(
    photo_px: Floats, ground_m: Floats, origin: Point, *, camera: Camera, start: View, tilt: TiltPrior
) -> View:
    """The same view alone, without its covariance."""
    residuals = Residuals(photo_px, ground_m, origin, camera, start)
    return residuals.view(_solved(residuals, tilt, _FINEST_PX * camera.gsd_m(start.altitude_m)))


def _solved(residuals: Residuals, tilt: TiltPrior, finest_m: float) -> Floats:
    """The six changes at which the gradient vanishes (Gauss-Newton with Cauchy weights)."""
    change = np.zeros(6)
    residual_m, jacobian = residuals.with_jacobian(change)
    for _ in range(_ITERATIONS):
        weighted = _weighted(jacobian, _weights(residual_m, finest_m))
        pull, prior = _prior(residuals, change, tilt)
        gradient = weighted @ residual_m.ravel() + pull
        change = change - (step := np.linalg.solve(weighted @ _flat(jacobian).T + prior, gradient))
        if (np.abs(step) < _CONVERGED).all():
            break
        if (np.abs(step) < _LINEAR * _CONVERGED).all():
            residual_m = residuals(change)
        else:
            residual_m, jacobian = residuals.with_jacobian(change)
    return change


def ground_residuals_m(
    photo_px: Floats, ground_m: Floats, origin: Point, *, camera: Camera, view: View
) -> Floats:
    """How far from their ground points these photo pixels look, for a view."""
    return np.asarray(np.hypot(*Residuals(photo_px, ground_m, origin, camera, view)(np.zeros(6))), np.float64)


def aircraft_of(view: View) -> Point:
    """The point on the ground right below the camera: the frame centre, unless it is tilted."""
    away_m = view.altitude_m * math.tan(math.radians(view.tilt_deg))
    toward = math.radians(view.tilt_toward_deg)
    return view.center.moved(-away_m * math.sin(toward), -away_m * math.cos(toward))


def _prior(residuals: Residuals, change: Floats, tilt: TiltPrior) -> tuple[Floats, Floats]:
    """Gradient and Hessian of what is known: the tilt; and, so weakly that only points in one spot notice,
    all else as begun.
    """
    off, jacobian = tilt.residual(residuals.tilt(change), residuals.heading(change))
    begun = np.array([*_START_SIGMA, np.inf, np.inf]) ** -2.0
    return begun * change + jacobian.T @ off, np.diag(begun) + jacobian.T @ jacobian


def _weights(residual_m: Floats, finest_m: float) -> Floats:
    """What each point counts: one over its variance, and little where it lies far off (Cauchy)."""
    length = np.hypot(*residual_m)
    sigma_m = max(_median(length) / 1.1774, finest_m)  # the median length of a plane Gaussian
    return np.asarray(1 / (sigma_m**2 * (1 + (length / (_CAUCHY_SCALE * sigma_m)) ** 2)), np.float64)


def _median(values: Floats) -> float:
    """As numpy's, which takes longer than all the rest of a round where there are few points."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))
    return float(ordered[low] + ordered[high]) / 2


def _flat(jacobian: Floats) -> Floats:
    """One row for each parameter: all points' derivatives east, then all north."""
    return jacobian.reshape(len(jacobian), -1)


def _weighted(jacobian: Floats, weight: Floats) -> Floats:
    return np.asarray(_flat(jacobian * weight), np.float64)


def _hessian(jacobian: Floats, weight: Floats, gradients: Floats) -> Floats:
    """The Hessian: less than the weights alone give, as they fall off with the residuals."""
    full = np.asarray(_weighted(jacobian, weight) @ _flat(jacobian).T, np.float64)
    reduced = full - 2 / _CAUCHY_SCALE**2 * gradients.T @ gradients
    # Most points far off: no minimum to speak of.
    return reduced if np.linalg.eigvalsh(reduced)[0] > 0 else full


def _gradients(jacobian: Floats, weight: Floats, residual_m: Floats) -> Floats:
    """Each point's part of the gradient: points × parameters."""
    return np.asarray((weight * residual_m * jacobian).sum(axis=1).T, np.float64)


def _covariance(gradients: Floats, inverse: Floats, block: Ints) -> Floats:
    """What the points' errors do to the six parameters: each erring alone, or by blocks, whichever is worse.

    Few blocks say little about themselves, so that way alone can promise too much.
    """
    together = np.zeros((int(block.max()) + 1, len(inverse)))
    np.add.at(together, block, gradients)
    occupied, count = len(np.unique(block)), 2 * len(gradients)
    # Residuals are small by as many parameters as were fitted.
    unbiased = count / max(count - len(inverse), 1)
    scatters = (unbiased * gradients.T @ gradients, occupied / max(occupied - 1, 1) * together.T @ together)
    covariances = [inverse @ scatter @ inverse for scatter in scatters]
    return np.asarray(max(covariances, key=lambda c: float(c[0, 0] + c[1, 1])), np.float64)


def _blocks(photo_px: Floats, camera: Camera) -> Ints:
    """Which block of the frame each point lies in."""
    share = photo_px / [camera.width_px, camera.height_px]
    return np.asarray(np.clip((share * _BLOCKS).astype(np.int64), 0, _BLOCKS - 1) @ [1, _BLOCKS], np.int64)
