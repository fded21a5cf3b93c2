"""Rectifying a tilted photo: as a camera that looks straight down would have taken it (ADR 56).

Where a gimbal says how the camera hung, flat ground in the photo is brought back to one scale before
anything is retrieved. The new picture shows the ground around the photo's own frame centre, so that both
have the same one: the largest frame of the photo's shape that lies in it. A picture straight down of flat
ground is the same from wherever it was taken at that altitude, so everything after it measures in the new
picture as in any other; the view itself is fitted in pixels of the photo as it was taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.types.gimbal import Gimbal, level_from_camera

__all__ = ["Levelling", "level_camera", "levelled"]

Floats = NDArray[np.float64]

#: Halvings until the frame fits to a thousandth of a pixel.
_HALVINGS = 24


@dataclass(frozen=True, slots=True, eq=False)
class Levelling:
    """How a rectified picture came from the photo: its camera, how tilted, which pixel is which."""

    camera: Camera  # the one that took the photo
    tilt_deg: float
    toward_top_deg: float
    photo_from_level: Floats  # homography, in pixels

    @property
    def level_from_photo(self) -> Floats:
        """The other way round."""
        return np.asarray(np.linalg.inv(self.photo_from_level), np.float64)

    def photo_px(self, level_px: Floats) -> Floats:
        """Where pixels of the rectified picture are in the photo as it was taken."""
        found = np.column_stack([level_px, np.ones(len(level_px))]) @ self.photo_from_level.T
        return np.asarray(found[:, :2] / found[:, 2:])

    def resized(self, level: Camera, smaller: Camera) -> Levelling:
        """The same of a rectified picture that was resized; the photo counts as resized as much."""
        right, down = level.width_px / smaller.width_px, level.height_px / smaller.height_px
        old = self.camera
        new = old.resized(max(round(old.width_px / right), 1), max(round(old.height_px / down), 1))
        photo_from_old = np.diag([new.width_px / old.width_px, new.height_px / old.height_px, 1.0])
        from_smaller = photo_from_old @ self.photo_from_level @ np.diag([right, down, 1.0])
        return replace(self, camera=new, photo_from_level=np.asarray(from_smaller, np.float64))


def levelled(
    pixels: NDArray[np.uint8], camera: Camera, gimbal: Gimbal
) -> tuple[NDArray[np.uint8], Camera, Levelling]:
    """The photo as seen straight down, the camera that would have taken that, and how it was made."""
    import cv2

    level = level_camera(camera, gimbal.tilt_deg, gimbal.toward_top_deg)
    photo_from_level = _photo_from_level(camera, level, gimbal)
    # From pixel corners at whole numbers to centres there, which is how OpenCV counts.
    centred = _shift(-0.5) @ photo_from_level @ _shift(0.5)
    size = (level.width_px, level.height_px)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    new = cv2.warpPerspective(pixels, centred, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    made = Levelling(camera, gimbal.tilt_deg, gimbal.toward_top_deg, photo_from_level)
    return np.asarray(new, np.uint8), level, made


def level_camera(camera: Camera, tilt_deg: float, toward_top_deg: float) -> Camera:
    """The camera that would have taken the rectified picture: as fine as the photo is in its middle."""
    tilt, toward = math.radians(tilt_deg), math.radians(toward_top_deg)
    half = camera.width_px / camera.fx_px / 2, camera.height_px / camera.fy_px / 2
    camera_from_level = level_from_camera(tilt, toward).T
    centre = _centre(tilt, toward)
    low, high = 0.0, 1.0 / math.cos(tilt) ** 2  # in half frames of the photo
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        fits = _fits(camera_from_level, centre, (middle * half[0], middle * half[1]), half)
        low, high = (middle, high) if fits else (low, middle)
    finer = math.cos(tilt)  # ground in the middle is so much farther away
    wide, tall = (max(round(side * low * finer), 1) for side in (camera.width_px, camera.height_px))
    return replace(
        camera, width_px=wide, height_px=tall, fx_px=camera.fx_px * finer, fy_px=camera.fy_px * finer
    )


def _centre(tilt: float, toward_top: float) -> tuple[float, float]:
    """Where the middle of the photo is in the level picture: right and down, in focal lengths."""
    return math.tan(tilt) * math.sin(toward_top), -math.tan(tilt) * math.cos(toward_top)


def _fits(
    camera_from_level: Floats,
    centre: tuple[float, float],
    reach: tuple[float, float],
    half: tuple[float, float],
) -> bool:
    """Whether a frame that reaches so far around the middle lies within the photo; all in focal lengths."""
    right = centre[0] + reach[0] * np.array([-1.0, 1.0, 1.0, -1.0])
    down = centre[1] + reach[1] * np.array([-1.0, -1.0, 1.0, 1.0])
    x, y, ahead = camera_from_level @ np.stack([right, down, np.ones(4)])
    inside = (ahead > 0) & (np.abs(x) <= half[0] * ahead) & (np.abs(y) <= half[1] * ahead)
    return bool(inside.all())


def _photo_from_level(camera: Camera, level: Camera, gimbal: Gimbal) -> Floats:
    """The homography from pixels of the level picture to those of the photo."""
    tilt, toward = math.radians(gimbal.tilt_deg), math.radians(gimbal.toward_top_deg)
    right, down = _centre(tilt, toward)
    offset = np.array([[1.0, 0.0, right], [0.0, 1.0, down], [0.0, 0.0, 1.0]])
    rays = offset @ np.linalg.inv(_matrix(level))
    return np.asarray(_matrix(camera) @ level_from_camera(tilt, toward).T @ rays, np.float64)


def _matrix(camera: Camera) -> Floats:
    middle = camera.width_px / 2, camera.height_px / 2
    return np.array([[camera.fx_px, 0.0, middle[0]], [0.0, camera.fy_px, middle[1]], [0.0, 0.0, 1.0]])


def _shift(by: float) -> Floats:
    return np.array([[1.0, 0.0, by], [0.0, 1.0, by], [0.0, 0.0, 1.0]])
