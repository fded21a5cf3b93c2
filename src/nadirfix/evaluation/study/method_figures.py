"""The figures of one method, with what chance would do to them, and beside the first method's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.evaluation.metrics import NEAR_M, QueryRecord, best_of_m, error_m, measures
from nadirfix.evaluation.significance import difference_interval, interval, mcnemar_p, median

__all__ = ["beside_first", "figures_of"]

Flags = NDArray[np.bool_]

_LIMITS_M = (5, 10, 25, 50)
_PERCENT = 100.0


def figures_of(records: Sequence[QueryRecord]) -> dict[str, Any]:
    """Shares, medians and times of a method, each share and median with its 95 % interval."""
    whole, errors = measures(records), np.array([error_m(record) for record in records])
    shares = {name: _share_interval(flags) for name, flags in _right(records).items()}
    kept = ("queries", "answered", "wrong_fix", "errors", "recall", "s_loc", "altitude")
    return {
        **{name: whole[name] for name in kept},
        "median_m": whole["error_m"]["median_all"],
        "intervals": {**shares, "median_m": [_finite(end) for end in interval(errors, median)]},
        "ms": _times_ms(records),
    }


def beside_first(first: Sequence[QueryRecord], other: Sequence[QueryRecord]) -> dict[str, Any]:
    """How much better or worse on the same photos: difference, its interval, and the exact paired test."""
    ours, theirs = _right(first), _right(other)
    return {name: _difference(ours[name], theirs[name]) for name in ours}


def _right(records: Sequence[QueryRecord]) -> dict[str, Flags]:
    """Which photos count as right, by each measure."""
    ranked = {f"r{k}": [best_of_m(record, k) < NEAR_M for record in records] for k in (1, 5)}
    errors = np.array([error_m(record) for record in records])
    within = {f"s_loc_{limit}": errors <= limit for limit in _LIMITS_M}
    flags = {**ranked, **within, "s_loc_100": errors < NEAR_M}
    return {name: np.asarray(values, np.bool_) for name, values in flags.items()}


def _share_interval(flags: Flags) -> list[float]:
    return [_PERCENT * end for end in interval(flags, lambda drawn: drawn.mean(axis=1))]


def _difference(first: Flags, other: Flags) -> dict[str, Any]:
    low, high = difference_interval(first, other)
    return {
        "points": _PERCENT * (float(other.mean()) - float(first.mean())),
        "interval": [_PERCENT * low, _PERCENT * high],
        "only_first": int(np.sum(first & ~other)),
        "only_this": int(np.sum(other & ~first)),
        "p": mcnemar_p(first, other),
    }


def _times_ms(records: Sequence[QueryRecord]) -> dict[str, float | None]:
    """Median and 90th percentile of a photo's time, over those that were located."""
    spent = [r.fix.timings_ms["total"] for r in records if r.fix and "total" in r.fix.timings_ms]
    if not spent:
        return {"median": None, "p90": None}
    return {"median": float(np.median(spent)), "p90": float(np.percentile(spent, 90))}


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
