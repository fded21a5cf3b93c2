"""Angles on the compass: how far one direction is from another, from 0 up to 360, and axes along one."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["along_heading", "compass_deg", "from_heading", "wrap_deg"]

Floats = NDArray[np.float64]


@overload
def wrap_deg(difference_deg: float) -> float: ...
@overload
def wrap_deg(difference_deg: Floats) -> Floats: ...
def wrap_deg(difference_deg: float | Floats) -> float | Floats:
    """A difference of headings wrapped to −180 up to, not including, 180 degrees."""
    return (difference_deg + 180.0) % 360.0 - 180.0


def compass_deg(angle_deg: float) -> float:
    """A direction from 0 up to, not including, 360 degrees."""
    around = angle_deg % 360.0
    return 0.0 if around == 360.0 else around  # a hair below 0 is rounded up to a whole turn


def along_heading(east_m: Floats, north_m: Floats, heading_deg: float) -> tuple[Floats, Floats]:
    """Metres to the right of and ahead along a heading."""
    cos, sin = np.cos(np.radians(heading_deg)), np.sin(np.radians(heading_deg))
    return east_m * cos - north_m * sin, east_m * sin + north_m * cos


def from_heading(right_m: Floats, ahead_m: Floats, heading_deg: float) -> tuple[Floats, Floats]:
    """Metres east and north, from metres to the right of and ahead along a heading."""
    return along_heading(right_m, ahead_m, -heading_deg)
