"""Plots of a report: which lines and bars there are, and what they say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.evaluation.metrics import NEAR_M, QueryRecord, error_m, top1_error_m
from nadirfix.report.figure import Axis, Figure, linear_axis

__all__ = [
    "accuracy_by_altitude",
    "altitude_confusion",
    "coverage_curve",
    "error_curve",
    "risk_curve",
    "stage_times",
]

Floats = NDArray[np.float64]

_SHORTEST_M, _LONGEST_M = 1.0, 1000.0
#: Dashes of lines of the second and third kind.
_DASHED, _DOTTED = "7 5", "2 3"


def error_curve(columns: Mapping[str, Sequence[QueryRecord]]) -> str:
    """How many photos were located within how many metres, for each way of answering."""
    lines = [
        ("verified", "verified answer", error_m, "ink", ""),
        ("estimated", "weighted answer", error_m, "main", ""),
        ("estimated", "nearest reference", top1_error_m, "second", ""),
        ("true", "weighted, true altitude", error_m, "third", _DASHED),
        ("whole", "weighted, without altitude", error_m, "rest", _DASHED),
    ]
    curves = [
        (_curve([measure(r) for r in columns[column]]), label, colour, dash)
        for column, label, measure, colour, dash in lines
        if columns.get(column)
    ]
    farthest_m = max([_LONGEST_M, *(points[-1][0] for points, *_ in curves if points)])
    powers = range(math.floor(math.log10(farthest_m)) + 1)
    ticks = [(10.0**power, f"{10**power}") for power in powers]
    figure = Figure(
        Axis(_SHORTEST_M, farthest_m, ticks, "position error, metres", logarithmic=True),
        linear_axis(0, 100, "% of all photos"),
        grid="xy",
    )
    figure.line([(NEAR_M, 0), (NEAR_M, 100)], "soft", dash=_DOTTED, width=1.2)
    for points, label, colour, dash in curves:
        figure.steps(points, colour, dash=dash)
        figure.legend(label, colour, dash=dash)
    return figure.svg("Share of photos located within a distance, on a logarithmic scale of metres")


def _curve(errors: Sequence[float]) -> list[tuple[float, float]]:
    known = sorted(max(e, _SHORTEST_M) for e in errors if math.isfinite(e))
    return [(error, 100.0 * (k + 1) / len(errors)) for k, error in enumerate(known)]


def accuracy_by_altitude(bands: Sequence[Mapping[str, Any]]) -> str:
    """The share of photos located well, for every band of true altitude."""
    known = [band for band in bands if band["from_m"] is not None]
    names = [f"{band['from_m']:.0f}–{band['to_m']:.0f}\n{band['queries']}" for band in known]
    lines = [("100", "within 100 m", "main"), ("50", "within 50 m", "third"), ("25", "within 25 m", "second")]
    across = Axis(-0.5, max(len(known), 1) - 0.5, list(enumerate(names)), "true altitude, metres; photos")
    figure = Figure(across, linear_axis(0, 100, "% of the band's photos"), grid="y")
    for k, (limit, label, colour) in enumerate(lines):
        figure.legend(label, colour)
        for at, band in enumerate(known):
            left = at + (k - 1.5) * 0.27
            figure.box((left, left + 0.25), (0, band["s_loc"][limit]), colour)
    return figure.svg("Share of photos located within 100, 50 and 25 metres by band of true altitude")


def altitude_confusion(records: Sequence[QueryRecord], edges_m: Sequence[float]) -> str:
    """Which altitude was found for which true one: a perfect altimeter fills the diagonal."""
    counts = _confusion(records, np.asarray(edges_m, np.float64))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = len(edges_m) - 1
    middles = [(k + 0.5, f"{(low + high) / 2:.0f}") for k, (low, high) in enumerate(pairwise(edges_m))]
    ticks = middles[:: max(1, round(size / 8))]
    figure = Figure(
        Axis(0, size, ticks, "altitude found, metres"), Axis(0, size, ticks, "true altitude, metres")
    )
    figure.line([(0, 0), (size, size)], "line", width=1)
    for row, col in np.argwhere(counts > 0).tolist():
        opacity = 0.12 + 0.88 * float(share[row, col])
        figure.box((col, col + 1), (row, row + 1), "main", opacity=opacity)
        figure.text(col + 0.5, row + 0.5, f"{counts[row, col]:.0f}")
    return figure.svg("Altitude classes: true altitude by row, altitude found by column")


def _confusion(records: Sequence[QueryRecord], edges_m: Floats) -> Floats:
    pairs = [
        (r.altitude_m, r.fix.altitude_m)
        for r in records
        if r.altitude_m is not None and r.fix and r.fix.altitude_m is not None
    ]
    spots = np.array(pairs, np.float64).reshape(-1, 2)
    # What lies outside the range is counted in the class at its edge, as the network itself would.
    inside = np.clip(spots, edges_m[0], np.nextafter(edges_m[-1], edges_m[0]))
    return np.asarray(np.histogram2d(inside[:, 0], inside[:, 1], bins=[edges_m, edges_m])[0], np.float64)


def coverage_curve(levels: Sequence[Mapping[str, float]]) -> str:
    """How many truths lie within the radius, for every share it could have promised."""
    across = linear_axis(0, 100, "promised, % of fixes")
    figure = Figure(across, linear_axis(0, 100, "inside, % of fixes"), grid="xy")
    points = [(0.0, 0.0), *((step["level"], step["inside"]) for step in levels)]
    figure.line([(0, 0), (100, 100)], "line", width=1.6)
    figure.line(points, "main")
    for promised, kept in points:
        figure.dot(promised, kept, "main")
    return figure.svg("Share of fixes whose truth lies within the radius, by the share that was promised")


def risk_curve(steps: Sequence[Mapping[str, float]]) -> str:
    """What is wrong among the surest answers, as more and more are believed."""
    lines = [("wrong_fix", "more than 100 m off", "main"), ("beyond_10_m", "more than 10 m off", "second")]
    most = max((step[name] for step in steps for name, *_ in lines), default=0.0)
    across = linear_axis(0, 100, "photos answered, surest first, %")
    figure = Figure(across, linear_axis(0, max(1.05 * most, 1.0), "% of the answered"), grid="xy")
    for name, label, colour in lines:
        figure.line([(step["answered"], step[name]) for step in steps], colour)
        figure.legend(label, colour)
    return figure.svg("Share of wrong answers among the surest ones, by how many are believed")


def stage_times(timings_ms: Mapping[str, Mapping[str, float]]) -> str:
    """How long each stage of locating a photo takes."""
    stages = [name for name in timings_ms if name != "total"][::-1]
    longest = max((timings_ms[stage]["p90"] for stage in stages), default=1.0)
    across = linear_axis(0, 1.03 * longest, "milliseconds: median, and 90th percentile as a mark")
    beside = Axis(-0.5, max(len(stages), 1) - 0.5, list(enumerate(stages)), "")
    figure = Figure(across, beside, grid="x", left_px=24 + 7.2 * max(map(len, stages), default=0))
    for at, stage in enumerate(stages):
        figure.box((0, timings_ms[stage]["median"]), (at - 0.3, at + 0.3), "main")
        slow = timings_ms[stage]["p90"]
        figure.line([(slow, at - 0.38), (slow, at + 0.38)], "ink", width=1.6)
    return figure.svg("Median time of every stage in milliseconds")
