"""Figures in a text file, written by the command that measured them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nadirfix.errors import InputError
from nadirfix.files import atomic_file
from nadirfix.options.recipe import FitOptions

__all__ = ["figures_block", "put_block"]

_BEGIN, _END = "<!-- demo figures: begin -->", "<!-- demo figures: end -->"


def put_block(path: Path, block: str) -> None:
    """Replace what stands between the two marks of a file."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise InputError(
            "options.invalid",
            "there is no place for the figures in this file",
            seen=str(path),
            do=f"write the lines {_BEGIN} and {_END} where they belong",
        )
    with atomic_file(path) as scratch:
        scratch.write_text(f"{before}{_BEGIN}\n{block}\n{_END}{after}", encoding="utf-8")


def figures_block(told: Mapping[str, Any], setting: Mapping[str, Any]) -> str:
    """The demo's figures as Markdown: what was compared, and how far off the altitude was."""
    from nadirfix.report.content import COLUMN_NAMES
    from nadirfix.report.html import metres, percent

    lines = [
        _what(setting),
        "",
        "| | R@1 | R@5 | within 10 m | within 100 m | top-1 within 100 m | median |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in told["comparison"]:
        shares = [percent(row[k]) for k in ("r1", "r5", "s_loc_10", "s_loc_100_wce", "s_loc_100_top1")]
        lines.append(
            f"| {' | '.join([COLUMN_NAMES[row['altitude']], *shares, metres(row['median_wce_m'])])} |"
        )
    return "\n".join([*lines, "", _altitude(told)])


def _what(setting: Mapping[str, Any]) -> str:
    heights = f"{setting['low_m']:.0f} to {setting['high_m']:.0f} m"
    side = f"{setting['size_km']:g}"
    return (
        f"{setting['photos']} photos of the newer date from {heights}, on a map of the older date,"
        f" {side} × {side} km (seed {setting['seed']});"
        f" camera `{setting['camera']}`, recipe `{setting['recipe']}`,"
        f" {_made(setting)}:"
    )


def _made(setting: Mapping[str, Any]) -> str:
    if setting["trained"]:
        return "trained on the map"
    usual = FitOptions().views
    fewer = f" ({usual} are usual)" if setting["fit_views"] != usual else ""
    return f"nothing trained, altitude classes fitted to {setting['fit_views']} views of the map{fewer}"


def _altitude(told: Mapping[str, Any]) -> str:
    from nadirfix.report.html import metres, percent

    altitude = told["altitude"]
    within = ", ".join(f"{percent(altitude[f'within_{d}_m'])} within {d} m" for d in (25, 50, 100))
    return f"Altitude: {metres(altitude['e_avg_m'])} off in the mean, {within}."
