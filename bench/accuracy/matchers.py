"""Two matchers on the same photos, in turns: what is answered, how well, and what keypoints cost.

    python -m bench.accuracy.matchers --bundle B --manifest M.csv --name mine --network OURS.onnx
        [--than XFEAT.onnx] [--count N] [--displaced] [--flight]

Without ``--than`` the other one is XFeat as its authors publish it, exported (the verify extra). Each photo
is located by the whole chain with either matcher in a copy of the bundle, or ``--displaced``: matching alone,
from the true view moved by up to 30 m, 15° and 12 %, with another place competing. With ``--flight`` M.csv is
a flight's truth, as in ``real_flights.py``; photos are located from the picture alone. Which matcher comes
first alternates. Times are processor time; a ratio is taken photo by photo. A line per photo goes to
results/accuracy/matchers_NAME.csv.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.real_flights import read_truth
from bench.accuracy.verify import percent, rounded, spread, verified
from bench.lib.displaced import moved
from bench.lib.record import networks_of, print_progress, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.offline.manifest import list_parts, write_manifest
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions, TagOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.photo_list import PhotoRecord, read_photo_list
from nadirfix.runtime.packaged import shipped_matcher
from nadirfix.train.xfeat import export_xfeat
from nadirfix.types import Fix, Point, View

NAMES = ("ours", "other")
COLUMNS = (
    "photo", "altitude_m", "ours_status", "ours_error_m", "ours_inliers", "ours_ms",
    "other_status", "other_error_m", "other_inliers", "other_ms",
)  # fmt: skip
WRONG_M, NEAR_M = 100.0, (5, 10, 25, 100)
Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One photo, and what is known of where it was taken."""

    photo: Path
    truth: Point | None
    altitude_m: float
    heading_deg: float = math.nan

    def view(self) -> View:
        assert self.truth is not None
        return View(self.truth, self.altitude_m, self.heading_deg)


Locate = Callable[[Row, int], Fix]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--manifest", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--network", type=Path, help="ours; else the one that ships")
    options.add_argument("--than", type=Path, help="the other's network")
    options.add_argument("--count", type=int, default=0, help="only so many photos, spread over all; 0: all")
    options.add_argument("--displaced", action="store_true")
    options.add_argument("--flight", action="store_true")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        files = network_files(given, Path(scratch))
        bundles = {
            name: with_matcher(given.bundle, file, Path(scratch) / name) for name, file in files.items()
        }
        lines = compared(rows_of(given), [located_by(bundle, given) for bundle in bundles.values()])
        results = about(given, files, bundles["ours"]) | {name: summary(lines, name) for name in NAMES}
    results["time_ratio"] = time_ratio(lines)
    kind = "displaced_" if given.displaced else ""
    record_lines(f"matchers_{kind}{given.name}", COLUMNS, lines)
    print(f"wrote {record(f'matchers_{kind}{given.name}', results)}")
    for key, value in results.items():
        print(f"{key}: {value}")


def network_files(given: argparse.Namespace, scratch: Path) -> dict[str, Path]:
    ours, other = given.network, given.than
    if ours is None:
        (ours := scratch / "ours.onnx").write_bytes(shipped_matcher().content)
    if other is None:
        export_xfeat(other := scratch / "xfeat.onnx")
    return {"ours": ours, "other": other}


def with_matcher(source: Path, network: Path, folder: Path) -> Bundle:
    """The bundle with another matcher in it."""
    folder.mkdir()
    manifest = parts.read_manifest(source)
    for name in manifest["parts"]:
        if name != parts.MATCHER:
            (folder / name).symlink_to((source / name).resolve())
    (folder / parts.MATCHER).write_bytes(network.read_bytes())
    listed = {**manifest["parts"], **list_parts(folder, [parts.MATCHER])}
    write_manifest(folder, {**manifest, "parts": listed, "matcher": {"name": "standard"}})
    return Bundle.load(folder, threads=1)


