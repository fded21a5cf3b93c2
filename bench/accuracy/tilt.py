"""Tilted photos: how many are answered, and whether the aircraft lies within its own radius.

    python -m bench.accuracy.tilt --bundle NAME.nadir --photos-from NEW.tif --name NAME [--count N] [--seed N]
    python -m bench.accuracy.tilt --bundle FLIGHT.nadir --flight AIRCRAFT.csv --name NAME

Rendered: views of a seed of our own from a map of another date, each three times at the same place,
altitude and heading: upright; tilted by 0 to 30° to any side, which nobody tells; tilted by 30 to 55°
ahead, which the gimbal tells with an error of its own (``--gimbal-error-deg``). Wrong is a frame centre
more than 25 m off.

With ``--displaced`` nothing is retrieved: each view is matched from its own, upright, up to 30 m, 15° and
12 % off, which measures matching and fit alone. Answered is what the map confirms of that.

A flight: photos with the GNSS position of the aircraft (photo, lon, lat). Map and GNSS differ by some metres
as a whole; both are reported: the aircraft as it is, and with the median offset of all photos taken off,
which is the map's as far as the flight can tell. A line per photo goes to results/accuracy/tilt_NAME.csv.
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

from bench.lib.calibration_places import packed
from bench.lib.displaced import moved
from bench.lib.record import networks_of, print_progress, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.gimbal import Gimbal
from nadirfix.image.level import levelled
from nadirfix.online import locate
from nadirfix.options.locate import PriorOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.prior import Prior
from nadirfix.types import Aircraft, Fix, Hypothesis, Point, View
from nadirfix.verify.pose import aircraft_of
from nadirfix.verify.registration import MAP_SAMPLING, Registration
from nadirfix.verify.result import verified_places
from nadirfix.verify.search import HypothesisStage, verify_hypotheses
from nadirfix.verify.tilt import TiltPrior

KINDS = ("upright", "unknown_0_30", "known_30_55")
WRONG_M = 25.0
#: Of a focal length that is given.
FOCAL_SIGMA = 0.005
Line = dict[str, Any]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--photos-from", type=Path)
    options.add_argument("--flight", type=Path)
    options.add_argument("--camera", default="1024x576@730")
    options.add_argument("--altitude-m", type=float, nargs=2, default=[80.0, 200.0])
    options.add_argument("--count", type=int, default=40)
    options.add_argument("--displaced", action="store_true", help="matching alone, nothing is retrieved")
    options.add_argument("--every", type=int, default=1, help="of a flight, every Nth photo")
    options.add_argument("--gimbal-error-deg", type=float, default=0.5)
    options.add_argument("--seed", type=int, default=5601)
    given = options.parse_args()
    bundle = Bundle.load(given.bundle, threads=1)
    lines = list(flown(given, bundle) if given.flight else rendered(given, bundle))
    results = {"networks": networks_of(bundle.manifest)}
    if given.flight:
        results |= {"photos": len(lines), **with_offset(lines)}
    else:
        results |= {"seed": given.seed, "camera": given.camera, "altitude_m": given.altitude_m}
        results |= {"gimbal_error_deg": given.gimbal_error_deg, "displaced": given.displaced}
        results |= {kind: summary([line for line in lines if line["kind"] == kind]) for kind in KINDS}
    record_lines(f"tilt_{given.name}", tuple(lines[0]), lines)
    print(f"wrote {record(f'tilt_{given.name}', results)}")
    for key, value in results.items():
        print(f"{key}: {value}")


def rendered(given: argparse.Namespace, bundle: Bundle) -> Iterator[Line]:
    camera, progress = Camera.pinhole(given.camera), print_progress()
    with tempfile.TemporaryDirectory() as scratch:
        ground = packed(given.photos_from, Path(scratch))
        for i in range(given.count):
            progress("locating", i, given.count)
            draw = np.random.default_rng([given.seed, i])
            for kind, view in zip(KINDS, views(ground, camera, given.altitude_m, draw), strict=True):
                pixels = ground.render(view, camera).pixels
                noisy = np.clip(np.rint(pixels + draw.normal(0, 2, pixels.shape)), 0, 255).astype(np.uint8)
                prior = gimbal_prior(view, draw, given.gimbal_error_deg) if kind == "known_30_55" else None
                began_s = time.process_time()
                if given.displaced:
                    found = matched(noisy, camera, bundle, prior, moved(replace(view, tilt_deg=0.0), draw))
                else:
                    found = answer_of(locate(noisy, bundle=bundle, camera=camera, prior=prior))
                yield {"kind": kind, "view": i, **line_of(found, view, time.process_time() - began_s)}


def views(
    ground: Texture, camera: Camera, altitude_m: Sequence[float], draw: np.random.Generator
) -> tuple[View, View, View]:
    """The same place upright, tilted and oblique, all of it on the map."""
    west, south, east, north = ground.bounds
    while True:
        place = Point(draw.uniform(west, east), draw.uniform(south, north), ground.epsg)
        upright = View(place, draw.uniform(*altitude_m), draw.uniform(0, 360))
        tilted = replace(upright, tilt_deg=draw.uniform(0, 30), tilt_toward_deg=draw.uniform(0, 360))
        oblique = replace(upright, tilt_deg=draw.uniform(30, 55), tilt_toward_deg=upright.heading_deg)
        three = upright, tilted, oblique
        if all(ground.render(view, camera, (64, 36)).valid_share > 0.95 for view in three):
            return three


def gimbal_prior(view: View, draw: np.random.Generator, error_deg: float) -> Prior:
    """What the gimbal says of a view, with its error."""
    pitch_deg = view.tilt_deg - 90 + draw.normal(0, error_deg)
    return Prior(gimbal=Gimbal(pitch_deg=pitch_deg, roll_deg=float(draw.normal(0, error_deg))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An answer: frame centre, its radius, the tilt, and the aircraft."""

    centre: Point
    radius95_m: float
    tilt_deg: float
    aircraft: Aircraft


