"""Where the pixels of a nadir photo lie on flat ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.types import View

__all__ = ["Poses", "ground_from_pixel", "ground_from_pixels", "project"]

Floats = NDArray[np.float64]


class Poses(NamedTuple):
    """How cameras are placed above their frame centres, one array for each number of a view."""

    altitude_m: Floats
    heading_deg: Floats
    tilt_deg: Floats
    tilt_toward_deg: Floats


def ground_from_pixel(view: View, camera: Camera, size: tuple[int, int]) -> Floats:
    """The homography from output pixels (corner at 0, 0) to metres east and north of the frame centre."""
    numbers = (view.altitude_m, view.heading_deg, view.tilt_deg, view.tilt_toward_deg)
    poses = Poses(*(np.array([number]) for number in numbers))
    return np.asarray(ground_from_pixels(poses, camera, size)[0], np.float64)


def ground_from_pixels(poses: Poses, camera: Camera, size: tuple[int, int]) -> Floats:
    """The homographies of many cameras, one after the other."""
    rays = _tilt_rotations(poses) @ _axes(poses) @ _ray_from_pixel(camera, size)
    slope = poses.altitude_m * np.tan(np.radians(poses.tilt_deg))
    toward = np.radians(poses.tilt_toward_deg)
    centre = slope[:, None] * np.stack([np.sin(toward), np.cos(toward)], axis=1)
    ground = poses.altitude_m[:, None, None] * rays[:, :2] + centre[:, :, None] * rays[:, 2:]
    return np.concatenate([ground, -rays[:, 2:]], axis=1)


def project(homography: Floats, u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Points through a homography."""
    a, b, c = (row[0] * u + row[1] * v + row[2] for row in homography)
    return a / c, b / c


def _axes(poses: Poses) -> Floats:
    """Columns: east-north-up directions of right, down and into the picture."""
    heading = np.radians(poses.heading_deg)
    cos, sin, zero = np.cos(heading), np.sin(heading), np.zeros(len(heading))
    return np.stack([cos, -sin, zero, -sin, -cos, zero, zero, zero, zero - 1], axis=1).reshape(-1, 3, 3)


def _tilt_rotations(poses: Poses) -> Floats:
    """Rotations that tilt straight down towards a compass direction."""
    angle, toward = np.radians(poses.tilt_deg), np.radians(poses.tilt_toward_deg)
    x, y, zero = np.cos(toward), -np.sin(toward), np.zeros(len(angle))
    cross = np.stack([zero, zero, y, zero, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    sin, rest = np.sin(angle)[:, None, None], (1 - np.cos(angle))[:, None, None]
    return np.asarray(np.eye(3) + sin * cross + rest * cross @ cross)


def _ray_from_pixel(camera: Camera, size: tuple[int, int]) -> Floats:
    """From output pixels to directions (right, down, into the picture); a squeezed frame is unsqueezed."""
    resized = camera.resized(*size)
    return np.array(
        [
            [1 / resized.fx_px, 0.0, -size[0] / 2 / resized.fx_px],
            [0.0, 1 / resized.fy_px, -size[1] / 2 / resized.fy_px],
            [0.0, 0.0, 1.0],
        ]
    )