def rows_of(given: argparse.Namespace) -> list[Row]:
    if given.flight:
        flown = list(read_truth(given.manifest))
        return [Row(row.photo, row.position, row.altitude_m) for row in spread(flown, given.count)]
    rows = spread(read_photo_list(given.manifest), given.count)
    return [Row(r.photo, r.point, r.altitude_m or math.nan, r.heading_deg or 0.0) for r in rows]


def located_by(bundle: Bundle, given: argparse.Namespace) -> Locate:
    """How a photo is located with this bundle."""
    if given.displaced:
        return displaced(bundle, given)
    usual = LocateOptions()
    usual = replace(usual, tags=TagOptions(believed=False)) if given.flight else usual
    return lambda row, _index: locate(row.photo, bundle=bundle, options=usual)


def displaced(bundle: Bundle, given: argparse.Namespace) -> Locate:
    """Matching alone; both matchers get the same displaced views, and the same other place."""
    detector, rows = bundle.keypoint_detector(VerifyOptions().features), rows_of(given)

    def found(row: Row, index: int) -> Fix:
        draw = np.random.default_rng([given.seed, index])
        true, elsewhere = row.view(), rows[(index + 1) % len(rows)].view()
        views = [moved(true, draw), replace(moved(true, draw), center=elsewhere.center)]
        photo = PhotoRecord(photo=row.photo, point=true.center)
        return verified(photo, views[:: draw.choice([-1, 1])], bundle.texture, detector)

    return found


def compared(rows: Sequence[Row], ways: Sequence[Locate]) -> list[Line]:
    """A line for each photo; the first goes before all others as well, so that nothing is cold."""
    lines, progress = [], print_progress()
    for index, row in enumerate([rows[0], *rows]):
        progress("locating", index, len(rows))
        order = sorted(range(2), reverse=bool(index % 2))
        found = {NAMES[k]: timed(ways[k], row, max(index - 1, 0)) for k in order}
        line: Line = {"photo": row.photo.name, "altitude_m": rounded(row.altitude_m)}
        for name in NAMES:
            fix, spent_ms = found[name]
            off = fix.position.distance_m(row.truth) if fix.position and row.truth else None
            values = {"status": fix.status, "error_m": off, "inliers": fix.inliers, "ms": spent_ms}
            line |= {f"{name}_{key}": rounded(value) for key, value in values.items()}
        lines.append(line)
    return lines[1:]


def timed(find: Locate, row: Row, index: int) -> tuple[Fix, float]:
    began_s = time.process_time()
    fix = find(row, index)
    return fix, 1e3 * (time.process_time() - began_s)


def summary(lines: Sequence[Line], name: str) -> dict[str, Any]:
    """Shares of all photos in percent; the median is that of the answered."""
    answered = [line for line in lines if line[f"{name}_status"] == "fix"]
    errors = [line[f"{name}_error_m"] for line in answered if line[f"{name}_error_m"] is not None]
    return {
        "photos": len(lines),
        "answered_percent": percent(len(answered), len(lines)),
        "wrong_percent": percent(sum(e > WRONG_M for e in errors), len(lines)),
        "s_loc": {str(m): percent(sum(e <= m for e in errors), len(lines)) for m in NEAR_M},
        "median_m": round(statistics.median(errors), 3) if errors else None,
        "inliers_median": statistics.median([line[f"{name}_inliers"] or 0 for line in answered] or [0]),
        "median_ms": round(statistics.median(line[f"{name}_ms"] for line in lines), 1),
    }


def time_ratio(lines: Sequence[Line]) -> dict[str, float]:
    ratios = [line["ours_ms"] / line["other_ms"] for line in lines]
    return {f"p{q}": round(float(np.percentile(ratios, q)), 3) for q in (10, 50, 90)}


def about(given: argparse.Namespace, files: dict[str, Path], bundle: Bundle) -> dict[str, Any]:
    """What was compared: the matchers by the hashes of their files, everything else by the bundle."""
    hashes = {name: hashlib.sha256(file.read_bytes()).hexdigest()[:16] for name, file in files.items()}
    protocol = "displaced" if given.displaced else "whole chain"
    return {
        "protocol": protocol, "seed": given.seed, "matchers": hashes,
        "networks": networks_of(bundle.manifest),
    }  # fmt: skip


if __name__ == "__main__":
    main()
