"""What a prior is worth, and what a wrong one does: a real flight, photo by photo, each with every prior.

    python -m bench.accuracy.priors --bundle NAME.nadir --truth TRUTH.csv --name NAME [--camera C] [--every N]

TRUTH is a list as for bench.accuracy.real_flights, with heading_deg. Priors are made from it: a place with an
error of 50 m along each axis, a heading with one of 10°, an altitude with one of 10 %, each with the
deviation it has; and a place that is 300 m off, given as ± 50 m. Tags are not believed. Wrong is what lies
more than 25 m from the truth. Times are processor time of one core; a line per photo goes to the CSV.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.real_flights import Row, read_truth
from bench.lib.record import networks_of, print_progress, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions, TagOptions
from nadirfix.prior import Prior
from nadirfix.types import Point

USUAL = LocateOptions(tags=TagOptions(believed=False))
NAMES = ("nothing", "place", "place_heading", "place_heading_altitude", "place_300_m_off")
NEAR_M, TURN_DEG, HIGH_SHARE, OFF_M, WRONG_M = 50.0, 10.0, 0.1, 300.0, 25.0
Line = dict[str, Any]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--truth", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--camera", help="where the photos' tags do not say")
    options.add_argument("--altitude-scale", type=float, default=1.0, help="truth over its label")
    options.add_argument("--every", type=int, default=1, help="locate every Nth photo")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    bundle = Bundle.load(given.bundle, threads=1)
    camera = Camera.parse(given.camera) if given.camera else None
    draw, lines, progress = np.random.default_rng(given.seed), [], print_progress()
    rows = list(zip(read_truth(given.truth), headings_deg(given.truth), strict=True))[:: given.every]
    for i, (row, heading_deg) in enumerate(rows):
        progress("locating", i, len(rows))
        priors = priors_of(row, heading_deg, row.altitude_m * given.altitude_scale, draw)
        lines.append(line_of(row, priors, bundle, camera))
    results = {"photos": len(lines), "networks": networks_of(bundle.manifest), **summary(lines)}
    record_lines(f"priors_{given.name}", tuple(lines[0]), lines)
    print(f"wrote {record(f'priors_{given.name}', results)}")


def headings_deg(path: Path) -> list[float]:
    with path.open(newline="", encoding="utf-8") as file:
        return [float(row["heading_deg"]) for row in csv.DictReader(file)]


def priors_of(
    row: Row, heading_deg: float, altitude_m: float, draw: np.random.Generator
) -> Mapping[str, Prior]:
    """Right ones with the errors they admit, and one that is six times as wrong as it admits."""
    assert row.position is not None
    near = Prior(near=row.position.moved(*draw.normal(0, NEAR_M, 2)), near_sigma_m=NEAR_M)
    turned_deg = (heading_deg + draw.normal(0, TURN_DEG)) % 360
    turned = Prior(heading_deg=turned_deg, heading_sigma_deg=TURN_DEG).over(near)
    sigma_m = HIGH_SHARE * altitude_m
    high = Prior(altitude_m=altitude_m + draw.normal(0, sigma_m), altitude_sigma_m=sigma_m).over(turned)
    side = draw.uniform(0, 2 * math.pi)
    off = row.position.moved(OFF_M * math.sin(side), OFF_M * math.cos(side))
    wrong = Prior(near=off, near_sigma_m=NEAR_M)
    return dict(zip(NAMES, (Prior(), near, turned, high, wrong), strict=True))


def line_of(row: Row, priors: Mapping[str, Prior], bundle: Bundle, camera: Camera | None) -> Line:
    line: Line = {"photo": row.photo.name}
    for name, prior in priors.items():
        began_s = time.process_time()
        fix = locate(row.photo, bundle=bundle, camera=camera, prior=prior, options=USUAL)
        line[f"{name}_s"] = round(time.process_time() - began_s, 3)
        line[f"{name}_error_m"] = error_m(fix.position, row.position)
        line[f"{name}_contradicts"] = any("contradicts" in warning for warning in fix.warnings)
    return line


def error_m(found: Point | None, true: Point | None) -> float | None:
    return None if found is None or true is None else round(true.distance_m(found), 2)


def summary(lines: Sequence[Line]) -> dict[str, Any]:
    return {name: _one(lines, name) for name in NAMES}


def _one(lines: Sequence[Line], name: str) -> dict[str, Any]:
    errors = [line[f"{name}_error_m"] for line in lines if line[f"{name}_error_m"] is not None]
    times = [line[f"{name}_s"] for line in lines]
    return {
        "answered": len(errors),
        "wrong": sum(error > WRONG_M for error in errors),
        "median_error_m": round(statistics.median(errors), 2) if errors else None,
        "contradictions": sum(line[f"{name}_contradicts"] for line in lines),
        "median_s": round(statistics.median(times), 2),
        "mean_s": round(statistics.mean(times), 2),
    }


if __name__ == "__main__":
    main()
