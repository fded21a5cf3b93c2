"""A fix as one line of JSON: every field is always there, unknown is null.

The outline of its frame on flat ground is a rectangle straight down, else the true quadrilateral (ADR 56).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from nadirfix.types import AltitudeEstimate, Candidates, Fix, KnownAltitude

__all__ = ["fix_record", "footprint_of"]


#: A ray this far from straight down reaches the ground eleven altitudes away; beyond is horizon and sky.
_FARTHEST = math.cos(math.radians(85.0))
_Ray = tuple[float, float, float]  # along the tilt, across it to the right, and down


def fix_record(fix: Fix) -> dict[str, Any]:
    """What ``nadirfix locate`` prints for this photo."""
    place = fix.position
    lon, lat = place.lonlat if place else (None, None)
    return {
        "photo": fix.photo,
        "status": fix.status,
        "lon": lon,
        "lat": lat,
        "easting_m": place.east_m if place else None,
        "northing_m": place.north_m if place else None,
        "epsg": place.epsg if place else None,
        "altitude_m": fix.altitude_m,
        "altitude_classes": _altitude_classes(fix.altitude),
        "altitude_sources": [_source(known) for known in fix.altitude_sources],
        "gsd_m": fix.gsd_m,
        "heading_deg": fix.heading_deg,
        "confidence": fix.confidence,
        "radius95_m": fix.radius95_m,
        "verified": fix.verified,
        "inliers": fix.inliers,
        "tilt_deg": fix.tilt_deg,
        "tilt_toward_deg": fix.tilt_toward_deg,
        "aircraft": _aircraft(fix),
        "reason": fix.reason,
        "reason_code": fix.reason_code,
        "crop_clamped": fix.crop_clamped,
        "warnings": list(fix.warnings),
        "footprint": footprint_of(fix),
        "candidates": _candidates(fix),
        "hypotheses": [_hypothesis(other) for other in fix.hypotheses],
        "timings_ms": dict(fix.timings_ms),
    }


def _altitude_classes(altitude: AltitudeEstimate | None) -> dict[str, list[float]] | None:
    """How likely each altitude is; null where it was given and not estimated."""
    if altitude is None:
        return None
    return {
        "altitude_m": [float(a) for a in altitude.centers_m],
        "probability": [float(p) for p in altitude.probabilities],
    }


def _source(known: KnownAltitude) -> dict[str, str | float]:
    """The altitude one source gives, and its standard deviation."""
    return {"source": known.source, "altitude_m": known.altitude_m, "sigma_m": known.sigma_m}


def _aircraft(fix: Fix) -> dict[str, Any] | None:
    """Where the aircraft was: not above the frame centre when the camera is tilted."""
    aircraft = fix.aircraft
    if aircraft is None:
        return None
    lon, lat = aircraft.position.lonlat
    return {
        "lon": lon,
        "lat": lat,
        "easting_m": aircraft.position.east_m,
        "northing_m": aircraft.position.north_m,
        "altitude_m": aircraft.altitude_m,
        "covariance_m2": [[float(v) for v in row] for row in aircraft.covariance_m2],
        "radius95_m": aircraft.radius95_m,
    }


def _hypothesis(other: Fix) -> dict[str, Any]:
    """Another position that was verified against the map, with its result."""
    whole = fix_record(other)
    names = ("lon", "lat", "easting_m", "northing_m", "epsg", "altitude_m", "heading_deg", "confidence")
    return {name: whole[name] for name in (*names, "radius95_m", "inliers")}


def _candidates(fix: Fix) -> list[dict[str, Any]]:
    candidates = fix.candidates
    return [] if candidates is None else [_candidate(fix, candidates, i) for i in range(len(candidates))]


def _candidate(fix: Fix, candidates: Candidates, i: int) -> dict[str, Any]:
    place = candidates.point(i)
    lon, lat = place.lonlat
    return {
        "rank": i + 1,
        "reference": int(candidates.reference[i]),
        "lon": lon,
        "lat": lat,
        "easting_m": place.east_m,
        "northing_m": place.north_m,
        "heading_deg": float(candidates.heading_deg[i]),
        "distance": float(candidates.distance[i]),
        "weight": None if fix.weights is None else float(fix.weights[i]),
        "cell": [int(v) for v in candidates.cell[i]],
    }


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
