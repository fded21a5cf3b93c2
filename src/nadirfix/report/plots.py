"""Plots of a report, drawn by matplotlib as SVG that takes its colours from the page, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.evaluation.metrics import NEAR_M, QueryRecord, error_m, top1_error_m

__all__ = [
    "accuracy_by_altitude",
    "altitude_confusion",
    "coverage_curve",
    "error_curve",
    "risk_curve",
    "stage_times",
]

Floats = NDArray[np.float64]

#: Stand-ins that matplotlib draws with; each becomes a colour of the page.
_INK, _SOFT, _LINE, _MAIN, _SECOND, _THIRD, _REST = (f"#0{k}0{k}0{k}" for k in range(1, 8))
_PAGE = {
    _INK: "var(--ink)", _SOFT: "var(--soft)", _LINE: "var(--line)", _MAIN: "var(--main)",
    _SECOND: "var(--second)", _THIRD: "var(--third)", _REST: "var(--rest)",
}  # fmt: skip
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none", "font.size": 10.5, "axes.edgecolor": _LINE, "axes.labelcolor": _SOFT,
    "xtick.color": _SOFT, "ytick.color": _SOFT, "text.color": _INK, "axes.spines.top": False,
    "axes.spines.right": False, "grid.color": _LINE, "grid.linewidth": 0.8, "legend.frameon": False,
    "xtick.major.size": 0, "ytick.major.size": 0, "xtick.minor.size": 0, "lines.linewidth": 2.2,
}  # fmt: skip
_SIZE_IN = (5.0, 3.5)
_SHORTEST_M = 1.0


def error_curve(columns: Mapping[str, Sequence[QueryRecord]]) -> str:
    """How many photos were located within how many metres, for each way of answering."""
    lines = [
        ("verified", "verified answer", error_m, _INK, "-"),
        ("estimated", "weighted answer", error_m, _MAIN, "-"),
        ("estimated", "nearest reference", top1_error_m, _SECOND, "-"),
        ("true", "weighted, true altitude", error_m, _THIRD, "--"),
        ("whole", "weighted, without altitude", error_m, _REST, "--"),
    ]

    def draw(axes: Any) -> None:
        for column, label, measure, colour, dash in lines:
            if columns.get(column):
                _curve(axes, [measure(r) for r in columns[column]], label, colour, dash)
        axes.axvline(NEAR_M, color=_SOFT, linewidth=1, linestyle=":")
        axes.set(xscale="log", ylim=(0, 100), xlabel="position error, metres", ylabel="% of all photos")
        axes.set_xlim(left=_SHORTEST_M)
        axes.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
        axes.grid(True, which="major")
        axes.legend(loc="lower left", fontsize=9, ncols=2, bbox_to_anchor=(-0.02, 1.0))

    return _svg(draw, "Share of photos located within a distance, on a logarithmic scale of metres")


def _curve(axes: Any, errors: Sequence[float], label: str, colour: str, dash: str) -> None:
    known = np.sort(np.array([max(e, _SHORTEST_M) for e in errors if np.isfinite(e)]))
    share = 100.0 * np.arange(1, known.size + 1) / len(errors)
    axes.step(known, share, where="post", color=colour, linestyle=dash, label=label)


def accuracy_by_altitude(bands: Sequence[Mapping[str, Any]]) -> str:
    """The share of photos located well, for every band of true altitude."""
    known = [band for band in bands if band["from_m"] is not None]
    names = [f"{band['from_m']:.0f}–{band['to_m']:.0f}" for band in known]
    lines = [("100", "within 100 m", _MAIN), ("50", "within 50 m", _THIRD), ("25", "within 25 m", _SECOND)]

    def draw(axes: Any) -> None:
        at = np.arange(len(known))
        for k, (limit, label, colour) in enumerate(lines):
            shares = [band["s_loc"][limit] for band in known]
            axes.bar(at + (k - 1) * 0.27, shares, 0.25, color=colour, label=label)
        axes.set_xticks(at, [f"{n}\n{b['queries']}" for n, b in zip(names, known, strict=True)])
        axes.set(ylim=(0, 100), ylabel="% of the band's photos")
        axes.set_xlabel("true altitude, metres (below: photos)")
        axes.grid(True, axis="y")
        axes.set_axisbelow(True)
        axes.tick_params(axis="x", labelsize=9)
        axes.legend(loc="lower left", fontsize=9, ncols=3, bbox_to_anchor=(-0.02, 1.0))

    return _svg(draw, "Share of photos located within 100, 50 and 25 metres by band of true altitude")


def altitude_confusion(records: Sequence[QueryRecord], edges_m: Sequence[float]) -> str:
    """Which altitude was found for which true one: a perfect altimeter fills the diagonal."""
    counts = _confusion(records, np.asarray(edges_m, np.float64))
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = [f"{(low + high) / 2:.0f}" for low, high in pairwise(edges_m)]

    def draw(axes: Any) -> None:
        for row, col in np.argwhere(counts > 0):
            cell = axes.fill([col, col + 1, col + 1, col], [row, row, row + 1, row + 1], color=_MAIN)[0]
            cell.set_alpha(0.12 + 0.88 * float(share[row, col]))
            axes.text(
                col + 0.5, row + 0.48, f"{counts[row, col]:.0f}", ha="center", va="center", fontsize=7.5
            )
        size = len(names)
        axes.plot([0, size], [0, size], color=_LINE, linewidth=1, zorder=0)
        axes.set(xlim=(0, size), ylim=(0, size))
        step = max(1, round(size / 8))
        axes.set_xticks(np.arange(0, size, step) + 0.5, names[::step])
        axes.set_yticks(np.arange(0, size, step) + 0.5, names[::step])
        axes.set(xlabel="altitude found, metres", ylabel="true altitude, metres")

    return _svg(draw, "Altitude classes: true altitude by row, altitude found by column")


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

    def draw(axes: Any) -> None:
        axes.plot([0, 100], [0, 100], color=_LINE, linewidth=1.5)
        promised, kept = ([step[name] for step in levels] for name in ("level", "inside"))
        axes.plot([0, *promised], [0, *kept], "o-", color=_MAIN, markersize=5)
        axes.set(xlim=(0, 100), ylim=(0, 102), xlabel="promised, % of fixes", ylabel="inside, % of fixes")
        axes.grid(True)

    return _svg(draw, "Share of fixes whose truth lies within the radius, by the share that was promised")


def risk_curve(steps: Sequence[Mapping[str, float]]) -> str:
    """What is wrong among the surest answers, as more and more are believed."""
    lines = [("wrong_fix", "more than 100 m off", _MAIN), ("beyond_10_m", "more than 10 m off", _SECOND)]

    def draw(axes: Any) -> None:
        answered = [step["answered"] for step in steps]
        for name, label, colour in lines:
            axes.plot(answered, [step[name] for step in steps], color=colour, label=label)
        axes.set(xlim=(0, 100), xlabel="photos answered, surest first, %", ylabel="% of the answered")
        axes.set_ylim(bottom=0)
        axes.grid(True)
        axes.legend(loc="lower left", fontsize=9, ncols=2, bbox_to_anchor=(-0.02, 1.0))

    return _svg(draw, "Share of wrong answers among the surest ones, by how many are believed")


def stage_times(timings_ms: Mapping[str, Mapping[str, float]]) -> str:
    """How long each stage of locating a photo takes."""
    stages = [name for name in timings_ms if name != "total"][::-1]

    def draw(axes: Any) -> None:
        at = np.arange(len(stages))
        axes.barh(at, [timings_ms[s]["median"] for s in stages], 0.6, color=_MAIN)
        slow = [timings_ms[s]["p90"] for s in stages]
        axes.plot(slow, at, "|", color=_INK, markersize=14, markeredgewidth=1.6)
        axes.set_yticks(at, stages)
        axes.set_xlabel("milliseconds: median, and 90th percentile as a mark")
        axes.grid(True, axis="x")
        axes.set_axisbelow(True)

    return _svg(draw, "Median time of every stage in milliseconds")


def _svg(draw: Any, label: str) -> str:
    """One plot as an SVG element of the page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "svg.hashsalt": label}):
        figure = Figure(figsize=_SIZE_IN, layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        draw(axes)
        target = io.StringIO()
        # No date and no version: the same answers give the same page.
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return _of_the_page(target.getvalue(), label)


def _of_the_page(svg: str, label: str) -> str:
    """The drawing without its own header, fonts and colours: the page has them."""
    inside = svg[svg.index("<svg") :]
    inside = re.sub(r"<metadata>.*?</metadata>", "", inside, flags=re.DOTALL)
    inside = re.sub(r' id="[a-z0-9.]+_\d+"', "", inside)  # two plots must not share names
    inside = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px var(--font)", inside)
    for stand_in, colour in _PAGE.items():
        inside = inside.replace(stand_in, colour)
    inside = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", inside, count=1)
    inside = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", inside, count=1)
    return inside.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
