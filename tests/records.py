"""Records of queries that tests make up: any truth, any answer, any candidates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.types import Candidates, Fix, Point, status_of

EPSG = 32633
TRUTH = Point(500_000.0, 5_400_000.0, EPSG)


def candidates(offsets_m: Sequence[tuple[float, float]], *, truth: Point = TRUTH) -> Candidates:
    """References at these metres east and north of the truth, nearest-looking first."""
    n = len(offsets_m)
    east = np.array([truth.east_m + e for e, _ in offsets_m], float)
    north = np.array([truth.north_m + m for _, m in offsets_m], float)
    cell = np.stack([east // 100, north // 100], axis=1).astype(np.int64).reshape(n, 2)
    turn = np.arange(n) * 30.0 % 360
    return Candidates(np.arange(n), east, north, turn, 0.1 + 0.05 * np.arange(n), cell, truth.epsg)


def record(
    offset_m: tuple[float, float] | None = (0.0, 0.0),
    *,
    candidates_m: Sequence[tuple[float, float]] = ((0.0, 0.0),),
    truth: Point = TRUTH,
    altitude_m: float | None = 200.0,
    estimate_m: float | None = 225.0,
    heading_deg: float | None = 10.0,
    answer_deg: float | None = 0.0,
    photo: str = "photo.jpg",
    total_ms: float = 40.0,
    verified: bool | None = True,
) -> QueryRecord:
    """A photo whose answer lies at this offset from the truth; no offset means no fix."""
    near = candidates(candidates_m, truth=truth)
    weights = np.full(len(near), 1 / max(len(near), 1))
    shared = {"photo": photo, "altitude_m": estimate_m, "candidates": near, "weights": weights}
    times = {"altitude": total_ms / 4, "total": total_ms}
    if offset_m is None:
        fix = Fix(status="no_fix", position=None, reason="made up", timings_ms=times, **shared)
    else:
        place = truth.moved(*offset_m)
        shared |= {"status": status_of(place, verified), "verified": verified}
        fix = Fix(position=place, heading_deg=answer_deg, timings_ms=times, **shared)
    return QueryRecord(photo=photo, truth=truth, altitude_m=altitude_m, heading_deg=heading_deg, fix=fix)


def failed(
    *, altitude_m: float | None = 200.0, photo: str = "broken.jpg", truth: Point = TRUTH
) -> QueryRecord:
    """A photo that could not be read."""
    error = {"code": "photo.unreadable", "message": "the photo cannot be read: broken.jpg", "hint": "copy it"}
    return QueryRecord(photo=photo, truth=truth, altitude_m=altitude_m, error=error)
