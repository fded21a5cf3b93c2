"""What is known of a camera's tilt before a fit, and what a homography says of it (ADR 56).

A tilt is a vector: how far from straight down, towards which side. In the picture it is counted clockwise
from the top, as a gimbal fixes it there; on the ground from north, as a view does. The heading lies between
both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg
from nadirfix.geo.pose import project
from nadirfix.types import Point, View
from nadirfix.types.gimbal import level_from_camera

__all__ = ["TiltPrior", "tilted_view_from_homography"]

Floats = NDArray[np.float64]

#: A camera tilted farther sees the horizon: a homography that asks for it is chance.
_MAX_TILT_DEG = 58.0


@dataclass(frozen=True, slots=True)
class TiltPrior:
    """About which tilt a camera had, in its own picture, and within which deviation; by default none."""

    sigma_deg: float
    tilt_deg: float = 0.0
    toward_top_deg: float = 0.0

    def deviations(self, view: View) -> float:
        """How far a view's tilt is from the one expected, in deviations."""
        tilt, toward = math.radians(view.tilt_deg), math.radians(view.tilt_toward_deg)
        vector = tilt * np.array([math.sin(toward), math.cos(toward)])
        off, _ = self.residual(vector, math.radians(view.heading_deg))
        return float(np.hypot(*off))

    def residual(self, tilt: Floats, heading: float) -> tuple[Floats, Floats]:
        """How far a tilt east and north is from the one expected, and its derivatives by the six parameters.

        All in radians, in deviations. What is expected turns with the heading.
        """
        sigma, length = math.radians(self.sigma_deg), math.radians(self.tilt_deg)
        toward = heading + math.radians(self.toward_top_deg)
        sin, cos = math.sin(toward), math.cos(toward)
        jacobian = np.zeros((2, 6))
        jacobian[:, 3] = -length * cos, length * sin
        jacobian[0, 4] = jacobian[1, 5] = 1.0
        return (tilt - length * np.array([sin, cos])) / sigma, jacobian / sigma


def tilted_view_from_homography(ground_from_photo: Floats, camera: Camera, origin: Point) -> View | None:
    """The tilted view nearest to a homography from photo pixels to metres around a point; None for none.

    Times the camera's matrix, a homography's last row is the down direction seen from the camera, and what is
    left of the others beside it are altitude times east and north.
    """
    middle = camera.width_px / 2, camera.height_px / 2
    rays_to_pixels = np.array([[camera.fx_px, 0, middle[0]], [0, camera.fy_px, middle[1]], [0, 0, 1.0]])
    matrix = ground_from_photo @ rays_to_pixels
    scale = np.linalg.norm(matrix[2]) * math.copysign(1.0, matrix[2, 2])
    if not (np.isfinite(matrix).all() and abs(scale) > 0):
        return None
    up = -matrix[2] / scale
    tilt = math.acos(min(max(-float(up[2]), -1.0), 1.0))
    if math.degrees(tilt) > _MAX_TILT_DEG:
        return None
    toward_top = math.atan2(float(up[0]), -float(up[1])) if tilt > 0 else 0.0
    level = (matrix[:2] / scale - np.outer(matrix[:2] @ matrix[2] / scale**3, matrix[2])) @ (
        level_from_camera(tilt, toward_top).T
    )
    # Right and up, each the altitude times a direction; right turned by a quarter against the clock is up.
    right, top = complex(*level[:, 0]), -complex(*level[:, 1])
    mean = (right * 1j + top) / 2
    heading_deg = compass_deg(math.degrees(math.atan2(mean.real, mean.imag)))
    east, north = project(ground_from_photo, np.array([middle[0]]), np.array([middle[1]]))
    toward_deg = compass_deg(heading_deg + math.degrees(toward_top))
    altitude_m = max(abs(mean), 1e-3)
    return View(
        origin.moved(float(east[0]), float(north[0])), altitude_m, heading_deg, math.degrees(tilt), toward_deg
    )
