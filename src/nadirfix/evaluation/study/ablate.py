"""The method's own tables for this map: what altitude, weighting, spectrum, head and classes are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nadirfix.bundle import Bundle
from nadirfix.evaluation.metrics import QueryRecord, as_top1, measures
from nadirfix.evaluation.study.ablations import Ablation, ablations_of
from nadirfix.evaluation.study.journal import Journal
from nadirfix.evaluation.study.map_export import write_map
from nadirfix.evaluation.study.run import Locator, Variant, answer_all, columns_of
from nadirfix.files import Progress
from nadirfix.offline import build_bundle
from nadirfix.photo_list import PhotoRecord
from nadirfix.report.content import COLUMN_NAMES, MAIN
from nadirfix.types import Fix

__all__ = ["ablate"]

Columns = Mapping[str, Sequence[QueryRecord]]
Rows = Mapping[str, PhotoRecord]


def ablate(
    columns: Columns, rows: Rows, locator: Locator, folder: Path, *, device: str, progress: Progress
) -> list[dict[str, Any]]:
    """One row for every variant; what is missing is built in the folder, and kept for the next time."""
    table, locator = _without_training(columns), locator.published()
    for ablation in ablations_of(locator.bundle.recipe):
        if ablation.changes == "nothing":
            table.append(_row(ablation.table, ablation.name, columns[MAIN], this_bundle=True))
            continue
        built = _build(ablation, locator.bundle, folder, device=device, progress=progress)
        variant = _variant(ablation, built, locator, columns[MAIN])
        journal = Journal(folder / f"{_slug(ablation)}.csv", rows)
        stage = f"locating photos, {ablation.name}"
        answers = answer_all(rows, {MAIN: variant}, journal=journal, stage=stage, progress=progress)
        table.append(_row(ablation.table, ablation.name, columns_of(answers, rows)[MAIN]))
    return table


def _without_training(columns: Columns) -> list[dict[str, Any]]:
    """The tables the bundle can answer alone: with and without altitude, weighted and nearest."""
    altitude = [
        _row("altitude", COLUMN_NAMES[variant], records, this_bundle=variant == MAIN)
        for variant, records in columns.items()
    ]
    nearest = [as_top1(record) for record in columns[MAIN]]
    weighted = _row("answer", "weighted coordinate (WCE)", columns[MAIN], this_bundle=True)
    return [*altitude, weighted, _row("answer", "nearest reference (top-1)", nearest)]


def _build(ablation: Ablation, bundle: Bundle, folder: Path, *, device: str, progress: Progress) -> Bundle:
    """The variant's bundle, from the map inside the bundle at hand."""
    ground = folder / "map.tif"
    if not ground.exists():
        write_map(bundle.texture, ground)
    target = folder / f"{_slug(ablation)}.nadir"

    def report(stage: str, done: int, total: int) -> None:
        progress(f"{ablation.table} {ablation.name}: {stage}", done, total)

    return build_bundle(
        ground, target, recipe=ablation.training, train=True, device=device, resume=True, progress=report
    )


def _variant(ablation: Ablation, built: Bundle, locator: Locator, base: Sequence[QueryRecord]) -> Variant:
    """How the variant locates a photo: what it does not change comes from the bundle at hand."""
    other = replace(locator, bundle=built)
    if ablation.changes == "both":
        return lambda _name, row: other.locate(row.photo)
    if ablation.changes == "place":
        found_m = {r.photo: r.fix.altitude_m if r.fix else None for r in base}
        return lambda name, row: other.locate(row.photo, altitude_m=found_m[name])
    return lambda _name, row: _with_altitude_of(other, locator, row)


def _with_altitude_of(altimeter: Locator, locator: Locator, row: PhotoRecord) -> Fix:
    return locator.locate(row.photo, altitude_m=altimeter.locate(row.photo).altitude_m)


def _row(
    table: str, name: str, records: Sequence[QueryRecord], *, this_bundle: bool = False
) -> dict[str, Any]:
    summary = measures(records)
    altitude = summary["altitude"]
    within = {f"altitude_{key}": share for key, share in altitude.items() if "within" in key}
    return {
        "table": table,
        "variant": name,
        "this_bundle": this_bundle,
        **summary["recall"],
        "s_loc_100": summary["s_loc"]["100"],
        "median_m": summary["error_m"]["median_all"],
        "e_avg_m": altitude["e_avg_m"],
        **within,
    }


def _slug(ablation: Ablation) -> str:
    return f"{ablation.table}-{ablation.name.replace(' ', '').lower()}"
