"""The method's own tables for this map: what each part is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from nadirfix.report.html import metres, percent, table

__all__ = ["HEAD", "TABLES", "ablation_cells", "ablation_tables"]

#: The tables in order, with what each asks.
TABLES = {
    "altitude": "Does knowing the altitude help?",
    "answer": "Weighted coordinate or nearest reference?",
    "input": "Spectrum or pixels for the altitude network?",
    "head": "Which classifier over the cells?",
    "bins": "How wide should altitude classes be?",
}
#: What the columns are.
HEAD = ["", "R@1", "R@5", "within 100 m", "median", "altitude off", "within 25 m", "50 m", "100 m"]


def ablation_tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """One table for each question."""
    parts = ["<h2>What each part is worth</h2>"]
    parts.append(
        "<p>The same photos with one thing changed at a time. Variants were trained on the map in the bundle"
        " with the same recipe otherwise; the row set apart is this bundle. The last three columns are shares"
        " of photos whose altitude was found within so many metres.</p>"
    )
    for name, question in TABLES.items():
        chosen = [row for row in rows if row["table"] == name]
        if chosen:
            parts.append(f"<h3>{escape(question)}</h3>")
            main = next((i for i, row in enumerate(chosen) if row["this_bundle"]), None)
            parts.append(table(HEAD, [ablation_cells(row) for row in chosen], main=main))
    return "".join(parts)


def ablation_cells(row: Mapping[str, Any]) -> list[str]:
    """One variant in words."""
    shares = [percent(row[name]) for name in ("r1", "r5", "s_loc_100")]
    within = [percent(row[f"altitude_within_{limit}_m"]) for limit in (25, 50, 100)]
    return [row["variant"], *shares, metres(row["median_m"]), metres(row["e_avg_m"]), *within]
