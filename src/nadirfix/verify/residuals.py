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
#: By how much a lean is changed to see what that changes.
_STEP = 1e-5
_LEANS = ((_STEP, 0.0), (0.0, _STEP))

#: A heading that grows turns right into down, and down into left: what follows is a quarter of a turn on.
_QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


class _Hung(NamedTuple):
    """How a camera hangs: directions of right, down and into the picture, and how far ahead its middle is."""

    turn: Floats  # a column for each direction: east, north, up
    ahead: Floats  # of the place right below, east and north, in altitudes


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

    def _hung(self, at: Floats, east: float = 0.0, north: float = 0.0) -> _Hung:
        heading = math.radians(self._start.heading_deg) + float(at[3])
        leans = float(self._lean[0] + at[4]) + east, float(self._lean[1] + at[5]) + north
        return _hung_at(heading, *leans)

    def _changes(self, at: Floats, hung: _Hung) -> tuple[Floats, Floats]:
        """What turning, leaning east and leaning north change, for each radian."""
        pairs = [(self._hung(at, *step), self._hung(at, *(-x for x in step))) for step in _LEANS]
        turns = [(after.turn - before.turn) / (2 * _STEP) for after, before in pairs]
        aheads = [(after.ahead - before.ahead) / (2 * _STEP) for after, before in pairs]
        return np.stack([hung.turn @ _QUARTER, *turns]), np.stack([np.zeros(2), *aheads])


def _hung_at(heading: float, east: float, north: float) -> _Hung:
    """Turned to a heading, then leant towards a compass direction (Rodrigues' formula, written out)."""
    tilt, toward = min(math.hypot(east, north), _MAX_TILT), math.atan2(east, north)
    x, y, lift = math.cos(toward), -math.sin(toward), 1 - math.cos(tilt)
    s, sin, cos = math.sin(tilt), math.sin(heading), math.cos(heading)
    lean = np.array(
        [
            [1 - lift * y * y, lift * x * y, s * y],
            [lift * x * y, 1 - lift * x * x, -s * x],
            [-s * y, s * x, 1 - lift],
        ]
    )
    axes = np.array([[cos, -sin, 0.0], [-sin, -cos, 0.0], [0.0, 0.0, -1.0]])
    return _Hung(lean @ axes, math.tan(tilt) * np.array([-y, x]))
