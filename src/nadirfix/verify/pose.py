"""From points of the photo and their places on the map to the view that explains them, and how sure that is.

Six numbers describe a view: where the frame centre lies, how high, turned and leaning how far. They are
fitted by weighted least squares; photos are nearly always taken straight down, which speaks against a lean
that few points ask for. How sure the numbers are follows from the residuals, added up by blocks of the frame:
neighbouring points err together, and counting them one by one would promise too much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg
from nadirfix.geo.pose import project
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Point, View
from nadirfix.verify.jacobian import Residuals

__all__ = ["FittedView", "aircraft_of", "fit_view", "misses_m", "view_from_homography", "view_of_points"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDS = 8
#: A fit ends when no number moves more than this: a centimetre, and as little at the edges of the frame.
_SETTLED = np.array([0.01, 0.01, 2e-5, 2e-5, 5e-5, 5e-5])
#: Over steps up to so many times this, slopes hardly change.
_STRAIGHT = 100.0
#: Residuals are never believed to be smaller than this many pixels: points are found no better.
_FINEST_PX = 0.15
#: How far a view may be from where its fit starts: metres east and north, log altitude, heading.
_LOOSE = (500.0, 500.0, 0.5, 0.5)
#: Points this many deviations off count half.
_FALL_OFF = 2.4


@dataclass(frozen=True, slots=True, eq=False)
class FittedView:
    """The view that explains the points best, how far off they are, and how sure its numbers are."""

    view: View
    residual_m: Floats  # one length per point
    covariance: Floats  # east, north (m), log altitude, heading, lean east, lean north (rad)


def view_from_homography(ground_from_photo: Floats, camera: Camera, origin: Point) -> View:
    """The upright view nearest to a homography from photo pixels to metres around a place."""
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
    photo_px: Floats, places_m: Floats, origin: Point, *, camera: Camera, start: View, options: VerifyOptions
) -> FittedView:
    """The view for which these photo pixels look at these places (metres east and north of the origin)."""
    ask, prior = Residuals(photo_px, places_m, origin, camera, start), _prior(options)
    finest_m = _FINEST_PX * camera.gsd_m(start.altitude_m)
    at = _settled(ask, prior, finest_m)
    off, slope = ask.sloped(at)
    weight = _weights(off, finest_m)
    pulls = _pulls(slope, weight, off)
    block = _blocks(photo_px, camera, options)
    covariance = _covariance(pulls, _curvature(slope, weight, pulls) + prior, prior, block)
    return FittedView(ask.view(at), np.hypot(*off), covariance)


def view_of_points(
    photo_px: Floats, places_m: Floats, origin: Point, *, camera: Camera, start: View, options: VerifyOptions
) -> View:
    """The same view alone, without how sure it is."""
    ask = Residuals(photo_px, places_m, origin, camera, start)
    return ask.view(_settled(ask, _prior(options), _FINEST_PX * camera.gsd_m(start.altitude_m)))


def _settled(ask: Residuals, prior: Floats, finest_m: float) -> Floats:
    """The six changes at which nothing pulls any more."""
    at = np.zeros(6)
    off, slope = ask.sloped(at)
    for _ in range(_ROUNDS):
        weighted = _weighted(slope, _weights(off, finest_m))
        pull = weighted @ off.ravel() + prior @ ask.whole(at)
        at = at - (step := np.linalg.solve(weighted @ _flat(slope).T + prior, pull))
        if (np.abs(step) < _SETTLED).all():
            break
        if (np.abs(step) < _STRAIGHT * _SETTLED).all():
            off = ask(at)
        else:
            off, slope = ask.sloped(at)
    return at


def misses_m(photo_px: Floats, places_m: Floats, origin: Point, *, camera: Camera, view: View) -> Floats:
    """How far from their places these photo pixels look, for a view."""
    return np.asarray(np.hypot(*Residuals(photo_px, places_m, origin, camera, view)(np.zeros(6))), np.float64)


def aircraft_of(view: View) -> Point:
    """The place on the ground right below the camera: the frame centre, unless it leans."""
    away_m = view.altitude_m * math.tan(math.radians(view.tilt_deg))
    toward = math.radians(view.tilt_toward_deg)
    return view.center.moved(-away_m * math.sin(toward), -away_m * math.cos(toward))


def _prior(options: VerifyOptions) -> Floats:
    """Photos are taken nearly straight down; and, so weakly that only points in one spot notice, as begun."""
    tilt = math.radians(options.tilt_sigma_deg)
    return np.asarray(np.diag(np.array([*_LOOSE, tilt, tilt]) ** -2.0), np.float64)


def _weights(off: Floats, finest_m: float) -> Floats:
    """What each point counts: one over its variance, and little where it lies far off (Cauchy)."""
    length = np.hypot(*off)
    sigma_m = max(_median(length) / 1.1774, finest_m)  # the median length of a plane Gaussian
    return np.asarray(1 / (sigma_m**2 * (1 + (length / (_FALL_OFF * sigma_m)) ** 2)), np.float64)


def _median(values: Floats) -> float:
    """As numpy's, which takes longer than all the rest of a round where there are few points."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))
    return float(ordered[low] + ordered[high]) / 2


def _flat(slope: Floats) -> Floats:
    """One row for each number: all points' changes east, then all north."""
    return slope.reshape(len(slope), -1)


def _weighted(slope: Floats, weight: Floats) -> Floats:
    return np.asarray(_flat(slope * weight), np.float64)


def _curvature(slope: Floats, weight: Floats, pulls: Floats) -> Floats:
    """How fast the pull of all points changes with the numbers: less than their weight, which falls off."""
    full = np.asarray(_weighted(slope, weight) @ _flat(slope).T, np.float64)
    less = full - 2 / _FALL_OFF**2 * pulls.T @ pulls
    return less if np.linalg.eigvalsh(less)[0] > 0 else full  # most points far off: no minimum to speak of


def _pulls(slope: Floats, weight: Floats, off: Floats) -> Floats:
    """What each point pulls at each number: points × numbers."""
    return np.asarray((weight * off * slope).sum(axis=1).T, np.float64)


def _covariance(pulls: Floats, normal: Floats, prior: Floats, block: Ints) -> Floats:
    """Covariance of the six numbers: with points erring each alone, or by blocks, whichever is worse.

    Few blocks say little about themselves, so that way alone can promise too much.
    """
    inverse = np.linalg.inv(normal)
    together = np.zeros((int(block.max()) + 1, len(inverse)))
    np.add.at(together, block, pulls)
    used, count = len(np.unique(block)), 2 * len(pulls)
    fair = count / max(count - len(inverse), 1)  # residuals are small by as many numbers as were fitted
    spreads = (fair * pulls.T @ pulls, used / max(used - 1, 1) * together.T @ together)
    both = [inverse @ (spread + prior) @ inverse for spread in spreads]
    return np.asarray(max(both, key=lambda c: float(c[0, 0] + c[1, 1])), np.float64)


def _blocks(photo_px: Floats, camera: Camera, options: VerifyOptions) -> Ints:
    """Which block of the frame each point lies in."""
    side = options.blocks
    share = photo_px / [camera.width_px, camera.height_px]
    return np.asarray(np.clip((share * side).astype(np.int64), 0, side - 1) @ [1, side], np.int64)
