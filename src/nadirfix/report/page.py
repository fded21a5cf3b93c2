"""The page itself: the photos, the answers, how good it is, and how to read all that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.files import Progress, atomic_file, quiet
from nadirfix.report.ablation import ablation_tables
from nadirfix.report.chart import answers_on_map
from nadirfix.report.content import COLUMN_NAMES, Content, headline
from nadirfix.report.glossary import CAUTION, TERMS
from nadirfix.report.html import definitions, metres, millis, percent, table, tiles, whole_page
from nadirfix.report.pictures import choose, query_panel
from nadirfix.report.plots import (
    accuracy_by_altitude,
    altitude_confusion,
    coverage_curve,
    error_curve,
    risk_curve,
    stage_times,
)

__all__ = ["comparison_table", "report_html", "write_report"]

_STAGE = "writing the report"
_TROUBLE_ROWS = 20
_GROUPS = {
    "best": ("The best answers", "The smallest position errors."),
    "worst": ("The worst answers", "The largest position errors. What misled them is often in the pictures."),
    "random": ("Some that nobody chose", "Drawn at random from the rest."),
}


def write_report(target: Path, content: Content, *, progress: Progress = quiet) -> None:
    """Write the report as one file that needs no other."""
    text = report_html(content, progress=progress)
    with atomic_file(target) as scratch:
        scratch.write_text(text, encoding="utf-8")


def report_html(content: Content, *, progress: Progress = quiet) -> str:
    """The whole page as text."""
    parts = [_headline, _map, _plots, _pictures, _ablation, _trouble, _times, _bundle, _how_to_read]
    sections = []
    for done, part in enumerate(parts):
        progress(_STAGE, done, len(parts))
        sections.append(part(content))
    progress(_STAGE, len(parts), len(parts))
    return whole_page(content.title, "".join(sections), made=content.made)


def _headline(content: Content) -> str:
    return (
        f'<header><p class="eyebrow">nadirfix evaluation</p><h1>{escape(content.title)}</h1>'
        f'<p class="lead">{escape(_sentence(content.metrics))}</p></header>'
        f"{tiles(_tiles(content.metrics))}"
        "<h2>With and without altitude, weighted and nearest</h2>"
        "<p>Every photo was located several times: cropped to the scale estimated from its own picture, not"
        " cropped at all, and cropped by its true altitude. The answer is the weighted coordinate of the"
        " references that agree (WCE), or simply the most similar reference (top-1).</p>"
        f"{comparison_table(content.metrics['comparison'])}"
    )


def _sentence(metrics: Mapping[str, Any]) -> str:
    count, near = metrics["queries"], metrics["s_loc"]["100"]
    right = round(count * near / 100)
    located = f"Of {count} photos, {right} were located within 100 m of where they were taken"
    unanswered = count - metrics["answered"]
    rest = f"{metrics['wrong_fix']} answers were farther off"
    apart = f", {metrics['unverified']} answers were not verified" if metrics["unverified"] else ""
    return f"{located}; {rest}{apart}" + (f", and {unanswered} got no answer." if unanswered else ".")


def _tiles(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    total = metrics["timings_ms"].get("total", {}).get("median")
    return [
        (percent(metrics["s_loc"]["100"]), "located within 100 m"),
        (percent(metrics["recall"]["r1"]), "nearest reference is right (R@1)"),
        (metres(metrics["error_m"]["median_all"]), "median position error, all photos"),
        (metres(metrics["altitude"]["e_avg_m"]), "mean altitude error"),
        (millis(total), "per photo, median"),
    ]


_SHARES = (
    "Shares of all photos; medians over all photos. The answer is the weighted coordinate (WCE), or the view "
    "that was fitted to the map where it was verified; top-1 is the most similar reference alone."
)


def comparison_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The variants side by side."""
    head = ["", "R@1", "R@5", "within 10 m", "within 100 m", "top-1 within 100 m", "median", "median, top-1"]
    cells = [
        [
            COLUMN_NAMES.get(row["altitude"], row["altitude"]),
            percent(row["r1"]),
            percent(row["r5"]),
            percent(row["s_loc_10"]),
            percent(row["s_loc_100_wce"]),
            percent(row["s_loc_100_top1"]),
            metres(row["median_wce_m"]),
            metres(row["median_top1_m"]),
        ]
        for row in rows
    ]
    order = {row["altitude"]: i for i, row in enumerate(rows)}
    main = order.get(headline(order))
    return table(head, cells, main=main, caption=_SHARES)


_KEYS = (
    ("truth", "where it was taken"),
    ("answer near", "answer within 100 m"),
    ("answer", "answer farther off"),
    ("none", "taken here, no answer"),
)


