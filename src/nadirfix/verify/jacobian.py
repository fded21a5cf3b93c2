"""How far a view's pixels miss their places on the map, and how that changes with the view's six numbers.

The numbers are changes of a view: metres east and north, log altitude, heading, lean east and north in
radians. Fits ask again and again, so this is written out for one camera; ``geo.pose`` places many at once,
and a test holds both against each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg
from nadirfix.types import Point, View

__all__ = ["Residuals"]

Floats = NDArray[np.float64]

#: A lean nobody flies with, and one beyond which a view cannot be rendered.
_MAX_TILT = math.radians(45.0)
#: The altitude is changed by at most this factor's logarithm.
_MAX_LOG = 1.0
#: Below this lean, in radians, quotients of differences are taken from their series: 0 / 0 otherwise.
_SMALL = 1e-2

#: A heading that grows turns right into down, and down into left: what follows is a quarter of a turn on.
_QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


class _Hung(NamedTuple):
    """How a camera hangs: directions of right, down and into the picture, and how far ahead its middle is."""

    turn: Floats  # a column for each direction: east, north, up
    ahead: Floats  # of the place right below, east and north, in altitudes


class _Lean(NamedTuple):
    """A lean towards east and north in radians, and what its rotation is made of.

    With t its length: sin t / t, (1 - cos t) / t² and tan t / t; then the slope of each over t.
    """

    east: float
    north: float
    sine: float
    lift: float
    tangent: float
    sine_slope: float
    lift_slope: float
    tangent_slope: float


class Residuals:
    """Metres by which a view misses the places, and how that changes with its six numbers."""

    def __init__(
        self, photo_px: Floats, places_m: Floats, origin: Point, camera: Camera, start: View
    ) -> None:
        right = (photo_px[:, 0] - camera.width_px / 2) / camera.fx_px
        down = (photo_px[:, 1] - camera.height_px / 2) / camera.fy_px
        self._rays = np.stack([right, down, np.ones(len(photo_px))])
        self._start = start
        centre = start.center.east_m - origin.east_m, start.center.north_m - origin.north_m
        self._aim_m = (np.array(centre) - places_m).T  # from the places to the frame centre
        lean, toward = math.radians(start.tilt_deg), math.radians(start.tilt_toward_deg)
        self._lean = np.array([lean * math.sin(toward), lean * math.cos(toward)])

    def whole(self, at: Floats) -> Floats:
        """The changes, with the lean itself in the place of its change: what a prior pulls at."""
        return np.concatenate([at[:4], self._lean + at[4:]])

    def view(self, at: Floats) -> View:
        """The view these changes lead to."""
        east, north = self._lean + at[4:]
        start = self._start
        return View(
            start.center.moved(float(at[0]), float(at[1])),
            self._altitude_m(at),
            compass_deg(start.heading_deg + math.degrees(at[3])),
            math.degrees(min(math.hypot(east, north), _MAX_TILT)),
            compass_deg(math.degrees(math.atan2(east, north))),
        )

    def __call__(self, at: Floats) -> Floats:
        """The residuals: east and north × points."""
        hung = self._hung(at)
        seen = hung.turn @ self._rays
        return self._missed(at, seen[:2] / -seen[2] - hung.ahead[:, None])

    def sloped(self, at: Floats) -> tuple[Floats, Floats]:
        """The residuals, and the change of every one with each number: numbers × 2 × points."""
        hung = self._hung(at)
        seen = hung.turn @ self._rays
        away = -1 / seen[2]
        flat = seen[:2] * away
        reach = flat - hung.ahead[:, None]
        turns, aheads = self._changes(at, hung)
        moved = turns @ self._rays
        slope = np.zeros((6, 2, len(away)))
        slope[0, 0] = slope[1, 1] = 1.0
        slope[2] = reach if abs(at[2]) < _MAX_LOG else 0.0
        slope[3:] = (moved[:, :2] + flat * moved[:, 2:]) * away - aheads[:, :, None]
        slope[2:] *= self._altitude_m(at)
        return self._missed(at, reach), slope

    def _missed(self, at: Floats, reach: Floats) -> Floats:
        """The residuals where rays reach the ground so many altitudes from the frame centre."""
        return np.asarray(self._altitude_m(at) * reach + self._aim_m + at[:2, None], np.float64)

    def _altitude_m(self, at: Floats) -> float:
        return self._start.altitude_m * math.exp(min(max(float(at[2]), -_MAX_LOG), _MAX_LOG))

    def _leant(self, at: Floats) -> _Lean:
        return _lean_of(float(self._lean[0] + at[4]), float(self._lean[1] + at[5]))

    def _axes(self, at: Floats) -> Floats:
        """Right, down and into the picture of a camera that looks straight down, a column each."""
        heading = math.radians(self._start.heading_deg) + float(at[3])
        sin, cos = math.sin(heading), math.cos(heading)
        return np.array([[cos, -sin, 0.0], [-sin, -cos, 0.0], [0.0, 0.0, -1.0]])

    def _hung(self, at: Floats) -> _Hung:
        lean = self._leant(at)
        return _Hung(_rotation(lean) @ self._axes(at), lean.tangent * np.array([lean.east, lean.north]))

    def _changes(self, at: Floats, hung: _Hung) -> tuple[Floats, Floats]:
        """What turning, leaning east and leaning north change, for each radian."""
        lean = self._leant(at)
        turns = np.empty((3, 3, 3))
        turns[0] = hung.turn @ _QUARTER
        turns[1:] = _rotation_slopes(lean) @ self._axes(at)
        along = lean.tangent_slope * np.outer([lean.east, lean.north], [lean.east, lean.north])
        aheads = np.zeros((3, 2))
        aheads[1:] = along + lean.tangent * np.eye(2)
        return turns, aheads


def _lean_of(east: float, north: float) -> _Lean:
    """A lean, no farther than anybody can lean."""
    t = math.hypot(east, north)
    if t > _MAX_TILT:
        east, north, t = east * _MAX_TILT / t, north * _MAX_TILT / t, _MAX_TILT
    square = t * t
    if t < _SMALL:
        values = 1 - square / 6, 0.5 - square / 24, 1 + square / 3
        slopes = square / 30 - 1 / 3, square / 180 - 1 / 12, 2 / 3 + 8 * square / 15
        return _Lean(east, north, *values, *slopes)
    sine, lift, tangent = math.sin(t) / t, (1 - math.cos(t)) / square, math.tan(t) / t
    slopes = (math.cos(t) - sine) / square, (sine - 2 * lift) / square, (math.cos(t) ** -2 - tangent) / square
    return _Lean(east, north, sine, lift, tangent, *slopes)


def _rotation(lean: _Lean) -> Floats:
    """From upright to leaning (Rodrigues' formula, written out)."""
    e, n, s, c = lean.east, lean.north, lean.sine, lean.lift
    return np.array(
        [
            [1 - c * e * e, -c * e * n, -s * e],
            [-c * e * n, 1 - c * n * n, -s * n],
            [s * e, s * n, 1 - c * (e * e + n * n)],
        ]
    )


def _rotation_slopes(lean: _Lean) -> Floats:
    """How that changes with the lean east, and with the lean north."""
    e, n, s, c = lean.east, lean.north, lean.sine, lean.lift
    found = np.empty((2, 3, 3))
    for row, (along, de, dn) in enumerate(((e, 1.0, 0.0), (n, 0.0, 1.0))):
        ds, dc = lean.sine_slope * along, lean.lift_slope * along
        across = -dc * e * n - c * (de * n + e * dn)
        found[row] = [
            [-dc * e * e - 2 * c * e * de, across, -ds * e - s * de],
            [across, -dc * n * n - 2 * c * n * dn, -ds * n - s * dn],
            [ds * e + s * de, ds * n + s * dn, -s * along],
        ]
    return found
