"""Plots of a comparison: a curve, a bar and a dot for each method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nadirfix.evaluation.metrics import NEAR_M, QueryRecord, by_altitude, error_m
from nadirfix.report.figure import Axis, Figure, linear_axis

__all__ = ["error_curves", "share_bars", "shares_by_altitude", "time_and_share"]

Row = Mapping[str, Any]

_SHORTEST_M, _LONGEST_M = 1.0, 5000.0
#: Lines that can be told apart, also by those who see no colours: first by colour, then by dashes.
_COLOURS, _DASHES = ("main", "second", "third", "ink", "bad", "rest"), ("", "7 5", "2 3")
_CHARACTER_PX = 7.0


def error_curves(answers: Mapping[str, Sequence[QueryRecord]]) -> str:
    """How many photos each method locates within how many metres."""
    ticks = [(10.0**power, f"{10**power}") for power in range(int(math.log10(_LONGEST_M)) + 1)]
    across = Axis(_SHORTEST_M, _LONGEST_M, ticks, "position error, metres", logarithmic=True)
    figure = Figure(across, linear_axis(0, 100, "% of all photos"), grid="xy")
    figure.line([(NEAR_M, 0), (NEAR_M, 100)], "soft", dash=_DASHES[2], width=1.2)
    for at, (name, records) in enumerate(answers.items()):
        figure.steps(_curve([error_m(record) for record in records]), *_style(at)[:1], dash=_style(at)[1])
        figure.legend(name, _style(at)[0], dash=_style(at)[1])
    return figure.svg("Share of photos each method locates within a distance, on a logarithmic scale")


def share_bars(rows: Sequence[Row]) -> str:
    """The share of each method within a hundred metres, and how far chance would move it."""
    names = [row["name"] for row in rows][::-1]
    beside = Axis(-0.5, max(len(names), 1) - 0.5, list(enumerate(names)), "")
    across = linear_axis(0, 100, "% of all photos within 100 m")
    figure = Figure(across, beside, grid="x", left_px=24 + _CHARACTER_PX * max(map(len, names), default=0))
    for at, row in enumerate(rows[::-1]):
        low, high = row["intervals"]["s_loc_100"]
        figure.box((0, row["s_loc"]["100"]), (at - 0.28, at + 0.28), "main", opacity=0.75)
        figure.line([(low, at), (high, at)], "ink", width=1.6)
        for end in (low, high):
            figure.line([(end, at - 0.14), (end, at + 0.14)], "ink", width=1.6)
    return figure.svg("Share of photos within 100 metres for each method, with its 95 percent interval")


def time_and_share(rows: Sequence[Row]) -> str:
    """What a method's time buys: milliseconds a photo against the share it locates."""
    timed = [row for row in rows if row["ms"]["median"]]
    times = [row["ms"]["median"] for row in timed] or [1.0]
    low = 10.0 ** math.floor(math.log10(min(times)))
    high = 2.0 * max(*times, 2 * low)
    powers = range(round(math.log10(low)), math.floor(math.log10(high)) + 1)
    ticks = [(10.0**power, f"{10.0**power:g}") for power in powers]
    figure = Figure(
        Axis(low, high, ticks, "milliseconds a photo, median", logarithmic=True),
        linear_axis(0, 100, "% within 100 m"),
        grid="xy",
    )
    for at, row in enumerate(timed):
        figure.dot(row["ms"]["median"], row["s_loc"]["100"], _style(at)[0])
        figure.legend(row["name"], _style(at)[0])
    return figure.svg("Share within 100 metres against milliseconds a photo, one dot for each method")


def shares_by_altitude(answers: Mapping[str, Sequence[QueryRecord]]) -> str:
    """The share within a hundred metres for every band of true altitude, a line for each method."""
    found = {name: by_altitude(records) for name, records in answers.items()}
    bands = [band for band in next(iter(found.values()), []) if band["from_m"] is not None]
    names = [f"{band['from_m']:.0f}–{band['to_m']:.0f}\n{band['queries']}" for band in bands]
    across = Axis(-0.5, max(len(bands), 1) - 0.5, list(enumerate(names)), "true altitude, metres; photos")
    figure = Figure(across, linear_axis(0, 100, "% of the band's photos within 100 m"), grid="y")
    for at, (name, rows) in enumerate(found.items()):
        points = [(k, row["s_loc"]["100"]) for k, row in enumerate(rows[: len(bands)])]
        figure.line(points, _style(at)[0], dash=_style(at)[1])
        for place, share in points:
            figure.dot(place, share, _style(at)[0])
        figure.legend(name, _style(at)[0], dash=_style(at)[1])
    return figure.svg("Share of photos within 100 metres by band of true altitude, a line for each method")


def _style(at: int) -> tuple[str, str]:
    return _COLOURS[at % len(_COLOURS)], _DASHES[at // len(_COLOURS) % len(_DASHES)]


def _curve(errors: Sequence[float]) -> list[tuple[float, float]]:
    """Error and share of all photos that are no worse; photos without an answer never come."""
    known = sorted(error for error in errors if math.isfinite(error))
    share = 100.0 / max(len(errors), 1)
    points = [(max(error, _SHORTEST_M), (k + 1) * share) for k, error in enumerate(known)]
    inside = [point for point in points if point[0] <= _LONGEST_M]
    last = inside[-1][1] if inside else 0.0
    return [(_SHORTEST_M, 0.0), *inside, (_LONGEST_M, last)]
