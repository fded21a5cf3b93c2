"""Real flights, photo by photo, from the picture alone: how high before verification, what is answered.

    python -m bench.accuracy.real_flights --map MAP.tif --truth TRUTH.csv --name NAME [--camera C] [--every N]

Every photo is located with the sweep over altitudes and without it, in turns; its tags are not believed.
TRUTH has the columns photo, lon, lat of the frame centre (or frame_centre_lon and _lat; empty where
it is not known), altitude_m (or relative_altitude_m, above take-off). Before verification: the altitude by
the spectrum, by the sweep, and both together, as a ratio to the truth and to what the map confirmed. Times
are processor time, as ratios of one run. A line per photo goes to results/accuracy/real_flights_NAME.csv.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.record import networks_of, print_progress, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.bundle.plan import Plan
from nadirfix.camera import Camera
from nadirfix.offline import build_bundle
from nadirfix.online import gather_evidence, locate
from nadirfix.online.hypotheses import PhotoHypotheses
from nadirfix.online.photo import read_photo
from nadirfix.options.locate import LocateOptions, TagOptions
from nadirfix.options.recipe import RECIPES
from nadirfix.options.sweep import SweepOptions
from nadirfix.prior import Prior
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix, Point

USUAL = LocateOptions(tags=TagOptions(believed=False))
VARIANTS = {"without": replace(USUAL, sweep=None), "with": USUAL}
COLUMNS = (
    "photo", "altitude_m", "spectrum_m", "sweep_m", "sweep_sigma", "fused_m", "r1_true", "r1_estimated",
    "verified_m",
    "without_status", "without_error_m", "without_s", "with_status", "with_error_m", "with_s",
)  # fmt: skip
SHARES = (10, 20, 25, 35, 40)
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One photo, and what is known of where it was taken."""

    photo: Path
    altitude_m: float
    position: Point | None


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--truth", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--bundle", type=Path, help="built from the map before; else one is built")
    options.add_argument("--camera", help="where the photos' tags do not say")
    options.add_argument("--every", type=int, default=1, help="locate every Nth photo")
    given = options.parse_args()
    rows = list(read_truth(given.truth))[:: given.every]
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Bundle.load(given.bundle) if given.bundle else built(given.map, Path(scratch))
        camera = Camera.parse(given.camera) if given.camera else None
        lines = lines_of(rows, bundle, camera)
        results = {"photos": len(lines), "networks": networks_of(bundle.manifest), **summary(lines)}
    record_lines(f"real_flights_{given.name}", COLUMNS, lines)
    print(f"wrote {record(f'real_flights_{given.name}', results)}")
    for key, value in results.items():
        print(f"{key}: {value}")


def built(source: Path, folder: Path) -> Bundle:
    return build_bundle(source, folder / "map.nadir", recipe=RECIPES["standard"])


