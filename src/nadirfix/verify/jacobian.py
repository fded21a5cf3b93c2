"""Ground residuals of a view's pixels, and their Jacobian with respect to the view's six parameters.

The parameters are changes of a view: metres east and north, log altitude, heading, tilt east and north in
radians. Fits evaluate this again and again, so it is written out for one camera (ADR 40); ``geo.pose`` is for
many at once, and a test compares both.
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

#: A tilt beyond which a view cannot be rendered.
_MAX_TILT = math.radians(59.0)
#: The altitude is changed by at most this factor's logarithm.
_MAX_LOG = 1.0
#: Below this tilt, in radians, quotients of differences are taken from their series: 0 / 0 otherwise.
_SMALL = 1e-2

#: A heading that grows turns right into down, and down into left: what follows is a quarter of a turn on.
_QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


class _Pose(NamedTuple):
    """A camera's rotation, and how far its frame centre lies from the point below it."""

    rotation: Floats  # right, down and into the image, a column each: east, north, up
    offset: Floats  # east and north, in altitudes


class _Tilt(NamedTuple):
    """A tilt towards east and north in radians, and what its rotation is made of.

    With t its length: sin t / t, (1 - cos t) / t² and tan t / t; then the derivative of each over t.
    """

    east: float
    north: float
    sine: float
    lift: float
    tangent: float
    sine_derivative: float
    lift_derivative: float
    tangent_derivative: float


class Residuals:
    """Metres between where a view's pixels look and where they should, and their Jacobian."""

    def __init__(
        self, photo_px: Floats, ground_m: Floats, origin: Point, camera: Camera, start: View
    ) -> None:
        right = (photo_px[:, 0] - camera.width_px / 2) / camera.fx_px
        down = (photo_px[:, 1] - camera.height_px / 2) / camera.fy_px
        self._rays = np.stack([right, down, np.ones(len(photo_px))])
        self._start = start
        centre = start.center.east_m - origin.east_m, start.center.north_m - origin.north_m
        self._offset_m = (np.array(centre) - ground_m).T  # from the ground points to the frame centre
        tilt, toward = math.radians(start.tilt_deg), math.radians(start.tilt_toward_deg)
        self._tilt = np.array([tilt * math.sin(toward), tilt * math.cos(toward)])

    def tilt(self, change: Floats) -> Floats:
        """The tilt east and north these changes lead to, in radians."""
        return np.asarray(self._tilt + change[4:], np.float64)

    def heading(self, change: Floats) -> float:
        """The heading these changes lead to, in radians."""
        return math.radians(self._start.heading_deg) + float(change[3])

    def view(self, change: Floats) -> View:
        """The view these changes lead to."""
        east, north = self.tilt(change)
        start = self._start
        return View(
            start.center.moved(float(change[0]), float(change[1])),
            self._altitude_m(change),
            compass_deg(start.heading_deg + math.degrees(change[3])),
            math.degrees(min(math.hypot(east, north), _MAX_TILT)),
            compass_deg(math.degrees(math.atan2(east, north))),
        )

    def __call__(self, change: Floats) -> Floats:
        """The residuals: east and north × points."""
        pose = self._camera_pose(change)
        rays = pose.rotation @ self._rays
        return self._residuals(change, rays[:2] / -rays[2] - pose.offset[:, None])

    def with_jacobian(self, change: Floats) -> tuple[Floats, Floats]:
        """The residuals, and the derivative of each by every parameter: parameters × 2 × points."""
        pose = self._camera_pose(change)
        rays = pose.rotation @ self._rays
        away = -1 / rays[2]
        from_nadir = rays[:2] * away
        from_centre = from_nadir - pose.offset[:, None]
        rotations, offsets = self._derivatives(change, pose)
        turned = rotations @ self._rays
        jacobian = np.zeros((6, 2, len(away)))
        jacobian[0, 0] = jacobian[1, 1] = 1.0
        jacobian[2] = from_centre if abs(change[2]) < _MAX_LOG else 0.0
        jacobian[3:] = (turned[:, :2] + from_nadir * turned[:, 2:]) * away - offsets[:, :, None]
        jacobian[2:] *= self._altitude_m(change)
        return self._residuals(change, from_centre), jacobian

    def _residuals(self, change: Floats, from_centre: Floats) -> Floats:
        """The residuals where rays reach the ground so many altitudes from the frame centre."""
        return np.asarray(
            self._altitude_m(change) * from_centre + self._offset_m + change[:2, None], np.float64
        )

    def _altitude_m(self, change: Floats) -> float:
        return self._start.altitude_m * math.exp(min(max(float(change[2]), -_MAX_LOG), _MAX_LOG))

    def _tilt_at(self, change: Floats) -> _Tilt:
        return _tilt_of(float(self._tilt[0] + change[4]), float(self._tilt[1] + change[5]))

    def _axes(self, change: Floats) -> Floats:
        """Right, down and into the image of a camera that looks straight down, a column each."""
        heading = self.heading(change)
        sin, cos = math.sin(heading), math.cos(heading)
        return np.array([[cos, -sin, 0.0], [-sin, -cos, 0.0], [0.0, 0.0, -1.0]])

    def _camera_pose(self, change: Floats) -> _Pose:
        tilt = self._tilt_at(change)
        return _Pose(_rotation(tilt) @ self._axes(change), tilt.tangent * np.array([tilt.east, tilt.north]))

    def _derivatives(self, change: Floats, pose: _Pose) -> tuple[Floats, Floats]:
        """Derivatives of rotation and offset by heading, tilt east and tilt north."""
        tilt = self._tilt_at(change)
        rotations = np.empty((3, 3, 3))
        rotations[0] = pose.rotation @ _QUARTER
        rotations[1:] = _rotation_derivatives(tilt) @ self._axes(change)
        along = tilt.tangent_derivative * np.outer([tilt.east, tilt.north], [tilt.east, tilt.north])
        offsets = np.zeros((3, 2))
        offsets[1:] = along + tilt.tangent * np.eye(2)
        return rotations, offsets


