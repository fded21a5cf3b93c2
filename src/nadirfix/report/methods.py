"""The page of a comparison: a table of methods, how sure it is, and where they disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.files import Progress, atomic_file, quiet
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.report.disagreements import disagreement_panels
from nadirfix.report.glossary import CAUTION
from nadirfix.report.html import UNKNOWN, definitions, metres, millis, percent, table, whole_page
from nadirfix.report.method_plots import error_curves, share_bars, shares_by_altitude, time_and_share

__all__ = ["HEAD", "MethodsContent", "method_cells", "methods_html", "write_methods_report"]

Row = Mapping[str, Any]

_STAGE = "writing the report"
_ALTITUDES = {
    "estimated": "every photo cropped to the scale estimated from its own picture",
    "true": "every photo cropped by its true altitude",
    "none": "whole photos, nothing known of their altitude",
}
#: The head of the table, here and in the terminal.
HEAD = (
    "method", "R@1", "R@5", "<5 m", "<10 m", "<25 m", "<50 m", "<100 m", "median", "altitude off", "a photo",
    "MB",
)  # fmt: skip
_LIMITS = ("5", "10", "25", "50", "100")
_TESTED = {"r1": "R@1", "s_loc_10": "within 10 m", "s_loc_100": "within 100 m"}


@dataclass(frozen=True, kw_only=True, eq=False)
class MethodsContent:
    """Everything the page shows."""

    table: Row
    answers: Mapping[str, Sequence[QueryRecord]]
    texture: Texture
    canonical: Canonical
    photos: Mapping[str, Path]
    facts: Sequence[tuple[str, str]] = ()
    made: str = ""


def write_methods_report(target: Path, content: MethodsContent, *, progress: Progress = quiet) -> None:
    """Write the page as one file that needs no other."""
    text = methods_html(content, progress=progress)
    with atomic_file(target) as scratch:
        scratch.write_text(text, encoding="utf-8")


def methods_html(content: MethodsContent, *, progress: Progress = quiet) -> str:
    """The whole page as text."""
    parts = [_header, _table, _plots, _tests, _disagreements, _rows, _terms]
    sections = []
    for done, part in enumerate(parts):
        progress(_STAGE, done, len(parts))
        sections.append(part(content))
    progress(_STAGE, len(parts), len(parts))
    return whole_page(_title(content), "".join(sections), made=content.made)


def method_cells(row: Row, *, altitude: str) -> list[str]:
    """One line of the table, without intervals."""
    off_m = "given" if altitude == "true" else metres(row["altitude"]["e_avg_m"])
    shares = [row["recall"]["r1"], row["recall"]["r5"], *(row["s_loc"][limit] for limit in _LIMITS)]
    return [
        row["name"],
        *[f"{share:.1f}" for share in shares],
        metres(row["median_m"]),
        off_m,
        millis(row["ms"]["median"]),
        f"{row['size_mb']:.0f}" if row["size_mb"] >= 9.95 else f"{row['size_mb']:.1f}",
    ]


def _title(content: MethodsContent) -> str:
    return f"{len(content.answers)} methods on {', '.join(content.table['maps'])}"


def _measured(content: MethodsContent) -> list[Row]:
    return [row for row in content.table["methods"] if row["measured"]]


def _header(content: MethodsContent) -> str:
    whole, first = content.table, _measured(content)[0] if content.answers else None
    words = (
        f"The same {whole['photos']} photos and the same {whole['references']} references for every method; "
        f"{_ALTITUDES[whole['altitude']]}."
    )
    lead = "No method was measured." if first is None else _lead(_measured(content))
    return (
        f'<header><p class="eyebrow">nadirfix comparison</p><h1>{escape(_title(content))}</h1>'
        f'<p class="lead">{escape(lead)}</p></header><p>{escape(words)}</p>'
    )


def _lead(rows: Sequence[Row]) -> str:
    """Which method comes first by each of two measures, ours or not."""
    by_rank = _highest({row["name"]: row["recall"]["r1"] for row in rows})
    by_place = _highest({row["name"]: row["s_loc"]["100"] for row in rows})
    return f"Most right first places (R@1): {by_rank}. Most answers within 100 m: {by_place}."


def _highest(shares: Mapping[str, float]) -> str:
    """Who has the highest share, all of them where several do, and how high it is."""
    most = max(shares.values())
    return f"{', '.join(name for name, share in shares.items() if share == most)}, {percent(most)}"


def _table(content: MethodsContent) -> str:
    altitude = content.table["altitude"]
    cells = [method_cells(row, altitude=altitude) for row in _measured(content)]
    caption = (
        "Shares in percent of all photos; a photo without an answer is a miss. Medians over all photos. MB: "
        "what is searched, with its network, beside the map."
    )
    sure = [_interval_cells(row) for row in _measured(content)]
    head = ["95 % interval", *HEAD[1:9]]
    return (
        f"<h2>The table</h2>{table(HEAD, cells, main=0, caption=caption)}"
        f"{table(head, sure, main=0, caption=_BOOTSTRAP)}"
    )


_BOOTSTRAP = (
    "The same once more as intervals: in 95 of 100 test sets drawn from these photos with replacement the "
    "figure lies between the two. A share of 0 or 100 % has no width here, and is not certain for that."
)


def _interval_cells(row: Row) -> list[str]:
    sure = row["intervals"]
    shares = [sure["r1"], sure["r5"], *(sure[f"s_loc_{limit}"] for limit in _LIMITS)]
    low_m, high_m = sure["median_m"]
    ends = (
        UNKNOWN if low_m is None else f"{metres(low_m)} – {'no answer' if high_m is None else metres(high_m)}"
    )
    return [row["name"], *[f"{low:.0f}–{high:.0f}" for low, high in shares], ends]


def _plots(content: MethodsContent) -> str:
    rows = _measured(content)
    figures = [
        ("How far off", error_curves(content.answers), "Higher and further left is better. Dotted: 100 m."),
        ("How sure", share_bars(rows), "Share within 100 m, and its 95 % interval."),
        ("How good, how fast", time_and_share(rows), "Further left is faster, higher is better."),
        ("By altitude", shares_by_altitude(content.answers), "For every hundred metres of true altitude."),
    ]
    inside = "".join(f"<figure><h3>{n}</h3>{d}<figcaption>{t}</figcaption></figure>" for n, d, t in figures)
    return f'<h2>How good, how sure, how fast</h2><div class="plots">{inside}</div>'


def _tests(content: MethodsContent) -> str:
    """Every method against the first one, photo by photo."""
    rows = _measured(content)
    if len(rows) < 2:
        return ""
    parts = [_test_table(rows, measure, words) for measure, words in _TESTED.items()]
    note = (
        "Two methods differ only on photos that one of them answers rightly and the other wrongly. p: how "
        "likely so unequal a split is where neither is better (exact McNemar test, two-sided, not corrected "
        "for the number of comparisons). The interval is that of the difference on the same photos."
    )
    return f"<h2>Against {escape(rows[0]['name'])}, photo by photo</h2><p>{note}</p>{''.join(parts)}"


def _test_table(rows: Sequence[Row], measure: str, words: str) -> str:
    head = [words, f"only {rows[0]['name']} right", "only this one right", "difference", "95 % interval", "p"]
    cells = [_test_cells(row["name"], row["beside_first"][measure]) for row in rows[1:]]
    return table(head, cells)


def _test_cells(name: str, split: Row) -> list[str]:
    low, high = split["interval"]
    chance = "< 0.001" if split["p"] < 0.001 else f"{split['p']:.3f}"
    points = f"{split['points']:+.1f} points"
    return [
        name, str(split["only_first"]), str(split["only_this"]), points, f"{low:+.0f} to {high:+.0f}", chance,
    ]  # fmt: skip


def _disagreements(content: MethodsContent) -> str:
    panels = disagreement_panels(
        content.answers, photos=content.photos, texture=content.texture, canonical=content.canonical
    )
    if not panels:
        return ""
    words = (
        "Photos that some methods place within 100 m and others do not: what each takes the photo for, "
        "rendered from the map at the place and heading it answers, from the true altitude where it is known."
    )
    return f"<h2>Where they disagree</h2><p>{words}</p>{''.join(panels)}"


def _rows(content: MethodsContent) -> str:
    """What each row stands on, and which rows await something."""
    listed = [
        [row["name"], row["title"], row["status"], row["paper"] or UNKNOWN, row["checkpoint"] or UNKNOWN]
        for row in [*content.table["methods"], *content.table["other_methods"]]
    ]
    head = ["method", "what it is", "stands on", "published", "checkpoint it takes"]
    text = (
        "Rows that ship with nadirfix use networks trained by us. Published networks are written by us from "
        "their papers and run with a checkpoint somebody gives (--weights NAME=PATH): its names and shapes "
        "are checked, whose it is nobody can check. Rows that await one are not in the table."
    )
    facts = definitions([*content.facts])
    return (
        f"<h2>What the rows are</h2><p>{text}</p>{table(head, listed, words=True)}"
        f"<h2>Map and references</h2>{facts}"
    )


_TERMS = (
    ("R@1, R@5", "Share of all photos where the first, or one of the first five, of the places a method "
     "ranks lies less than 100 m from the truth. A method that verifies or votes ranks its answer first, its "
     "other hypotheses next, and then what it retrieved."),
    ("<5 m … <100 m", "Share of all photos whose answer lies within so many metres of the truth (S_loc)."),
    ("median", "Half of all photos are better than this; where half got no answer there is none."),
    ("altitude off", "Mean error of the altitude above ground, of the answers that state one."),
    ("a photo", "Median time from the file to the answer, one photo at a time on this machine's processor."),
)  # fmt: skip


def _terms(_content: MethodsContent) -> str:
    return f"<h2>How to read this</h2>{definitions(_TERMS)}<p>{escape(CAUTION)}</p>"
