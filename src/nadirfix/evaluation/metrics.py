"""Records in, table out: how good the answers are, in metres and in percentages of all photos.

Nothing here opens a file or a network. A photo that got no fix, or an error, is a miss: it counts in every
share and makes the median over all photos worse; it is left out only where a number says "of the answered".
An unverified position is an answer like any other, and is counted apart besides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nadirfix.errors import InputError
from nadirfix.geo.angle import wrap_deg
from nadirfix.types import Fix, Point

__all__ = [
    "NEAR_M",
    "QueryRecord",
    "as_top1",
    "best_of_m",
    "by_altitude",
    "calibration_measures",
    "compared",
    "error_m",
    "heading_error_deg",
    "measures",
    "metrics",
    "top1_error_m",
    "unsigned_altitude_error_m",
]

#: A reference or an answer nearer than this is the right place; one farther off is a wrong fix.
NEAR_M = 100.0

_POSITION_M = (5, 10, 25, 50)
_ALTITUDE_M = (25, 50, 100)
_RANKS = (1, 5)
_BAND_M = 100.0
_LEVELS = (50, 68, 80, 90, 95, 99)
_STEPS = 40
_CLOSE_M = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryRecord:
    """One photo: where it truly was taken, and what came back: a fix, "no fix", or an error."""

    photo: str
    truth: Point
    altitude_m: float | None = None
    heading_deg: float | None = None
    fix: Fix | None = None
    error: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if (self.fix is None) == (self.error is None):
            raise ValueError("a record holds either what was found or what went wrong")

    @property
    def answered(self) -> bool:
        """Whether a position came back."""
        return self.fix is not None and self.fix.position is not None

    @property
    def status(self) -> str:
        """What became of the photo: fix, unverified, no_fix or error."""
        return self.fix.status if self.fix else "error"


def metrics(
    records: Sequence[QueryRecord], *, peak_rss_mb: float | None = None, exif_pose: bool = False
) -> dict[str, Any]:
    """Everything ``metrics.json`` says about one set of answers."""
    whole = measures(records)
    whole["error_codes"] = dict(Counter(record.error["code"] for record in records if record.error))
    whole["by_altitude"] = by_altitude(records)
    whole |= calibration_measures(records)
    whole["timings_ms"] = _timings_ms(records)
    return whole | {"peak_rss_mb": peak_rss_mb, "exif_pose": exif_pose}


def measures(records: Sequence[QueryRecord]) -> dict[str, Any]:
    """How many were found, how far off, how high off: shares are percentages of all these photos."""
    _check(records)
    errors = [error_m(record) for record in records]
    answered = [error for error in errors if math.isfinite(error)]
    return {
        "queries": len(records),
        "answered": len(answered),
        "unverified": sum(record.status == "unverified" for record in records),
        "wrong_fix": sum(error > NEAR_M for error in answered),
        "errors": sum(record.error is not None for record in records),
        "altitude": _altitude(records),
        "recall": {f"r{k}": _recall(records, k) for k in _RANKS},
        "s_loc": _within(errors),
        "error_m": {
            "median": _quantile(answered, 0.5),
            "p90": _quantile(answered, 0.9),
            "median_all": _quantile(errors, 0.5),
        },
        "heading_deg": {"median": _quantile(_known(map(heading_error_deg, records)), 0.5)},
    }


def by_altitude(records: Sequence[QueryRecord]) -> list[dict[str, Any]]:
    """The same measures for every hundred metres of true altitude; photos of unknown altitude come last."""
    bands: dict[float, list[QueryRecord]] = {}
    for record in records:
        low = math.inf if record.altitude_m is None else record.altitude_m // _BAND_M * _BAND_M
        bands.setdefault(low, []).append(record)
    return [_band(low, bands[low]) for low in sorted(bands)]


def calibration_measures(records: Sequence[QueryRecord]) -> dict[str, Any]:
    """Whether radius and confidence mean what they say; empty where no answer carries them."""
    sized = [r for r in records if r.answered and r.fix and r.fix.radius95_m is not None]
    rated = [r for r in records if r.answered and r.fix and r.fix.confidence is not None]
    return {"radius95": _radius95(sized), "risk_coverage": _risk_coverage(rated, len(records))}


def compared(columns: Mapping[str, Sequence[QueryRecord]]) -> list[dict[str, Any]]:
    """One row for each way of knowing the altitude, with the weighted answer beside the nearest reference."""
    return [_compared_row(name, records) for name, records in columns.items()]


def error_m(record: QueryRecord) -> float:
    """Metres between answer and truth; infinite where there is no answer."""
    position = record.fix.position if record.fix else None
    return record.truth.distance_m(position) if position else math.inf


def top1_error_m(record: QueryRecord) -> float:
    """Metres between the most similar reference and the truth; infinite where there is no answer."""
    return best_of_m(record, 1)


def best_of_m(record: QueryRecord, count: int) -> float:
    """The smallest distance from the truth among the first references; infinite without an answer."""
    found = record.fix.candidates if record.fix and record.answered else None
    if found is None or len(found) == 0:
        return math.inf
    return min(record.truth.distance_m(found.point(rank)) for rank in range(min(count, len(found))))


def unsigned_altitude_error_m(record: QueryRecord) -> float | None:
    """Metres between the altitude that was found and the true one; None where either is unknown."""
    found = record.fix.altitude_m if record.fix else None
    return None if found is None or record.altitude_m is None else abs(found - record.altitude_m)


def heading_error_deg(record: QueryRecord) -> float | None:
    """The angle between the heading that was found and the true one, 0 to 180; None where one is unknown."""
    found = record.fix.heading_deg if record.fix and record.answered else None
    if found is None or record.heading_deg is None:
        return None
    return abs(wrap_deg(found - record.heading_deg))


def as_top1(record: QueryRecord) -> QueryRecord:
    """The record as if the most similar reference were the answer, without any weighting."""
    fix = record.fix
    if fix is None or fix.position is None or not fix.candidates:
        return record
    return replace(record, fix=replace(fix, position=fix.candidates.point(0)))


def _radius95(sized: Sequence[QueryRecord]) -> dict[str, Any]:
    """How often the truth lies within the radius that was given, at its own level and at others."""
    radii = [(r.fix.radius95_m if r.fix else None) or 0.0 for r in sized]
    far = [error_m(r) / max(radius, 1e-9) for r, radius in zip(sized, radii, strict=True)]
    inside = {level: _percent(sum(f <= _of_95(level) for f in far), len(far)) for level in _LEVELS if far}
    levels = [{"level": level, "inside": share} for level, share in inside.items()]
    known = {"fixes": len(sized), "coverage": inside.get(95), "median_m": _quantile(radii, 0.5)}
    return known | {"levels": levels}


def _of_95(level: float) -> float:
    """The radius for a share of cases as a multiple of the one for 95 %, for Gaussian errors in the plane."""
    return math.sqrt(math.log(1 - level / 100) / math.log(0.05))


def _risk_coverage(rated: Sequence[QueryRecord], queries: int) -> list[dict[str, float]]:
    """What a pilot gets who believes only the surest answers: how many, and how many of them are wrong."""
    ranked = sorted(rated, key=_confidence, reverse=True)
    wrong = np.cumsum([error_m(r) > NEAR_M for r in ranked])
    beyond = np.cumsum([error_m(r) > _CLOSE_M for r in ranked])
    stops = sorted({round(k * len(ranked) / _STEPS) for k in range(1, _STEPS + 1)} - {0})
    return [
        {
            "confidence": _confidence(ranked[n - 1]),
            "answered": _percent(n, queries),
            "wrong_fix": _percent(int(wrong[n - 1]), n),
            "beyond_10_m": _percent(int(beyond[n - 1]), n),
        }
        for n in stops
    ]


def _confidence(record: QueryRecord) -> float:
    return (record.fix.confidence if record.fix else None) or 0.0


def _check(records: Sequence[QueryRecord]) -> None:
    if not records:
        raise InputError(
            "manifest.invalid",
            "there is nothing to measure",
            seen="no photos",
            do="give a manifest with at least one photo",
        )


def _within(errors: Sequence[float]) -> dict[str, float]:
    """Shares within some metres of the truth; at a hundred "within" is strict, as the method has it."""
    shares = {str(limit): _percent(sum(e <= limit for e in errors), len(errors)) for limit in _POSITION_M}
    return shares | {f"{NEAR_M:.0f}": _percent(sum(e < NEAR_M for e in errors), len(errors))}


def _altitude(records: Sequence[QueryRecord]) -> dict[str, Any]:
    """Altitude errors, of the photos whose true altitude is known; one without an estimate is a miss."""
    judged = [record for record in records if record.altitude_m is not None]
    errors = _known(map(unsigned_altitude_error_m, judged))
    mean = float(np.mean(errors)) if errors else None
    shares = {f"within_{d}_m": _percent(sum(e <= d for e in errors), len(judged)) for d in _ALTITUDE_M}
    return {"e_avg_m": mean, **(shares if judged else dict.fromkeys(shares)), "queries": len(judged)}


def _band(low_m: float, records: Sequence[QueryRecord]) -> dict[str, Any]:
    known = math.isfinite(low_m)
    edges = {"from_m": low_m if known else None, "to_m": low_m + _BAND_M if known else None}
    return edges | measures(records)


def _compared_row(name: str, records: Sequence[QueryRecord]) -> dict[str, Any]:
    weighted, plain = measures(records), measures([as_top1(record) for record in records])
    return {
        "altitude": name,
        **weighted["recall"],
        "s_loc_10": weighted["s_loc"]["10"],
        "s_loc_100_wce": weighted["s_loc"]["100"],
        "s_loc_100_top1": plain["s_loc"]["100"],
        "median_wce_m": weighted["error_m"]["median_all"],
        "median_top1_m": plain["error_m"]["median_all"],
    }


def _timings_ms(records: Iterable[QueryRecord]) -> dict[str, dict[str, float | None]]:
    """Median, 90th percentile and largest time of every stage, over the photos that went through it."""
    spent: dict[str, list[float]] = {}
    for record in records:
        for stage, time_ms in (record.fix.timings_ms if record.fix else {}).items():
            spent.setdefault(stage, []).append(time_ms)
    return {
        stage: {"median": _quantile(times, 0.5), "p90": _quantile(times, 0.9), "max": max(times)}
        for stage, times in spent.items()
    }


def _recall(records: Sequence[QueryRecord], count: int) -> float:
    return _percent(sum(best_of_m(record, count) < NEAR_M for record in records), len(records))


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which this share lies; None when there is none, or when it is infinite.

    Between two values it is interpolated; beside an infinite one it is infinite, never "not a number".
    """
    if not values:
        return None
    ranked = sorted(values)
    at = share * (len(ranked) - 1)
    low, high = ranked[math.floor(at)], ranked[math.ceil(at)]
    part = at - math.floor(at)
    value = low if low == high or part == 0 else low + (high - low) * part
    return value if math.isfinite(value) else None
