"""What verification against the map is worth: metres, headings, altitudes, refusals and time.

    python -m bench.accuracy.verify [OPTIONS]
    (nothing)                                    a procedural world, displaced views
    --map OLD.tif --manifest M.csv --name mine   the same on a map and photos of yours
    --map OLD.tif --manifest M.csv --network F   with other weights than XFeat's
    --bundle B --manifest M.csv --name mine      the whole chain of a bundle, in turns
    --bundle B --manifest M.csv --foreign        photos of another place

"Displaced" starts from the true view moved by up to 30 m, 15° and 12 %, with another place competing, and so
measures matching alone. With a bundle each photo is located twice, verified and not, and the ratio of the two
times is taken photo by photo. One line per photo goes to results/accuracy/verify_NAME.csv.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bench.lib.displaced import moved
from bench.lib.record import networks_of, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.evaluation.metrics import (
    QueryRecord,
    calibration_measures,
    error_m,
    heading_error_deg,
    measures,
)
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.image.decode import decode
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import SimulateOptions, TextureOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.photo_list import PhotoRecord, read_photo_list
from nadirfix.runtime import load_network
from nadirfix.train.xfeat import export_xfeat
from nadirfix.types import Fix, Hypothesis, View
from nadirfix.verify.features import Detector, detector_of
from nadirfix.verify.registration import Registration
from nadirfix.verify.result import verified_places
from nadirfix.verify.search import HypothesisStage, verify_hypotheses
from nadirfix.world.files import write_world
from nadirfix.world.photos import simulate_photos

COLUMNS = (
    "photo", "altitude_m", "status", "error_m", "radius95_m", "confidence", "inliers", "heading_error_deg",
    "altitude_error_percent", "total_ms", "plain_error_m", "plain_ms",
)  # fmt: skip
WARM_UP = 2
Line = dict[str, Any]
T = TypeVar("T")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--name", default="world")
    options.add_argument("--bundle", type=Path)
    options.add_argument("--map", type=Path)
    options.add_argument("--manifest", type=Path)
    options.add_argument("--matcher", choices=["xfeat", "sift"], default="xfeat", help="without a bundle")
    options.add_argument("--network", type=Path, help="instead of XFeat's: one that says the same things")
    options.add_argument("--count", type=int, default=0, help="only so many photos, spread over all; 0: all")
    options.add_argument("--foreign", action="store_true", help="the photos show another place")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        lines, records = run(given, Path(scratch))
    name = f"verify_{given.name}" + ("_foreign" if given.foreign else "")
    results = summary(lines, records, foreign=given.foreign)
    how = {"hypotheses": "bundle" if given.bundle else "displaced", "seed": given.seed}
    used = given.network.stem if given.network else given.matcher
    how["matcher"] = Bundle.load(given.bundle).matcher_name if given.bundle else used
    if given.bundle:
        how["networks"] = networks_of(Bundle.load(given.bundle).manifest)
    record_lines(name, COLUMNS, [{k: rounded(v) for k, v in line.items()} for line in lines])
    print(f"wrote {record(name, {**how, **results})}")
    for key, value in results.items():
        print(f"{key}: {value}")


def run(given: argparse.Namespace, scratch: Path) -> tuple[list[Line], list[QueryRecord]]:
    if given.bundle:
        rows = spread(read_photo_list(given.manifest), given.count)
        return both_variants(rows, Bundle.load(given.bundle))
    if given.map is None:
        write_world(scratch / "world", size_m=1500.0, gsd_m=0.5, seed=given.seed + 41)
        given.map, simulation = scratch / "world" / "old.tif", SimulateOptions(count=40, seed=given.seed)
        with GeoMap.open(scratch / "world" / "new.tif") as ground:
            simulate_photos(ground, scratch / "photos", camera=DEFAULT_CAMERA, options=simulation)
        given.manifest = scratch / "photos" / "manifest.csv"
    with GeoMap.open(given.map) as ground:
        pack_texture(ground, scratch / "map.ntx", options=TextureOptions())
    rows = spread(read_photo_list(given.manifest), given.count)
    points = detector(given.matcher, scratch, file=given.network)
    return displaced(rows, Texture.load(scratch / "map.ntx"), points, given.seed)


def detector(name: str, scratch: Path, *, file: Path | None = None) -> Detector:
    network = None
    if name == "xfeat":
        if file is None:
            export_xfeat(file := scratch / "matcher.onnx")
        network = load_network(file)
    return detector_of(name, network, VerifyOptions().features)


def spread(rows: Sequence[T], count: int) -> list[T]:
    step = max(len(rows) / count, 1.0) if count else 1.0
    return [rows[int(k * step)] for k in range(int(len(rows) / step))]


def both_variants(rows: Sequence[PhotoRecord], bundle: Bundle) -> tuple[list[Line], list[QueryRecord]]:
    """Every photo verified and not, in turns; the first ones twice, so that nothing is cold."""
    plain = LocateOptions(verify=False, whole_frame=False, cells=LocateOptions().published_cells)
    lines, records = [], []
    for row in [*rows[:WARM_UP], *rows]:
        before = record_of(row, locate(row.photo, bundle=bundle, options=plain))
        after = record_of(row, locate(row.photo, bundle=bundle))
        lines.append(line_of(after) | plain_of(before))
        records.append(after)
    return lines[WARM_UP:], records[WARM_UP:]


def displaced(
    rows: Sequence[PhotoRecord], texture: Texture, points: Detector, seed: int
) -> tuple[list[Line], list[QueryRecord]]:
    """Every photo from a displaced true view and one elsewhere, the wrong one first half of the time."""
    rng, records = np.random.default_rng(seed), []
    for row, other in zip(rows, [*rows[1:], *rows[:1]], strict=True):
        true = View(row.point, row.altitude_m or math.nan, row.heading_deg or 0.0)
        views = [moved(true, rng), dataclasses.replace(moved(true, rng), center=other.point)]
        records.append(record_of(row, verified(row, views[:: rng.choice([-1, 1])], texture, points)))
    return [line_of(r) for r in records], records


def verified(row: PhotoRecord, views: Sequence[View], texture: Texture, points: Detector) -> Fix:
    began_s, settings = time.perf_counter(), VerifyOptions()
    pixels = decode(row.photo, max_pixels=LocateOptions().max_pixels)
    camera = choose_camera(read_tags(row.photo), explicit=None, nominal=DEFAULT_CAMERA).camera
    registration = Registration(pixels, camera, texture=texture, detector=points, options=settings.match)
    verdict = verify_hypotheses(
        [HypothesisStage([Hypothesis(v, 1.0) for v in views])], registration, settings
    )
    places = verified_places(verdict, settings)
    total_ms = 1000 * (time.perf_counter() - began_s)
    if verdict.reason is not None:
        return Fix(
            photo=str(row.photo), status="no_fix", position=None, reason=verdict.reason,
            reason_code=verdict.code, verified=False, inliers=places[0].inliers if places else 0,
            timings_ms={"total": total_ms},
        )  # fmt: skip
    best = places[0]
    return Fix(
        photo=str(row.photo), status="fix", position=best.view.center, altitude_m=best.view.altitude_m,
        heading_deg=best.view.heading_deg, verified=True, confidence=best.confidence,
        radius95_m=best.radius95_m, covariance_m2=best.covariance_m2, inliers=best.inliers,
        timings_ms={"total": total_ms},
    )  # fmt: skip


def record_of(row: PhotoRecord, fix: Fix) -> QueryRecord:
    return QueryRecord(
        photo=row.photo.name, truth=row.point, altitude_m=row.altitude_m, heading_deg=row.heading_deg, fix=fix
    )


def line_of(query: QueryRecord) -> Line:
    fix, off_m = query.fix, error_m(query)
    assert fix is not None
    found = fix.altitude_m if fix.status == "fix" else None
    off = None if found is None or query.altitude_m is None else 100 * abs(found / query.altitude_m - 1)
    values = (
        query.photo, query.altitude_m, fix.status, off_m if math.isfinite(off_m) else None, fix.radius95_m,
        fix.confidence, fix.inliers, heading_error_deg(query), off, fix.timings_ms["total"], None, None,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def plain_of(query: QueryRecord) -> Line:
    off_m = error_m(query)
    spent = query.fix.timings_ms["total"] if query.fix else None
    return {"plain_error_m": off_m if math.isfinite(off_m) else None, "plain_ms": spent}


def summary(lines: Sequence[Line], records: Sequence[QueryRecord], *, foreign: bool) -> dict[str, Any]:
    """Shares of all photos in percent; medians of the answered, except where it says otherwise."""
    answered = [line for line in lines if line["status"] == "fix"]
    results = {"photos": len(lines), "answered_percent": percent(len(answered), len(lines))}
    if foreign:
        return results
    whole, sure = measures(records), calibration_measures(records)
    results["wrong_fix_percent"] = percent(whole["wrong_fix"], len(lines))
    results["s_loc"], results["error_m"] = whole["s_loc"], whole["error_m"]
    results["radius95"] = sure["radius95"]
    results["heading_error_deg"] = median(answered, "heading_error_deg")
    results["altitude_error_percent"] = median(answered, "altitude_error_percent")
    results["total_ms"] = median(lines, "total_ms")
    timed = [line for line in lines if line["plain_ms"]]
    if timed:
        ratios = [line["total_ms"] / line["plain_ms"] for line in timed]
        results["plain"] = plain_summary(timed)
        results["cost_ratio"] = {f"p{q}": round(float(np.percentile(ratios, q)), 2) for q in (10, 50, 90)}
    return results


def plain_summary(lines: Sequence[Line]) -> dict[str, Any]:
    """The same photos without verification."""
    errors = [math.inf if line["plain_error_m"] is None else line["plain_error_m"] for line in lines]
    near = {str(m): percent(sum(e <= m for e in errors), len(errors)) for m in (5, 10, 25, 100)}
    return {"s_loc": near, "median_m": median(lines, "plain_error_m"), "total_ms": median(lines, "plain_ms")}


def percent(part: int, whole: int) -> float:
    return round(100.0 * part / max(whole, 1), 2)


def median(lines: Sequence[Line], column: str) -> float | None:
    known = [line[column] for line in lines if line[column] is not None]
    return round(float(np.median(known)), 4) if known else None


def rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
