"""A fix as one line of JSON: every field is always there, unknown is null."""

from __future__ import annotations

import math
from typing import Any

from nadirfix.types import AltitudeEstimate, Candidates, Fix, KnownAltitude

__all__ = ["fix_record"]


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
        "footprint": _footprint(fix),
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


def _footprint(fix: Fix) -> list[list[float]] | None:
    """Longitude and latitude of the frame's corners: from the top left, against the clock."""
    if fix.position is None or fix.footprint_m is None or fix.heading_deg is None:
        return None
    sine, cosine = math.sin(math.radians(fix.heading_deg)), math.cos(math.radians(fix.heading_deg))
    half_w, half_h = fix.footprint_m[0] / 2, fix.footprint_m[1] / 2
    corners = [(-half_w, half_h), (-half_w, -half_h), (half_w, -half_h), (half_w, half_h)]
    level = [(x * cosine + y * sine, y * cosine - x * sine) for x, y in corners]
    return [list(fix.position.moved(*_tilted(fix, east, north)).lonlat) for east, north in level]


def _tilted(fix: Fix, east_m: float, north_m: float) -> tuple[float, float]:
    """Where a corner lies from the frame centre when the camera is tilted: farther on that side."""
    if not fix.tilt_deg or fix.altitude_m is None:
        return east_m, north_m
    tilt, toward = math.radians(fix.tilt_deg), math.radians(fix.tilt_toward_deg or 0.0)
    along_m = east_m * math.sin(toward) + north_m * math.cos(toward)
    across_m = east_m * math.cos(toward) - north_m * math.sin(toward)
    rise = math.cos(tilt) - along_m / fix.altitude_m * math.sin(tilt)
    # Along the tilt the ray is turned and meets the ground elsewhere; counted from where the centre's does.
    far_m = (along_m * math.cos(tilt) + fix.altitude_m * math.sin(tilt)) / rise
    far_m -= fix.altitude_m * math.tan(tilt)
    wide_m = across_m / rise
    return (
        far_m * math.sin(toward) + wide_m * math.cos(toward),
        far_m * math.cos(toward) - wide_m * math.sin(toward),
    )


def _aircraft(fix: Fix) -> dict[str, float | None] | None:
    """The ground point below the camera, which is not the frame centre when the camera is tilted."""
    place = fix.aircraft
    if place is None:
        return None
    lon, lat = place.lonlat
    where = {"lon": lon, "lat": lat, "easting_m": place.east_m, "northing_m": place.north_m}
    return {**where, "radius95_m": fix.aircraft_radius95_m}


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
