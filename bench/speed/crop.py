"""The crop of ``locate`` against the published one, which enlarges the photo first: grey levels and time.

python -m bench.speed.crop [--made 2]

Photos of 2048 × 1536 pixels are drawn from a procedural world at the middle of every altitude class. Three
variants are compared with Pillow's: means of the photo's own pixels, the cubic by whole pixels as
published, and the cubic by the exact ratio.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bench.lib.baseline import _enlarged_then_cropped
from bench.lib.record import record
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.crop import Canonical, canonical_crop
from nadirfix.image.enlarge import _rgb_weights, cubic_weights
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.image.resampling import apply_weights
from nadirfix.options.recipe import RECIPES
from nadirfix.types import View
from nadirfix.world.files import write_world

RECIPE = RECIPES["paper"]
CAMERA = RECIPE.camera
BINS = AltitudeBins.from_options(RECIPE.bins)
CANONICAL = Canonical(CAMERA, RECIPE.references.canonical_altitude_m)
SIZE = {"width_px": RECIPE.place_network.width_px, "height_px": RECIPE.place_network.height_px}
ROUNDS = 200
Variant = Callable[[np.ndarray, float], np.ndarray]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--made", type=int, default=2, help="so many photos of every altitude class")
    options.add_argument("--name", default="crop")
    given = options.parse_args()
    by_class: dict[float, list[dict[str, dict[str, float]]]] = {}
    for altitude_m, photo in made(given.made):
        by_class.setdefault(altitude_m, []).append(differences(photo, altitude_m))
    results = {
        "seed": 0,
        "photos_per_class": given.made,
        "off_levels": {f"{altitude_m:.0f} m": joined(found) for altitude_m, found in by_class.items()},
        "median_ms": {f"{altitude_m:.0f} m": times_ms(altitude_m) for altitude_m in (125.0, 325.0, 675.0)},
    }
    print(json.dumps(results, indent=2))
    print(f"wrote {record(given.name, results)}")


def made(count: int) -> Iterator[tuple[float, Image.Image]]:
    """Photos of a world, with noise, as JPEG gives them back."""
    draw = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        write_world(Path(name) / "world", size_m=1800.0, gsd_m=0.3, seed=0)
        with GeoMap.open(Path(name) / "world" / "new.tif") as ground:
            for altitude_m in np.repeat(BINS.centers_m, count):
                center = ground.center.moved(*draw.uniform(-150.0, 150.0, 2))
                view = View(center, float(altitude_m), float(90 * draw.integers(4)))
                rendered = ground.render(view, CAMERA).pixels
                noise = draw.standard_normal(rendered.shape, np.float32)
                pixels = np.clip(np.rint(rendered + 2 * noise), 0, 255).astype(np.uint8)
                photo = encode_jpeg(pixels, CAMERA, quality=95, pose=None)
                yield float(altitude_m), Image.open(io.BytesIO(photo)).convert("RGB")


def differences(photo: Image.Image, altitude_m: float) -> dict[str, dict[str, float]]:
    """Mean and largest difference from the published crop, for each variant."""
    ratio, pixels = altitude_m / CANONICAL.altitude_m, np.array(photo)
    wanted = _enlarged_then_cropped(photo, ratio, RECIPE.place_network)
    off = {name: np.abs(crop(pixels, altitude_m) - wanted) for name, crop in VARIANTS.items()}
    return {name: {"mean": float(o.mean()), "largest": float(o.max())} for name, o in off.items()}


def joined(found: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    return {
        name: {
            "mean": round(float(np.mean([f[name]["mean"] for f in found])), 3),
            "largest": round(max(f[name]["largest"] for f in found), 2),
        }
        for name in VARIANTS
    }


def means(pixels: np.ndarray, altitude_m: float) -> np.ndarray:
    return canonical_crop(pixels, CAMERA, CAMERA.gsd_m(altitude_m), CANONICAL, **SIZE).pixels


def cubic(pixels: np.ndarray, altitude_m: float) -> np.ndarray:
    gsd_m = CAMERA.gsd_m(altitude_m)
    return canonical_crop(pixels, CAMERA, gsd_m, CANONICAL, enlarge="cubic", **SIZE).pixels


def exact_ratio(pixels: np.ndarray, altitude_m: float) -> np.ndarray:
    """The cubic as if a picture could be enlarged to a fraction of a pixel."""
    (rows, columns), ratio = pixels.shape[:2], altitude_m / CANONICAL.altitude_m
    span, across = _rgb_weights(columns, columns * ratio, SIZE["width_px"])
    return np.clip(
        apply_weights(pixels, span, cubic_weights(rows, rows * ratio, SIZE["height_px"]), across), 0, 255
    )


VARIANTS: dict[str, Variant] = {"mean": means, "cubic": cubic, "cubic, exact ratio": exact_ratio}


def times_ms(altitude_m: float) -> dict[str, Any]:
    """Both resamplings of ``locate`` in turns, matrices made before; their ratio with its quartiles."""
    pixels = np.random.default_rng(0).integers(0, 256, (1536, 2048, 3), dtype=np.uint8)
    spent: dict[str, list[float]] = {"mean": [], "cubic": []}
    for turn in range(ROUNDS + 1):
        for name, times in spent.items():
            began = time.perf_counter()
            VARIANTS[name](pixels, altitude_m)
            if turn:
                times.append(1e3 * (time.perf_counter() - began))
    result = {name: round(float(np.median(times)), 2) for name, times in spent.items()}
    ratios = np.array(spent["cubic"]) / np.array(spent["mean"])
    return {**result, "times": np.round(np.percentile(ratios, [25, 50, 75]), 2).tolist()}


if __name__ == "__main__":
    main()
