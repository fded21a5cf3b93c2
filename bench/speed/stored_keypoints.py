"""Keypoints of the map: detected for each photo, or stored by the build? What either takes.

python -m bench.speed.stored_keypoints --bundle B --manifest M.csv [--count 20]

Each photo is verified against the map at its true view moved by up to 30 m, 15° and 12 %. What a store could
save of such a match at most is rendering the window and finding its keypoints. What it would hold is
counted from the same windows: keypoints per square kilometre at one scale and heading, times headings
(keypoints are found again turned by 15°, not by 30°) and scales (within 12 %), descriptors in 8 bits and
positions in 16.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy.verify import spread
from bench.lib.displaced import moved
from bench.lib.record import record
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.image.decode import decode
from nadirfix.options.locate import LocateOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.photo_list import read_photo_list
from nadirfix.timing import Stopwatch
from nadirfix.types import View
from nadirfix.verify.features import Detector, Features
from nadirfix.verify.registration import FIRST_WIDTH_PX, MAP_SAMPLING, Registration

HEADINGS, SCALE_STEP = 12, 1.24
BYTES = 64 + 4  # of a keypoint: its descriptor in 8 bits, its position
WARM_UP = 2
STAGES = ("verify_render", "verify_map_points", "verify_match")


class Remembering:
    """A detector that keeps the keypoints it found last."""

    def __init__(self, detect: Detector) -> None:
        self.detect = detect
        self.keypoints_px = np.zeros((0, 2), np.float32)

    def __call__(self, grey: np.ndarray, valid: np.ndarray | None = None) -> Features:
        found = self.detect(grey, valid)
        self.keypoints_px = found.keypoints_px
        return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--manifest", type=Path, required=True)
    options.add_argument("--name", default="mine_dev")
    options.add_argument("--count", type=int, default=20)
    options.add_argument("--seed", type=int, default=5)
    given = options.parse_args()
    bundle, rng = Bundle.load(given.bundle), np.random.default_rng(given.seed)
    rows = spread(read_photo_list(given.manifest), given.count)
    views = [View(row.point, row.altitude_m or math.nan, row.heading_deg or 0.0) for row in rows]
    measurements = [
        matched(bundle, row.photo, moved(view, rng)) for row, view in zip(rows, views, strict=True)
    ]
    results = {"seed": given.seed, "photos": len(measurements), **summary(measurements[WARM_UP:], bundle)}
    print(f"wrote {record(f'stored_keypoints_{given.name}', results)}")
    for key, value in results.items():
        print(f"{key}: {value}")


def matched(bundle: Bundle, photo: Path, view: View) -> dict[str, float]:
    """One photo at one view, in milliseconds by stage, and how many keypoints a window has by ground."""
    settings, watch = VerifyOptions(), Stopwatch()
    detect = bundle.keypoint_detector(settings.features)
    detector, ground = Remembering(detect), bundle.texture.rendered_with(MAP_SAMPLING)
    pixels = decode(photo, max_pixels=LocateOptions().max_pixels)
    registration = Registration(
        pixels, DEFAULT_CAMERA, texture=ground, detector=detector, options=settings.match, watch=watch
    )
    registration.keypoint_count()
    began_s = time.perf_counter()
    match = registration.match(view)
    match_ms = 1000 * (time.perf_counter() - began_s)
    spent = {stage: watch.timings_ms().get(stage, 0.0) for stage in STAGES}
    gsd_m = match.gsd_m or DEFAULT_CAMERA.footprint_m(view.altitude_m)[0] / FIRST_WIDTH_PX
    high_m, wide_m = np.ptp(detector.keypoints_px, axis=0) * gsd_m
    return {**spent, "match_ms": match_ms, "gsd_m": gsd_m,
            "per_km2": len(detector.keypoints_px) / max(float(high_m * wide_m), 1.0) * 1e6}  # fmt: skip


def summary(measurements: Sequence[dict[str, float]], bundle: Bundle) -> dict[str, Any]:
    """Medians; a store holds every scale from the lowest photo's to the highest's."""
    spent = {stage: round(float(np.median([one[stage] for one in measurements])), 1) for stage in STAGES}
    saved = spent["verify_render"] + spent["verify_map_points"]
    match_ms = float(np.median([one["match_ms"] for one in measurements]))
    # A keypoint per so many pixels: at a scale twice as coarse a square kilometre has a quarter of them.
    per_pixel = float(np.median([one["per_km2"] * one["gsd_m"] ** 2 for one in measurements])) / 1e6
    low, high = (f(one["gsd_m"] for one in measurements) for f in (min, max))
    scales = low * SCALE_STEP ** np.arange(math.ceil(math.log(high / low, SCALE_STEP)) + 1)
    stored_mb = float(HEADINGS * BYTES * (per_pixel * 1e6 / scales**2).sum()) / 1e6
    texture_mb = (bundle.path / "texture.ntx").stat().st_size / 1e6
    return {
        "median_ms": {**spent, "match": round(match_ms, 1)},
        "saved_percent_of_a_match": round(100 * saved / match_ms, 1),
        "pixels_per_point": round(1 / per_pixel, 1),
        "scales": len(scales),
        "stored_mb_per_km2": round(stored_mb, 1),
        "texture_mb_per_km2": round(texture_mb / covered_km2(bundle), 2),
    }


def covered_km2(bundle: Bundle) -> float:
    masks, gsd_m = bundle.texture.masks[-1], bundle.texture.gsd_m
    step = bundle.texture.size_px[0] / masks.shape[1]
    return float(np.count_nonzero(masks)) * (gsd_m * step) ** 2 / 1e6


if __name__ == "__main__":
    main()
