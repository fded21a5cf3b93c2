"""What a second set of references is worth: the rank of the right view among those a sweep proposes.

    python -m bench.accuracy.reference_levels --bundle B --newer NEWER.tif --name NAME

Views of our own, from 35 to 350 m, by a 16:9 and a 4:3 camera in turns, tilted by up to 4°, noise and JPEG.
Nothing is verified. Right is a view at most 35 m and 22° off, and 1.4 times as high or low: from there the
matcher finds the rest. Once with the usual references alone, once with the low ones beside them.
"""

from __future__ import annotations

import argparse
import io
import math
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bench.lib.record import print_progress, record
from nadirfix.bundle import Bundle
from nadirfix.bundle.plan import Plan
from nadirfix.camera import Camera
from nadirfix.geo.angle import wrap_deg
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.online import gather_evidence
from nadirfix.online.hypotheses import PhotoHypotheses
from nadirfix.online.photo import read_photo
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import TextureOptions
from nadirfix.prior import Prior
from nadirfix.timing import Stopwatch
from nadirfix.types import Hypothesis, Point, View

CAMERAS = (Camera.parse("1280x720@684.5"), Camera.parse("1600x1200@1200"))
LOWEST_M, HIGHEST_M, TILT_DEG, NOISE, JPEG = 35.0, 350.0, 4.0, 2.0, 88
NEAR_M, NEAR_DEG, NEAR_RATIO = 35.0, 22.0, 1.4
BANDS_M = ((35, 50), (50, 70), (70, 100), (100, 150), (150, 250), (250, 350))
RANKS = (1, 5, 16)
USUAL = LocateOptions()


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--bundle", type=Path, required=True)
    options.add_argument("--newer", type=Path, required=True, help="the same place at another date")
    options.add_argument("--name", required=True)
    options.add_argument("--count", type=int, default=120)
    options.add_argument("--seed", type=int, default=5)
    given = options.parse_args()
    bundle, ranks = Bundle.load(given.bundle), {"usual": [], "both": []}
    altitudes_m, progress = [], print_progress()
    with tempfile.TemporaryDirectory() as scratch, GeoMap.open(given.newer) as newer:
        pack_texture(newer, Path(scratch) / "newer.ntx", options=TextureOptions())
        texture = Texture.load(Path(scratch) / "newer.ntx")
        for i, (photo, camera, view) in enumerate(photos(texture, given.count, given.seed)):
            progress("sweeping", i, given.count)
            altitudes_m.append(view.altitude_m)
            for name, found in proposed(photo, camera, bundle).items():
                ranks[name].append(rank(found, view))
    results = {"photos": given.count, "seed": given.seed, **summary(np.array(altitudes_m), ranks)}
    print(f"wrote {record(f'reference_levels_{given.name}', results)}")
    for key, value in results.items():
        print(f"{key}: {value}")


def photos(texture: Texture, count: int, seed: int) -> Iterator[tuple[bytes, Camera, View]]:
    """JPEG files, the cameras that took them, and from where."""
    random, made = np.random.default_rng(seed), 0
    west, south, east, north = texture.bounds
    while made < count:
        camera = CAMERAS[made % len(CAMERAS)]
        altitude_m = math.exp(random.uniform(math.log(LOWEST_M), math.log(HIGHEST_M)))
        center = Point(random.uniform(west, east), random.uniform(south, north), texture.epsg)
        heading_deg, toward_deg = random.uniform(0, 360, 2)
        view = View(center, altitude_m, heading_deg, random.uniform(0, TILT_DEG), toward_deg)
        rendered = texture.render(view, camera)
        noisy = rendered.pixels + random.normal(0, NOISE, rendered.pixels.shape)
        if rendered.valid_share >= 0.95:
            file = io.BytesIO()
            Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=JPEG)
            made += 1
            yield file.getvalue(), camera, view


def proposed(photo: bytes, camera: Camera, bundle: Bundle) -> dict[str, list[Hypothesis]]:
    """The views a sweep proposes, among the usual references alone and among both sets."""
    found = {}
    for name, low in (("usual", None), ("both", bundle.low_reference_search)):
        vars(bundle)["low_reference_search"] = low  # what the bundle remembers of it
        decoded, plan = read_photo(photo, camera, bundle, USUAL), Plan.of(bundle, USUAL)
        evidence = gather_evidence(decoded, Prior(), bundle, plan, USUAL, watch=Stopwatch())
        source = PhotoHypotheses(evidence, bundle, plan, USUAL, Stopwatch())
        found[name] = source.from_sweep(USUAL.votes)
    return found


def rank(found: list[Hypothesis], truth: View) -> float:
    """The place of the first right view, from 1; infinity where none is."""
    for place, one in enumerate(found, start=1):
        off_m = one.view.center.to(truth.center.epsg).distance_m(truth.center)
        turned_deg = abs(wrap_deg(one.view.heading_deg - truth.heading_deg))
        ratio = abs(math.log(one.view.altitude_m / truth.altitude_m))
        if off_m <= NEAR_M and turned_deg <= NEAR_DEG and ratio <= math.log(NEAR_RATIO):
            return place
    return math.inf


def summary(altitude_m: np.ndarray, ranks: dict[str, list[float]]) -> dict[str, Any]:
    """Shares of photos with a right view among the first few, altogether and by altitude."""
    results: dict[str, Any] = {}
    for name, places in ranks.items():
        found = np.array(places)
        results[name] = {f"first_{k}": 100 * statistics.mean((found <= k).tolist()) for k in RANKS}
        results[name]["first_5_by_altitude_m"] = {
            f"{low}-{high}": 100 * float(np.mean(found[(altitude_m >= low) & (altitude_m < high)] <= 5))
            for low, high in BANDS_M
        }
    return results


if __name__ == "__main__":
    main()