def answer_of(fix: Fix) -> Found | None:
    if fix.position is None or fix.aircraft is None:
        return None
    radius95_m, tilt_deg = fix.radius95_m or 0.0, fix.tilt_deg or 0.0
    return Found(centre=fix.position, radius95_m=radius95_m, tilt_deg=tilt_deg, aircraft=fix.aircraft)


def matched(
    pixels: np.ndarray, camera: Camera, bundle: Bundle, prior: Prior | None, near: View
) -> Found | None:
    """What matching at one view says, without any retrieval."""
    options, gimbal = VerifyOptions(), prior and prior.gimbal
    known: dict[str, Any] = {}
    if gimbal:
        pixels, camera, made = levelled(pixels, camera, gimbal)
        tilt = TiltPrior(PriorOptions().gimbal_deg, gimbal.tilt_deg, gimbal.toward_top_deg)
        known = {"levelling": made, "tilt": tilt}
    registration = Registration(
        pixels, camera, texture=bundle.texture.rendered_with(MAP_SAMPLING),
        detector=bundle.keypoint_detector(options.features), options=options.match, **known,
    )  # fmt: skip
    result = verify_hypotheses([HypothesisStage([Hypothesis(near, 1.0)])], registration, options)
    if result.confirmed is None:
        return None
    place = verified_places(result, options, focal_sigma=FOCAL_SIGMA)[0]
    return Found(
        centre=place.view.center, radius95_m=place.radius95_m, tilt_deg=place.view.tilt_deg,
        aircraft=place.aircraft,
    )  # fmt: skip


def line_of(found: Found | None, true: View, spent_s: float) -> Line:
    known = {"altitude_m": round(true.altitude_m, 1), "tilt_deg": round(true.tilt_deg, 2)}
    names = ("error_m", "radius95_m", "aircraft_error_m", "aircraft_radius95_m", "found_tilt_deg")
    if found is None:
        return {**known, "status": "no_fix", **dict.fromkeys(names), "spent_s": round(spent_s, 2)}
    values = (
        found.centre.distance_m(true.center), found.radius95_m,
        found.aircraft.position.distance_m(aircraft_of(true)), found.aircraft.radius95_m, found.tilt_deg,
    )  # fmt: skip
    rounded = {name: round(float(value), 2) for name, value in zip(names, values, strict=True)}
    return {**known, "status": "fix", **rounded, "spent_s": round(spent_s, 2)}


def summary(lines: Sequence[Line]) -> dict[str, Any]:
    fixes = [line for line in lines if line["status"] == "fix"]
    if not fixes:
        return {"photos": len(lines), "answered": 0}
    within = [line["error_m"] <= line["radius95_m"] for line in fixes]
    return {
        "photos": len(lines),
        "answered": len(fixes),
        "wrong": sum(line["error_m"] > WRONG_M for line in fixes),
        "median_m": statistics.median(line["error_m"] for line in fixes),
        "within_radius": round(100 * statistics.mean(within), 1),
        **aircraft(fixes),
        "median_s": statistics.median(line["spent_s"] for line in lines),
    }


def aircraft(fixes: Sequence[Line]) -> dict[str, float]:
    """How far off the aircraft is, and how often within its radius."""
    within = [line["aircraft_error_m"] <= line["aircraft_radius95_m"] for line in fixes]
    return {
        "aircraft_median_m": statistics.median(line["aircraft_error_m"] for line in fixes),
        "aircraft_within_radius": round(100 * statistics.mean(within), 1),
        "aircraft_median_radius_m": statistics.median(line["aircraft_radius95_m"] for line in fixes),
    }


def flown(given: argparse.Namespace, bundle: Bundle) -> Iterator[Line]:
    """Each photo of a flight, with the aircraft's place as found from where its GNSS has it."""
    with given.flight.open(newline="", encoding="utf-8") as file:
        for row in list(csv.DictReader(file))[:: given.every]:
            fix = locate(given.flight.parent / row["photo"], bundle=bundle)
            line: Line = {"photo": Path(row["photo"]).name, "status": fix.status, "tilt_deg": None}
            line |= dict.fromkeys(("east_m", "north_m", "aircraft_error_m", "aircraft_radius95_m"))
            if fix.aircraft is not None:
                found, radius95_m = fix.aircraft.position, fix.aircraft.radius95_m
                true = Point.from_lonlat(float(row["lon"]), float(row["lat"]), epsg=found.epsg)
                line["tilt_deg"] = round(fix.tilt_deg or 0.0, 2)
                line["east_m"] = round(found.east_m - true.east_m, 2)
                line["north_m"] = round(found.north_m - true.north_m, 2)
                line["aircraft_error_m"] = round(found.distance_m(true), 2)
                line["aircraft_radius95_m"] = round(radius95_m, 2)
            yield line


def with_offset(lines: Sequence[Line]) -> dict[str, Any]:
    """The aircraft as it is, and with the flight's median offset of map from GNSS taken off."""
    fixes = [line for line in lines if line["status"] == "fix"]
    if not fixes:
        return {"answered": 0}
    east_m, north_m = (statistics.median(line[axis] for line in fixes) for axis in ("east_m", "north_m"))
    moved = [
        {**line, "aircraft_error_m": math.hypot(line["east_m"] - east_m, line["north_m"] - north_m)}
        for line in fixes
    ]
    offset = {"east_m": east_m, "north_m": north_m}
    return {"answered": len(fixes), **aircraft(fixes), "offset": offset, "without_offset": aircraft(moved)}


if __name__ == "__main__":
    main()
