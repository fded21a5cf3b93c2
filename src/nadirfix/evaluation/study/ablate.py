"""The method's own tables for this map: what altitude, weighting, spectrum, head and classes are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nadirfix.bundle import Bundle
from nadirfix.evaluation.metrics import QueryRecord, as_top1, measures
from nadirfix.evaluation.study.journal import Journal
from nadirfix.evaluation.study.map_export import write_map
from nadirfix.evaluation.study.run import Locator, Way, answer_all, columns_of
from nadirfix.evaluation.study.variants import Variant, variants_of
from nadirfix.files import Progress
from nadirfix.offline import build_bundle
from nadirfix.photo_list import ManifestRow
from nadirfix.report.content import COLUMN_NAMES, MAIN
from nadirfix.types import Fix

__all__ = ["ablate"]

Columns = Mapping[str, Sequence[QueryRecord]]
Rows = Mapping[str, ManifestRow]


def ablate(
    columns: Columns, rows: Rows, locator: Locator, folder: Path, *, device: str, progress: Progress
) -> list[dict[str, Any]]:
    """One row for every variant; what is missing is built in the folder, and kept for the next time."""
    told, locator = _without_training(columns), locator.published()
    for variant in variants_of(locator.bundle.recipe):
        if variant.changes == "nothing":
            told.append(_row(variant.table, variant.name, columns[MAIN], this_bundle=True))
            continue
        built = _build(variant, locator.bundle, folder, device=device, progress=progress)
        way = _way(variant, built, locator, columns[MAIN])
        journal = Journal(folder / f"{_slug(variant)}.csv", rows)
        stage = f"locating photos, {variant.name}"
        answers = answer_all(rows, {MAIN: way}, journal=journal, stage=stage, progress=progress)
        told.append(_row(variant.table, variant.name, columns_of(answers, rows)[MAIN]))
    return told


def _without_training(columns: Columns) -> list[dict[str, Any]]:
    """The tables the bundle can answer alone: with and without altitude, weighted and nearest."""
    altitude = [
        _row("altitude", COLUMN_NAMES[way], records, this_bundle=way == MAIN)
        for way, records in columns.items()
    ]
    nearest = [as_top1(record) for record in columns[MAIN]]
    weighted = _row("answer", "weighted coordinate (WCE)", columns[MAIN], this_bundle=True)
    return [*altitude, weighted, _row("answer", "nearest reference (top-1)", nearest)]


def _build(variant: Variant, bundle: Bundle, folder: Path, *, device: str, progress: Progress) -> Bundle:
    """The variant's bundle, from the map inside the bundle at hand."""
    ground = folder / "map.tif"
    if not ground.exists():
        write_map(bundle.texture, ground)
    target = folder / f"{_slug(variant)}.nadir"

    def told(stage: str, done: int, total: int) -> None:
        progress(f"{variant.table} {variant.name}: {stage}", done, total)

    return build_bundle(
        ground, target, recipe=variant.training, train=True, device=device, resume=True, progress=told
    )


def _way(variant: Variant, built: Bundle, locator: Locator, base: Sequence[QueryRecord]) -> Way:
    """How the variant places a photo: what it does not change comes from the bundle at hand."""
    other = replace(locator, bundle=built)
    if variant.changes == "both":
        return lambda _name, row: other.place(row.photo)
    if variant.changes == "place":
        found_m = {r.photo: r.fix.altitude_m if r.fix else None for r in base}
        return lambda name, row: other.place(row.photo, altitude_m=found_m[name])
    return lambda _name, row: _with_altitude_of(other, locator, row)


def _with_altitude_of(altimeter: Locator, locator: Locator, row: ManifestRow) -> Fix:
    return locator.place(row.photo, altitude_m=altimeter.place(row.photo).altitude_m)


def _row(
    table: str, variant: str, records: Sequence[QueryRecord], *, this_bundle: bool = False
) -> dict[str, Any]:
    told = measures(records)
    within = {f"altitude_{name}": told["altitude"][name] for name in told["altitude"] if "within" in name}
    return {
        "table": table,
        "variant": variant,
        "this_bundle": this_bundle,
        **told["recall"],
        "s_loc_100": told["s_loc"]["100"],
        "median_m": told["error_m"]["median_all"],
        "e_avg_m": told["altitude"]["e_avg_m"],
        **within,
    }


def _slug(variant: Variant) -> str:
    return f"{variant.table}-{variant.name.replace(' ', '').lower()}"
