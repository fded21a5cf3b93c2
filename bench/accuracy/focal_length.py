"""The focal length of a flight's camera, by the map: what its tags give, and what its photos say.

    python -m bench.accuracy.focal_length --map MAP.tif --truth TRUTH.csv --name NAME [--every 2]

Tilted photos are registered with the map near the frame centres and headings of TRUTH (photo, lon, lat
of the aircraft, relative_altitude_m, flight_yaw_deg, frame_centre_lon, frame_centre_lat). Then a view is
fitted to each photo's inliers, tilt unknown, with one focal length after another. Three things should speak
for the same one: how well the inliers fit (perspective), how far the aircraft comes out ahead of its GNSS,
and its height against the one above take-off, which need not be that above ground. GNSS and map may be off
by a shift, which is fitted as well: the aircraft must fly in more than one direction.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.lib.record import record
from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.image.decode import decode
from nadirfix.image.tags import read_tags
from nadirfix.options.verify import FeatureOptions, MatchOptions
from nadirfix.runtime import load_network
from nadirfix.train.xfeat import export_xfeat
from nadirfix.types import Point, View
from nadirfix.verify.features import Detector, detector_of
from nadirfix.verify.pose import aircraft_of, ground_residuals_m, solve_view
from nadirfix.verify.registration import MatchResult, Registration
from nadirfix.verify.tilt import TiltPrior

#: The tilt is left to the inliers.
FREE_DEG = 60.0
#: Times the focal length in the tags.
FACTORS = np.arange(0.85, 1.36, 0.05)
FEWEST = 30
#: Inliers are chosen with the focal length of the tags: a narrow choice would speak for it.
LOOSE_PX = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class Registered:
    """A photo's inliers, and where its drone thought it was."""

    camera: Camera
    match: MatchResult
    aircraft: Point
    yaw_deg: float
    above_takeoff_m: float


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--truth", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--every", type=int, default=2, help="register every Nth photo")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        with GeoMap.open(given.map) as ground:
            texture = pack_texture(ground, Path(name) / "map.ntx")
        export_xfeat(Path(name) / "xfeat.onnx")
        detector = detector_of("xfeat", load_network(Path(name) / "xfeat.onnx"), FeatureOptions())
        photos = list(registered(given.truth, texture, detector, given.every))
    rows = [fitted(photos, float(factor)) for factor in FACTORS]
    results = {
        "photos": len(photos),
        "camera_of_tags": photos[0].camera.spec,
        "times_by_perspective": at_least([r["residual_m"] for r in rows]),
        "times_by_aircraft": at_zero([r["ahead_m"] for r in rows]),
        "times_by_height": at_zero([r["above_takeoff_m"] for r in rows]),
        "rows": rows,
    }
    print(json.dumps(results, indent=2))
    print(f"wrote {record(f'focal_length_{given.name}', results)}")


def registered(truth: Path, texture: Texture, detector: Detector, every: int) -> Iterator[Registered]:
    """Photos with enough inliers near the frame centre that is known."""
    with truth.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["frame_centre_lon"]][::every]
    for line in lines:
        path, above_m = truth.parent / line["photo"], float(line["relative_altitude_m"])
        camera, yaw_deg = read_tags(path).camera, float(line["flight_yaw_deg"])
        assert camera is not None, f"{path}: no tag says what its focal length is"
        center = Point.from_lonlat(float(line["frame_centre_lon"]), float(line["frame_centre_lat"]))
        match = matched(path, camera, View(center, 0.9 * above_m, yaw_deg % 360), texture, detector)
        if match.inliers >= FEWEST:
            aircraft = Point.from_lonlat(float(line["lon"]), float(line["lat"]))
            yield Registered(camera, match, aircraft, yaw_deg, above_m)


def matched(path: Path, camera: Camera, near: View, texture: Texture, detector: Detector) -> MatchResult:
    options = replace(MatchOptions(), tilt_sigma_deg=FREE_DEG, inlier_px=LOOSE_PX)
    pixels = decode(path, max_pixels=10**8)
    registration = Registration(pixels, camera, texture=texture, detector=detector, options=options)
    first = registration.match(near)
    return registration.match_finer(first) if first.fitted else first


def fitted(photos: list[Registered], factor: float) -> dict[str, float]:
    """All photos with a focal length so many times that of the tags."""
    squares, above_m, off_m, tilt_deg = [], [], [], []
    for photo in photos:
        camera = replace(photo.camera, fx_px=photo.camera.fx_px * factor, fy_px=photo.camera.fy_px * factor)
        origin = photo.match.view.center
        photo_px = photo.match.photo_share * [camera.width_px, camera.height_px]
        ground_m = photo.match.ground_m - np.array([origin.east_m, origin.north_m])
        start = replace(photo.match.view, altitude_m=photo.match.view.altitude_m * factor)
        view = solve_view(photo_px, ground_m, origin, camera=camera, start=start, tilt=TiltPrior(FREE_DEG))
        residual_m = ground_residuals_m(photo_px, ground_m, origin, camera=camera, view=view)
        aircraft = aircraft_of(view)
        squares.append(float(np.mean(residual_m**2)))
        above_m.append(view.altitude_m - photo.above_takeoff_m)
        tilt_deg.append(view.tilt_deg)
        off_m.append((aircraft.east_m - photo.aircraft.east_m, aircraft.north_m - photo.aircraft.north_m))
    return {
        "times": round(factor, 2),
        "residual_m": round(math.sqrt(float(np.mean(squares))), 4),
        "tilt_deg": round(float(np.median(tilt_deg)), 2),
        "ahead_m": round(ahead_m(photos, np.array(off_m)), 2),
        "above_takeoff_m": round(float(np.median(above_m)), 1),
    }


def ahead_m(photos: list[Registered], off_m: np.ndarray) -> float:
    """By how much aircraft come out ahead of their GNSS, besides a shift they have in common."""
    yaw = np.radians([photo.yaw_deg for photo in photos])
    one, none = np.ones_like(yaw), np.zeros_like(yaw)
    design = np.concatenate([np.stack([one, none, np.sin(yaw)], 1), np.stack([none, one, np.cos(yaw)], 1)])
    return float(np.linalg.lstsq(design, np.concatenate([off_m[:, 0], off_m[:, 1]]), rcond=None)[0][2])


def at_zero(values: list[float]) -> float | None:
    """The factor at which values cross zero."""
    order = np.argsort(values)
    inside = min(values) <= 0 <= max(values)
    return round(float(np.interp(0.0, np.array(values)[order], FACTORS[order])), 3) if inside else None


def at_least(values: list[float]) -> float:
    """The factor at which they are smallest, by a parabola through the lowest three."""
    best = min(max(int(np.argmin(values)), 1), len(values) - 2)
    part = slice(best - 1, best + 2)
    a, b, _ = np.polyfit(FACTORS[part], values[part], 2)
    return round(float(-b / (2 * a)), 3)


if __name__ == "__main__":
    main()
