"""Where the pixels of a nadir photo lie on flat ground."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.types import View

__all__ = ["ground_from_pixel", "project"]

Floats = NDArray[np.float64]


def ground_from_pixel(view: View, camera: Camera, size: tuple[int, int]) -> Floats:
    """The homography from output pixels (corner at 0, 0) to metres east and north of the frame centre."""
    heading, toward = math.radians(view.heading_deg), math.radians(view.tilt_toward_deg)
    right = np.array([math.cos(heading), -math.sin(heading), 0.0])
    ahead = np.array([math.sin(heading), math.cos(heading), 0.0])
    rays = np.column_stack([right, -ahead, [0.0, 0.0, -1.0]]) @ _ray_from_pixel(camera, size)
    lean = math.radians(view.tilt_deg)
    rays = _lean(lean, toward) @ rays
    centre = view.altitude_m * math.tan(lean) * np.array([math.sin(toward), math.cos(toward)])
    return np.vstack([view.altitude_m * rays[:2] + centre[:, None] * rays[2], -rays[2]])


def project(homography: Floats, u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Points through a homography."""
    a, b, c = (row[0] * u + row[1] * v + row[2] for row in homography)
    return a / c, b / c


def _ray_from_pixel(camera: Camera, size: tuple[int, int]) -> Floats:
    """From output pixels to directions (right, down, into the picture); a squeezed frame is unsqueezed."""
    seen = camera.resized(*size)
    return np.array(
        [
            [1 / seen.fx_px, 0.0, -size[0] / 2 / seen.fx_px],
            [0.0, 1 / seen.fy_px, -size[1] / 2 / seen.fy_px],
            [0.0, 0.0, 1.0],
        ]
    )


def _lean(angle: float, toward: float) -> Floats:
    """The rotation that leans straight down towards a compass direction (east, north, up axes)."""
    axis = np.array([math.cos(toward), -math.sin(toward), 0.0])
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross)
