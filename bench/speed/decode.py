"""What decoding a photo costs, whole and no finer than any stage needs, and whether the altitude stays.

python -m bench.speed.decode [--made 100] [--photos FOLDER...] [--bundle B] [--limit 300]

Photos of 4096 × 3072 pixels are drawn from a procedural world and its bundle made, unless both are given.
Each photo goes at both resolutions in turn through the bundle's own altitude network; classes are compared.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import simplejpeg
from PIL import Image

from bench.lib.record import record
from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.decode import decode
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.offline import build_bundle
from nadirfix.online.altitude import estimate_altitude
from nadirfix.online.photo import DecodedPhoto, read_photo
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import RECIPES
from nadirfix.types import View
from nadirfix.world.files import write_world

REDUCED = {2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4, 8: cv2.IMREAD_REDUCED_COLOR_8}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--photos", nargs="+", type=Path)
    options.add_argument("--bundle")
    options.add_argument("--made", type=int, default=100, help="so many photos, where none are given")
    options.add_argument("--limit", type=int, default=300)
    options.add_argument("--name", default="decode")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if not given.photos:
            given.bundle, given.photos = made(Path(name), given.made)
        measure(given)


def measure(given: argparse.Namespace) -> None:
    bundle = Bundle.load(given.bundle)
    files = [file for folder in given.photos for file in sorted(folder.glob("*.jpg"))][: given.limit]
    lines = [both_resolutions(file, bundle) for file in files]
    smaller = [line for line in lines if line["reduced"] > 1]
    results = {
        "seed": 0,
        "photos": len(lines),
        "decoded_smaller": len(smaller),
        "same_altitude_class": share(smaller, "same"),
        "within_one_class": share(smaller, "near"),
        "median_ms": {key: median(smaller, key) for key in ("whole_ms", "smaller_ms")},
        "libraries_median_ms": libraries(files[:12]),
    }
    print(json.dumps(results, indent=2))
    print(f"wrote {record(given.name, results)}")


def made(folder: Path, count: int) -> tuple[Path, list[Path]]:
    """A world's bundle, and large photos of its other date from every altitude."""
    write_world(folder / "world", size_m=1800.0, gsd_m=0.6, seed=0)
    recipe = RECIPES["tiny"]
    few = dataclasses.replace(recipe.references, stride_m=180.0, headings=1)
    build_bundle(folder / "world" / "old.tif", folder / "b.nadir", recipe=dataclasses.replace(
        recipe, references=few, matcher="none", fit=dataclasses.replace(recipe.fit, views=1200)
    ))  # fmt: skip
    draw, camera = np.random.default_rng(0), Camera(4096, 3072, 2400.0, 2400.0)
    (folder / "photos").mkdir()
    with GeoMap.open(folder / "world" / "new.tif") as ground:
        for i, altitude_m in enumerate(np.linspace(100, 699, count)):
            room = max(0.0, 900.0 - 0.8 * altitude_m)
            center = ground.center.moved(*draw.uniform(-room, room, 2))
            pixels = ground.render(
                View(center, float(altitude_m), float(draw.uniform(0, 360))), camera
            ).pixels
            noise = draw.standard_normal(pixels.shape, np.float32)
            noisy = np.clip(np.rint(pixels + 2 * noise), 0, 255).astype(np.uint8)
            photo = encode_jpeg(noisy, camera, quality=95, pose=None)
            (folder / "photos" / f"{i:04d}.jpg").write_bytes(photo)
    return folder / "b.nadir", [folder / "photos"]


def both_resolutions(file: Path, bundle: Bundle) -> dict[str, Any]:
    """Decoding and the altitude network, from the whole photo and from as little as is needed."""
    data = file.read_bytes()
    began = time.perf_counter()
    photo = read_photo(data, None, bundle, LocateOptions())
    smaller = class_of(photo, bundle)
    between = time.perf_counter()
    pixels = decode(data, max_pixels=10**9)
    own = photo.camera.resized(pixels.shape[1], pixels.shape[0])
    whole = class_of(DecodedPhoto(pixels, own, ()), bundle)
    return {
        "reduced": photo.reduction > 1,
        "same": whole == smaller,
        "near": abs(whole - smaller) <= 1,
        "smaller_ms": 1e3 * (between - began),
        "whole_ms": 1e3 * (time.perf_counter() - between),
    }


def class_of(photo: DecodedPhoto, bundle: Bundle) -> int:
    estimate = estimate_altitude(photo, bundle).estimate
    assert estimate is not None
    return int(np.argmax(estimate.probabilities))


def libraries(files: list[Path]) -> dict[str, float]:
    """Every decoder there is here, one thread each."""
    cv2.setNumThreads(1)
    decoders: dict[str, Callable[[bytes], object]] = {
        "Pillow": lambda data: np.array(Image.open(io.BytesIO(data))),
        "OpenCV": lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB),
        "simplejpeg": simplejpeg.decode_jpeg,
    }
    for factor, flag in REDUCED.items():
        decoders[f"OpenCV 1/{factor}"] = lambda d, f=flag: cv2.imdecode(np.frombuffer(d, np.uint8), f)
        decoders[f"simplejpeg 1/{factor}"] = lambda d, f=factor: smaller_by(d, f)
    spent: dict[str, list[float]] = {name: [] for name in decoders}
    for file in files:
        data = file.read_bytes()
        for name, decoder in decoders.items():
            began = time.perf_counter()
            decoder(data)
            spent[name].append(1e3 * (time.perf_counter() - began))
    return {name: round(float(np.median(times)), 2) for name, times in spent.items()}


def smaller_by(data: bytes, factor: int) -> np.ndarray:
    height, width, *_ = simplejpeg.decode_jpeg_header(data)
    return simplejpeg.decode_jpeg(data, min_height=height // factor, min_width=width // factor)


def share(lines: list[dict[str, Any]], key: str) -> float | None:
    return round(float(np.mean([line[key] for line in lines])), 4) if lines else None


def median(lines: list[dict[str, Any]], key: str) -> float | None:
    return round(float(np.median([line[key] for line in lines])), 2) if lines else None


if __name__ == "__main__":
    main()
