"""Figures in a text file, written by the command that measured them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nadirfix.errors import InputError
from nadirfix.files import atomic_file

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


def figures_block(metrics: Mapping[str, Any], setting: Mapping[str, Any]) -> str:
    """The demo's figures as Markdown: what was located, how often, and how far off."""
    from nadirfix.report.html import metres, percent

    cells = [
        percent(100.0 * metrics["answered"] / metrics["queries"]),
        str(metrics["wrong_fix"]),
        percent(metrics["s_loc"]["10"]),
        metres(metrics["error_m"]["median"]),
        metres(metrics["altitude"]["e_avg_m"]),
    ]
    head = "| answered | wrong (over 100 m off) | within 10 m | median error | mean altitude error |"
    return "\n".join([_what(setting), "", head, "|---|---|---|---|---|", f"| {' | '.join(cells)} |"])


def _what(setting: Mapping[str, Any]) -> str:
    heights = f"{setting['low_m']:.0f} to {setting['high_m']:.0f} m"
    side = f"{setting['size_km']:g}"
    training = "trained on the map" if setting["trained"] else "nothing trained"
    return (
        f"{setting['photos']} photos from {heights} of a made-up place, {side} × {side} km"
        f" (seed {setting['seed']}), on a map of an older date; camera `{setting['camera']}`,"
        f" recipe `{setting['recipe']}`, {training}:"
    )
