"""Lines of each photo as shares and errors, by how it was searched, by altitude and by ground."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.bundle import Bundle
from nadirfix.geo.angle import wrap_deg
from nadirfix.types import Candidates, Hypothesis, Point, View

NEAR_M, POSE_M, POSE_DEG, POSE_SCALE = 100.0, 50.0, 20.0, 0.15
BANDS_M = ((100, 150), (150, 200), (200, 300), (300, 400), (400, 700))
#: What is split by altitude and by ground.
SPLIT = {("true", "all"), ("hard", "all"), ("estimated", "votes")}
Row = dict[str, Any]


def hit(found: list[Hypothesis], truth: View) -> Row:
    best = found[0].view
    right = [is_right(h.view, truth) for h in found]
    near = [off_m(h.view, truth) < NEAR_M for h in found]
    margin = found[0].score / found[1].score if len(found) > 1 else None
    return {
        "r1": near[0], "r5": any(near[:5]), "votes_m": round(off_m(best, truth), 1),
        "score": round(found[0].score, 4), "margin": margin and round(margin, 2),
        "h1": right[0], "h5": any(right[:5]), "h16": any(right[:16]),
        "heading_off_deg": round(turned(best, truth), 1),
        "scale_off": round(best.altitude_m / truth.altitude_m - 1, 3),
    }  # fmt: skip


def is_right(view: View, truth: View) -> bool:
    scale = abs(view.altitude_m / truth.altitude_m - 1)
    return off_m(view, truth) < POSE_M and turned(view, truth) < POSE_DEG and scale < POSE_SCALE


def off_m(view: View, truth: View) -> float:
    return Point(view.center.east_m, view.center.north_m, truth.center.epsg).distance_m(truth.center)


def turned(one: View, other: View) -> float:
    return abs(wrap_deg(one.heading_deg - other.heading_deg))


def band(altitude_m: float) -> str:
    return next((f"{low}-{high}" for low, high in BANDS_M if low <= altitude_m < high), "beyond")


def parted(lines: list[Row], part: Callable[[Row], str]) -> dict[str, list[Row]]:
    """The same table for each part of the photos, for what is estimated and for votes."""
    selected = [x for x in lines if (x["altitude"], x["cells"]) in SPLIT]
    return {
        name: summary([x for x in selected if part(x) == name]) for name in sorted({*map(part, selected)})
    }


def summary(lines: list[Row]) -> list[Row]:
    """One row per search: shares in per cent of all photos, errors in metres."""
    searches = dict.fromkeys((line["altitude"], line["cells"]) for line in lines)
    return [
        row_of([x for x in lines if (x["altitude"], x["cells"]) == search], *search) for search in searches
    ]


def row_of(lines: list[Row], altitude: str, cells: int | str) -> Row:
    row: Row = {"altitude": altitude, "cells": cells, "photos": len(lines)}
    if "altitude_off_m" in lines[0]:
        off = np.abs([line["altitude_off_m"] for line in lines])
        row["e_avg_m"] = round(float(off.mean()), 1)
        row |= {f"altitude_within_{d}_m": share(off < d) for d in (25, 50, 100)}
    row |= {key: share([x[key] for x in lines]) for key in ("r1", "r5", "h1", "h5", "h16") if key in lines[0]}
    for key in ("top1_m", "wce_m", "wce_strict_m", "votes_m"):
        if key in lines[0]:
            far = np.array([line[key] for line in lines])
            row |= {f"{key[:-2]}_{d}": share(far < d) for d in (100, 50, 25, 10)}
            row[f"{key[:-2]}_median_m"] = round(float(np.median(far)), 1)
            row[f"{key[:-2]}_p90_m"] = round(float(np.quantile(far, 0.9)), 1)
    if "votes_ms" in lines[0]:
        row["votes_ms"] = round(float(np.median([line["votes_ms"] for line in lines])))
    return row


def share(flags: Any) -> float:
    return round(100 * float(np.mean(np.asarray(flags, float))), 1)


def write_csv(path: Path, lines: list[Row]) -> None:
    names = list(dict.fromkeys(key for line in lines for key in line))
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names)
        out.writeheader()
        out.writerows({k: int(v) if isinstance(v, bool) else v for k, v in line.items()} for line in lines)


def candidates(bundle: Bundle, rows: np.ndarray, distances: np.ndarray) -> Candidates:
    known = bundle.references
    return Candidates(
        rows, known.east_m[rows], known.north_m[rows], known.heading_deg[rows], distances, known.cell[rows],
        bundle.epsg,
    )  # fmt: skip