def _map(content: Content) -> str:
    keys = "".join(
        f'<li><svg viewBox="0 0 16 16"><circle class="{kind}" cx="8" cy="8" r="5.5"/></svg>{words}</li>'
        for kind, words in _KEYS
    )
    drawn = answers_on_map(content.bundle.texture, content.records)
    caption = "A line joins each answer with its truth. The map is the one the bundle carries."
    return (
        f'<h2>On the map</h2><figure class="map">{drawn}<ul class="keys">{keys}</ul>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _plots(content: Content) -> str:
    metrics = content.metrics
    figures = [
        ("How far off", error_curve(content.columns), "Higher and further left is better. Dotted: 100 m."),
        (
            "By altitude",
            accuracy_by_altitude(metrics["by_altitude"]),
            "Weighted answers, by true altitude above ground.",
        ),
    ]
    if metrics["altitude"]["queries"]:
        caption = "Photos by true altitude (rows) and altitude found (columns); the line is perfect."
        figures.append(("How high", altitude_confusion(content.records, content.bundle.edges_m), caption))
    figures += _calibration_figures(metrics)
    if metrics["timings_ms"]:
        caption = "One photo at a time on this machine's processor."
        figures.append(("How long", stage_times(metrics["timings_ms"]), caption))
    inside = "".join(f"<figure><h3>{n}</h3>{d}<figcaption>{t}</figcaption></figure>" for n, d, t in figures)
    return f'<h2>How good, how high, how long</h2><div class="plots">{inside}</div>{_altitude(metrics)}'


def _calibration_figures(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Whether radius and confidence can be trusted, where answers carry them."""
    figures = []
    radius, risk = metrics["radius95"], metrics["risk_coverage"]
    if radius["fixes"]:
        caption = (
            f"Of {radius['fixes']} fixes, {percent(radius['coverage'])} lie within their 95 % radius, "
            f"{metres(radius['median_m'])} in the median. On the line promises are kept."
        )
        figures.append(("Can the radius be trusted", coverage_curve(radius["levels"]), caption))
    if risk:
        caption = "Further right more photos are answered; lower is better."
        figures.append(("Can the confidence be trusted", risk_curve(risk), caption))
    return figures


def _altitude(metrics: Mapping[str, Any]) -> str:
    """Everything once more in numbers, by band."""
    head = [
        "altitude",
        "photos",
        "R@1",
        "within 25 m",
        "50 m",
        "100 m",
        "median",
        "90 % within",
        "altitude off",
    ]
    rows = [[_band_name(band), *_band_cells(band)] for band in metrics["by_altitude"]]
    return table(head, [["all", *_band_cells(metrics)], *rows], main=0)


def _band_name(band: Mapping[str, Any]) -> str:
    return "unknown" if band["from_m"] is None else f"{band['from_m']:.0f}–{band['to_m']:.0f} m"


def _band_cells(band: Mapping[str, Any]) -> list[str]:
    near = [percent(band["s_loc"][limit]) for limit in ("25", "50", "100")]
    errors, altitude = band["error_m"], band["altitude"]["e_avg_m"]
    far = [metres(errors["median"]), metres(errors["p90"]), metres(altitude)]
    return [str(band["queries"]), percent(band["recall"]["r1"]), *near, *far]


def _pictures(content: Content) -> str:
    parts = []
    for name, records in choose(content.records).items():
        title, words = _GROUPS[name]
        panels = "".join(
            query_panel(record, content.queries[record.photo], content.bundle) for record in records
        )
        if panels:
            parts.append(f"<h2>{title}</h2><p>{words}</p>{panels}")
    return "".join(parts)


def _ablation(content: Content) -> str:
    return ablation_tables(content.ablation) if content.ablation else ""


def _trouble(content: Content) -> str:
    """Photos without an answer, with the reason."""
    without = [record for record in content.records if not record.answered]
    if not without:
        return ""
    rows = [[record.photo, *_why(record)] for record in without[:_TROUBLE_ROWS]]
    more = len(without) - len(rows)
    caption = f"and {more} more in queries.csv" if more else ""
    return "<h2>Photos without an answer</h2>" + table(["photo", "status", "why"], rows, caption=caption)


def _why(record: QueryRecord) -> list[str]:
    if record.error is not None:
        return ["error", f"{record.error['message']} [{record.error['code']}]"]
    return ["no fix", (record.fix.reason if record.fix else None) or ""]


def _times(content: Content) -> str:
    timings = content.metrics["timings_ms"]
    if not timings:
        return ""
    rows = [[stage, millis(t["median"]), millis(t["p90"]), millis(t["max"])] for stage, t in timings.items()]
    total = timings.get("total", {}).get("median")
    memory = content.metrics.get("peak_rss_mb")
    words = [f"{1000 / total:.1f} photos a second"] if total else []
    words += [f"at most {memory:.0f} MB of memory"] if memory else []
    main = next((i for i, stage in enumerate(timings) if stage == "total"), None)
    spent = table(["stage", "median", "90 %", "longest"], rows, main=main)
    return f"<h2>Time and memory</h2><p>{escape(', '.join(words))}.</p>{spent}"


def _bundle(content: Content) -> str:
    return f"<h2>What the answers came from</h2>{definitions([*content.bundle.facts])}"


def _how_to_read(_content: Content) -> str:
    return f"<h2>How to read this</h2>{definitions(TERMS)}<p>{escape(CAUTION)}</p>"