def read_truth(path: Path) -> Iterator[Row]:
    """Photos with their true altitude and, where it is known, position."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            lon, lat = (row.get(f"frame_centre_{axis}", row[axis]) for axis in ("lon", "lat"))
            position = Point.from_lonlat(float(lon), float(lat)) if lon and lat else None
            altitude_m = float(row.get("altitude_m") or row["relative_altitude_m"])
            yield Row(path.parent / row["photo"], altitude_m, position)


def lines_of(rows: Sequence[Row], bundle: Bundle, camera: Camera | None) -> list[Line]:
    """A line for each photo; which variant comes first alternates."""
    lines, progress = [], print_progress()
    for i, row in enumerate(rows):
        progress("locating", i, len(rows))
        lines.append(line_of(row, bundle, camera, sorted(VARIANTS, reverse=bool(i % 2))))
    return lines


def line_of(row: Row, bundle: Bundle, camera: Camera | None, order: Sequence[str]) -> Line:
    found = {name: timed(row, bundle, camera, VARIANTS[name]) for name in order}
    line: Line = {"photo": row.photo.name, "altitude_m": row.altitude_m, **altitudes(row, bundle, camera)}
    confirmed = [fix.altitude_m for fix, _ in found.values() if fix.verified]
    line["verified_m"] = confirmed[0] if confirmed else None
    for name, (fix, spent_s) in found.items():
        line |= {f"{name}_status": fix.status, f"{name}_s": spent_s, f"{name}_error_m": error_m(fix, row)}
    return line


def timed(row: Row, bundle: Bundle, camera: Camera | None, options: LocateOptions) -> tuple[Fix, float]:
    began_s = time.process_time()
    fix = locate(row.photo, bundle=bundle, camera=camera, options=options)
    return fix, time.process_time() - began_s


def error_m(fix: Fix, row: Row) -> float | None:
    if fix.position is None or row.position is None:
        return None
    return fix.position.distance_m(row.position)


def altitudes(row: Row, bundle: Bundle, camera: Camera | None) -> Line:
    """The altitude by the picture, by the map, and by both, before anything is verified."""
    photo, plan = read_photo(row.photo, camera, bundle, USUAL), Plan.of(bundle, USUAL)
    evidence = gather_evidence(photo, Prior(), bundle, plan, USUAL, watch=Stopwatch())
    source = PhotoHypotheses(evidence, bundle, plan, USUAL, Stopwatch())
    by_map, fused = source.altitude_by_map, source.altitude
    assert by_map is not None and fused is not None
    return {
        "spectrum_m": evidence.altitude.altitude_m, "sweep_m": by_map.altitude_m,
        "sweep_sigma": by_map.sigma, "fused_m": fused.altitude_m,
        "r1_true": first_is_near(source, row, row.altitude_m),
        "r1_estimated": first_is_near(source, row, fused.altitude_m),
    }  # fmt: skip


def first_is_near(source: PhotoHypotheses, row: Row, altitude_m: float) -> bool | None:
    """Whether the reference most like the photo's middle, cut for this altitude, is less than 100 m off."""
    if row.position is None:
        return None
    level = source.levels[-1 if altitude_m < source.covered_m else 0]
    gsd_m = np.array([level.camera.gsd_m(altitude_m)])
    votes = level.sweep(gsd_m, SweepOptions(), count=1)
    there = row.position.to(level.search.epsg)
    return math.hypot(votes.east_m[0] - there.east_m, votes.north_m[0] - there.north_m) < 100.0


def summary(lines: Sequence[Line]) -> dict[str, Any]:
    confirmed = [line for line in lines if line["verified_m"] is not None]
    sources = ("spectrum_m", "sweep_m", "fused_m")
    return {
        "altitude": {name: ratios(lines, name, "altitude_m") for name in sources},
        "altitude_by_the_map": {name: ratios(confirmed, name, "verified_m") for name in sources},
        "recall_1": {name: share(lines, f"r1_{name}") for name in ("true", "estimated")},
        "answers": {name: answers(lines, name) for name in VARIANTS},
        "time_ratio": time_ratio(lines),
    }


def ratios(lines: Sequence[Line], name: str, truth: str) -> dict[str, float] | None:
    """How far an altitude is off: as a ratio, in shares of all photos, and in metres."""
    if not lines:
        return None
    found = [line[name] / line[truth] for line in lines]
    shares = {
        f"within_{share}": 100 * statistics.mean(abs(math.log(r)) <= math.log1p(share / 100) for r in found)
        for share in SHARES
    }
    off_m = statistics.mean(abs(line[name] - line[truth]) for line in lines)
    return {"median_ratio": statistics.median(found), **shares, "e_avg_m": off_m}


def share(lines: Sequence[Line], name: str) -> float | None:
    """The share of photos, of those whose position is known, in per cent."""
    known = [line[name] for line in lines if line[name] is not None]
    return 100 * statistics.mean(known) if known else None


def answers(lines: Sequence[Line], name: str) -> dict[str, float | int | None]:
    """How many are answered, and how far off those are whose truth is known."""
    fixes = [line for line in lines if line[f"{name}_status"] == "fix"]
    errors_m = [line[f"{name}_error_m"] for line in fixes if line[f"{name}_error_m"] is not None]
    return {
        "answered": len(fixes),
        "truth_known": len(errors_m),
        "within_25_m": sum(error <= 25 for error in errors_m),
        "wrong": sum(error > 100 for error in errors_m),
        "median_m": statistics.median(errors_m) if errors_m else None,
    }


def time_ratio(lines: Sequence[Line]) -> dict[str, float]:
    """Processor time with the sweep by that without: the median photo, and the slowest tenth."""
    ordered = {name: sorted(line[f"{name}_s"] for line in lines) for name in VARIANTS}
    tenth = {name: spent[int(0.9 * len(spent)) :] for name, spent in ordered.items()}
    return {
        "median": statistics.median(ordered["with"]) / statistics.median(ordered["without"]),
        "slowest_tenth": statistics.mean(tenth["with"]) / statistics.mean(tenth["without"]),
    }


if __name__ == "__main__":
    main()
