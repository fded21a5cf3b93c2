"""A fix as one line of JSON: every field is always there, unknown is null."""

from __future__ import annotations

from typing import Any

from nadirfix.types import AltitudeEstimate, Candidates, Fix, KnownAltitude
from nadirfix.types.footprint import footprint_of

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
