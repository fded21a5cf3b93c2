"""How a camera hung when it took a photo, as gimbals say it and as pilots type it (ADR 56).

A gimbal turns the camera by yaw, then pitch, then roll. Seen from the picture, pitch and roll alone say how
far the camera was tilted from straight down and towards which of its sides; yaw says where its top points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import InputError

__all__ = ["Gimbal", "level_from_camera", "parse_gimbal"]

_DO = "give pitch, roll and yaw in degrees, −90 straight down: -60 or -60,0 or -60,0,270"
_STRAIGHT_DOWN_DEG = -90.0
#: Photos tilted less are located as they are: rectified they would be hardly another picture.
_UPRIGHT_DEG = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gimbal:
    """Pitch, roll and yaw of a camera: −90 is straight down, 0 level; yaw is clockwise from north."""

    pitch_deg: float
    roll_deg: float = 0.0
    yaw_deg: float | None = None
    source: str = "given"

    def __post_init__(self) -> None:
        yaw_deg = 0.0 if self.yaw_deg is None else self.yaw_deg
        # Two drones in use go on to −135; beyond level the camera looks at the sky.
        sound = -180 <= self.pitch_deg <= 90 and -180 <= self.roll_deg <= 180 and -360 <= yaw_deg <= 360
        if not sound:
            raise _invalid(f"pitch {self.pitch_deg}, roll {self.roll_deg}, yaw {self.yaw_deg}")

    @property
    def tilt_deg(self) -> float:
        """How far the camera was tilted from straight down."""
        return abs(self.pitch_deg - _STRAIGHT_DOWN_DEG)

    @property
    def by_hand(self) -> bool:
        """Whether somebody gave it for this photo, and not its tags."""
        return self.source == "given"

    @property
    def is_upright(self) -> bool:
        """Whether the camera hung so nearly straight down that its photo need not be rectified."""
        return self.tilt_deg <= _UPRIGHT_DEG

    @property
    def toward_top_deg(self) -> float:
        """Towards which side of its picture it was tilted, clockwise from the top."""
        backwards = 180.0 if self.pitch_deg < _STRAIGHT_DOWN_DEG else 0.0
        return (backwards - self.roll_deg) % 360

    @property
    def heading_deg(self) -> float | None:
        """Where the top of the picture points, as a view counts it; None where the yaw is not known."""
        return None if self.yaw_deg is None else (self.yaw_deg + self.roll_deg) % 360


def parse_gimbal(text: str) -> Gimbal:
    """``-60``, ``-60,0`` or ``-60,0,270``: pitch, roll and yaw in degrees."""
    try:
        angles = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise _invalid(repr(text)) from error
    if not (1 <= len(angles) <= 3 and all(map(math.isfinite, angles))):
        raise _invalid(repr(text))
    roll_deg = angles[1] if len(angles) > 1 else 0.0
    return Gimbal(pitch_deg=angles[0], roll_deg=roll_deg, yaw_deg=angles[2] if len(angles) > 2 else None)


def level_from_camera(tilt: float, toward_top: float) -> NDArray[np.float64]:
    """From directions right, down and into the picture of a tilted camera to those of a level one.

    Both look from the same place with the same heading, the level one straight down. Angles are radians, the
    second one clockwise from the top of the picture.
    """
    right, down = math.cos(toward_top), math.sin(toward_top)  # the axis of the tilt, across it
    cross = np.array([[0.0, 0.0, down], [0.0, 0.0, -right], [-down, right, 0.0]])
    return np.asarray(np.eye(3) + math.sin(tilt) * cross + (1 - math.cos(tilt)) * cross @ cross)


def _invalid(seen: str) -> InputError:
    return InputError("prior.invalid", "this is not how a gimbal can hang", seen=seen, do=_DO)
