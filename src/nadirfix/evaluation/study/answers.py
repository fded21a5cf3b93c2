"""Answers as plain data and back, so that an evaluation that was stopped can go on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Candidates, Fix, Point, status_of

__all__ = ["Answers", "answer_from_plain", "plain_from_answer", "record_of"]

#: What came back for one photo, by the variant it was located with.
Answers = dict[str, QueryRecord]

Plain = dict[str, Any]

_ANSWER = (
    "altitude_m",
    "gsd_m",
    "heading_deg",
    "confidence",
    "radius95_m",
    "reason",
    "reason_code",
    "crop_clamped",
)
_VERIFICATION = ("verified", "inliers", "tilt_deg", "tilt_toward_deg")
_PLAIN = (*_ANSWER, *_VERIFICATION)


def record_of(
    name: str, row: PhotoRecord, *, fix: Fix | None = None, error: Mapping[str, str] | None = None
) -> QueryRecord:
    """What came back for a photo, beside its truth."""
    return QueryRecord(
        photo=name,
        truth=row.point,
        altitude_m=row.altitude_m,
        heading_deg=row.heading_deg,
        fix=fix,
        error=error,
    )


def plain_from_answer(record: QueryRecord) -> Plain:
    """One answer as JSON can hold it."""
    fix = record.fix
    if fix is None:
        return {"error": dict(record.error or {})}
    plain: Plain = {name: getattr(fix, name) for name in _PLAIN}
    position = fix.position
    plain["position"] = None if position is None else [position.east_m, position.north_m, position.epsg]
    plain["candidates"] = _plain_candidates(fix.candidates)
    plain["weights"] = None if fix.weights is None else [float(w) for w in fix.weights]
    return plain | {"warnings": list(fix.warnings), "timings_ms": dict(fix.timings_ms)}


def answer_from_plain(plain: Mapping[str, Any], name: str, row: PhotoRecord) -> QueryRecord:
    """The answer as it was, beside the truth of its photo."""
    if "error" in plain:
        return record_of(name, row, error=plain["error"])
    position, weights = Point(*plain["position"]) if plain["position"] else None, plain["weights"]
    fix = Fix(
        photo=name,
        status=status_of(position, plain.get("verified")),
        position=position,
        candidates=_candidates(plain["candidates"]),
        weights=None if weights is None else np.array(weights, np.float64),
        warnings=tuple(plain["warnings"]),
        timings_ms=plain["timings_ms"],
        **{field: plain[field] for field in _PLAIN if field in plain},
    )
    return record_of(name, row, fix=fix)


def _plain_candidates(found: Candidates | None) -> Plain | None:
    if found is None:
        return None
    names = ("reference", "east_m", "north_m", "heading_deg", "distance", "cell")
    return {"epsg": found.epsg} | {name: getattr(found, name).tolist() for name in names}


def _candidates(plain: Mapping[str, Any] | None) -> Candidates | None:
    if plain is None:
        return None
    floats = {n: np.array(plain[n], np.float64) for n in ("east_m", "north_m", "heading_deg", "distance")}
    cell = np.array(plain["cell"], np.int64).reshape(-1, 2)
    return Candidates(
        reference=np.array(plain["reference"], np.int64), cell=cell, epsg=int(plain["epsg"]), **floats
    )
