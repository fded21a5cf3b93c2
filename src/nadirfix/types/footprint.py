"""The outline of a frame on flat ground: a rectangle straight down, else the true quadrilateral (ADR 56)."""

from __future__ import annotations

import math
from itertools import pairwise

from nadirfix.types import Fix

__all__ = ["footprint_of"]

#: A ray this far from straight down reaches the ground eleven altitudes away; beyond is horizon and sky.
_FARTHEST = math.cos(math.radians(85.0))
_Ray = tuple[float, float, float]  # along the tilt, across it to the right, and down


def footprint_of(fix: Fix) -> list[list[float]] | None:
    """Longitude and latitude of the frame's corners: from the top left, against the clock.

    A frame that reaches the horizon is cut off 85° from straight down, which may leave five corners.
    """
    if fix.position is None or fix.footprint_m is None or fix.heading_deg is None:
        return None
    if not fix.tilt_deg or fix.altitude_m is None:
        corners = _straight_down(fix.footprint_m, fix.heading_deg)
    else:
        corners = _tilted(fix, fix.footprint_m, fix.altitude_m, fix.tilt_deg)
    return [list(fix.position.moved(east_m, north_m).lonlat) for east_m, north_m in corners]


def _straight_down(footprint_m: tuple[float, float], heading_deg: float) -> list[tuple[float, float]]:
    """Metres east and north of the middle, of each corner of a frame that is not tilted."""
    half_w, half_h = footprint_m[0] / 2, footprint_m[1] / 2
    corners = [(-half_w, half_h), (-half_w, -half_h), (half_w, -half_h), (half_w, half_h)]
    return [_turned(right, ahead, heading_deg) for right, ahead in corners]


def _tilted(
    fix: Fix, footprint_m: tuple[float, float], altitude_m: float, tilt_deg: float
) -> list[tuple[float, float]]:
    """The same of a tilted one: each corner's ray is tilted, and counted from where the middle's ends."""
    tilt, toward_deg = math.radians(tilt_deg), fix.tilt_toward_deg or 0.0
    level = _straight_down(footprint_m, (fix.heading_deg or 0.0) - toward_deg)
    upright = [(ahead / altitude_m, right / altitude_m) for right, ahead in level]
    cos, sin = math.cos(tilt), math.sin(tilt)
    rays = [(ahead * cos + sin, right, cos - ahead * sin) for ahead, right in upright]
    ground = [(altitude_m * a / down, altitude_m * r / down) for a, r, down in _below_horizon(rays)]
    middle_m = altitude_m * math.tan(tilt)
    return [_turned(right, ahead - middle_m, toward_deg) for ahead, right in ground]


def _below_horizon(corners: list[_Ray]) -> list[_Ray]:
    """The frame's rays, with those at the horizon replaced by where its sides come near it."""
    kept: list[_Ray] = []
    for one, other in pairwise([*corners, corners[0]]):
        if _down(one) >= 0:
            kept.append(one)
        if (_down(one) >= 0) != (_down(other) >= 0):
            kept.append(_between(one, other))
    return kept


def _down(ray: _Ray) -> float:
    """Above zero where a ray points down steeply enough."""
    return ray[2] - _FARTHEST * math.hypot(*ray)


def _between(one: _Ray, other: _Ray) -> _Ray:
    """Where the side between two corners is as steep as counts."""
    low, high = (one, other) if _down(one) >= 0 else (other, one)
    for _ in range(50):
        a, b, c = ((x + y) / 2 for x, y in zip(low, high, strict=True))
        low, high = ((a, b, c), high) if _down((a, b, c)) >= 0 else (low, (a, b, c))
    return low


def _turned(right_m: float, ahead_m: float, heading_deg: float) -> tuple[float, float]:
    """Metres east and north, from metres to the right of and ahead along a direction."""
    sin, cos = math.sin(math.radians(heading_deg)), math.cos(math.radians(heading_deg))
    return right_m * cos + ahead_m * sin, ahead_m * cos - right_m * sin
