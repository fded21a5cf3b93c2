"""Tables on standard error, for people who read terminals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nadirfix.files.text import printable

__all__ = ["print_ablation", "print_comparison", "print_methods", "print_stages"]

Rows = Sequence[Mapping[str, Any]]

#: The ways of knowing the altitude, in words that fit a terminal.
_SHORT = {"verified": "verified", "estimated": "estimated", "whole": "without (whole)", "true": "true"}


def print_comparison(rows: Rows) -> None:
    """What is answered, and the published method with each way of knowing the altitude."""
    from nadirfix.report.html import metres, percent

    head = ["altitude", "R@1", "R@5", "<10 m", "<100 m", "top-1", "median", "top-1"]
    shares = ("r1", "r5", "s_loc_10", "s_loc_100_wce", "s_loc_100_top1")
    lengths = ("median_wce_m", "median_top1_m")
    cells = [
        [_SHORT[row["altitude"]], *[percent(row[k]) for k in shares], *[metres(row[k]) for k in lengths]]
        for row in rows
    ]
    _print(head, cells)


def print_ablation(rows: Rows) -> None:
    """The method's own tables, one under the other."""
    from nadirfix.report.ablation import HEAD, TABLES, ablation_cells

    for name, question in TABLES.items():
        _print([question, *HEAD[1:]], [ablation_cells(row) for row in rows if row["table"] == name])


def print_methods(table: Mapping[str, Any]) -> None:
    """A line for each method that was measured."""
    from nadirfix.report.methods import HEAD, method_cells

    measured = [row for row in table["methods"] if row["measured"]]
    _print(HEAD, [method_cells(row, altitude=table["altitude"]) for row in measured])


def print_stages(seconds: Mapping[str, float | None], made: Mapping[str, object]) -> None:
    """What was made, and how long it took."""
    cells = [
        [name, "was there" if seconds[name] is None else f"{seconds[name]:.1f} s", str(target)]
        for name, target in made.items()
    ]
    _print(["stage", "time", "result"], cells)


def _print(head: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for i, name in enumerate(head):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    for row in cells:
        table.add_row(*(Text(printable(cell)) for cell in row))  # no markup: a path may look like some
    Console(stderr=True).print(table)