def _tilt_of(east: float, north: float) -> _Tilt:
    """A tilt, no farther than anybody can tilt."""
    t = math.hypot(east, north)
    if t > _MAX_TILT:
        east, north, t = east * _MAX_TILT / t, north * _MAX_TILT / t, _MAX_TILT
    square = t * t
    if t < _SMALL:
        values = 1 - square / 6, 0.5 - square / 24, 1 + square / 3
        derivatives = square / 30 - 1 / 3, square / 180 - 1 / 12, 2 / 3 + 8 * square / 15
        return _Tilt(east, north, *values, *derivatives)
    sine, lift, tangent = math.sin(t) / t, (1 - math.cos(t)) / square, math.tan(t) / t
    derivatives = (
        (math.cos(t) - sine) / square,
        (sine - 2 * lift) / square,
        (math.cos(t) ** -2 - tangent) / square,
    )
    return _Tilt(east, north, sine, lift, tangent, *derivatives)


def _rotation(tilt: _Tilt) -> Floats:
    """From upright to tilted (Rodrigues' formula, written out)."""
    e, n, s, c = tilt.east, tilt.north, tilt.sine, tilt.lift
    return np.array(
        [
            [1 - c * e * e, -c * e * n, -s * e],
            [-c * e * n, 1 - c * n * n, -s * n],
            [s * e, s * n, 1 - c * (e * e + n * n)],
        ]
    )


def _rotation_derivatives(tilt: _Tilt) -> Floats:
    """Its derivatives by the tilt east, and by the tilt north."""
    e, n, s, c = tilt.east, tilt.north, tilt.sine, tilt.lift
    derivatives = np.empty((2, 3, 3))
    for row, (along, de, dn) in enumerate(((e, 1.0, 0.0), (n, 0.0, 1.0))):
        ds, dc = tilt.sine_derivative * along, tilt.lift_derivative * along
        across = -dc * e * n - c * (de * n + e * dn)
        derivatives[row] = [
            [-dc * e * e - 2 * c * e * de, across, -ds * e - s * de],
            [across, -dc * n * n - 2 * c * n * dn, -ds * n - s * dn],
            [ds * e + s * de, ds * n + s * dn, -s * along],
        ]
    return derivatives
