"""What a view costs, and whether it grows with the map.

Writes maps of one resolution and 4, 100 and 250 km², then renders the same kind of views from each in turns.
The largest (40,000 × 25,000 px) also tells how much memory a thousand views take.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from functools import cache
from itertools import product
from pathlib import Path

import cv2
import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.transform import Affine
from rasterio.windows import Window

from bench.lib.record import record
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.types import View

GSD_M = 0.5
PATCH_PX = 2048
SIZES_PX = {"4 km2": (4000, 4000), "100 km2": (20_000, 20_000), "250 km2": (40_000, 25_000)}
PICTURES = {"224x224": (224, 224), "448x336": (448, 336), "2048x1536": (2048, 1536)}
ALTITUDES_M = (100.0, 700.0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--views", type=int, default=60, help="views per map and picture size")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--memory-of", help="(used by itself) render 1,000 views of this map, print MB")
    given = options.parse_args()
    if given.memory_of:
        print(thousand_views_mb(given.memory_of, given.seed))
        return
    with tempfile.TemporaryDirectory() as folder:
        maps = {
            name: write_map(Path(folder) / f"{i}.tif", *size)
            for i, (name, size) in enumerate(SIZES_PX.items())
        }
        results = {
            "seed": given.seed,
            "views": given.views,
            "median_ms": (cost := costs(maps, given.views, given.seed)),
            "ratio_100_to_4_km2": {p: round(cost["100 km2"][p] / cost["4 km2"][p], 3) for p in PICTURES},
            "ratio_250_to_4_km2": {p: round(cost["250 km2"][p] / cost["4 km2"][p], 3) for p in PICTURES},
            "resident_mb_1000_views_40000x25000": measure_memory(maps["250 km2"]),
            "texture": texture_against_map(maps["4 km2"], Path(folder), given.views, given.seed),
        }
    print(json.dumps(results, indent=2))
    record("render", results)


def write_map(path: Path, width: int, height: int) -> Path:
    """A tiled JPEG GeoTIFF with overviews: detail at every scale."""
    settings = {"driver": "GTiff", "dtype": "uint8", "count": 3, "crs": "EPSG:32633", "tiled": True}
    place = {"transform": Affine(GSD_M, 0, 400_000, 0, -GSD_M, 5_400_000)}
    packing = {"compress": "jpeg", "photometric": "ycbcr", "blockxsize": 512, "blockysize": 512}
    with rasterio.open(path, "w", width=width, height=height, **settings, **place, **packing) as out:
        for k, (top, left) in enumerate(product(range(0, height, PATCH_PX), range(0, width, PATCH_PX))):
            rows, cols = min(PATCH_PX, height - top), min(PATCH_PX, width - left)
            patch = np.rot90(noise(k % 4), k // 4 % 4)[:rows, :cols]
            out.write(np.moveaxis(patch, -1, 0), window=Window(left, top, cols, rows))
        out.build_overviews([2, 4, 8, 16, 32], Resampling.average)
    return path


@cache
def noise(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    total = np.full((PATCH_PX, PATCH_PX, 3), 127, np.float32)
    for octave in (2, 8, 32, 128):
        small = rng.normal(size=(PATCH_PX // octave, PATCH_PX // octave, 3)).astype(np.float32)
        total += 14 * cv2.resize(small, (PATCH_PX, PATCH_PX), interpolation=cv2.INTER_LINEAR)
    return np.clip(total, 0, 255).astype(np.uint8)


def views(opened: GeoMap, count: int, seed: int) -> list[View]:
    rng = np.random.default_rng(seed)
    west, south, east, north = opened.bounds
    room = np.array([(east - west) / 2 - 800, (north - south) / 2 - 800])
    altitudes = np.linspace(*ALTITUDES_M, count)
    places = rng.uniform(-1, 1, (count, 2)) * room
    return [
        View(opened.center.moved(*p), a, h)
        for p, a, h in zip(places, altitudes, rng.uniform(0, 360, count), strict=True)
    ]


def costs(maps: dict[str, Path], count: int, seed: int) -> dict[str, dict[str, float]]:
    """Median milliseconds per view, all maps in turns within each view."""
    opened = {name: GeoMap.open(path) for name, path in maps.items()}
    sight = {name: views(m, count, seed) for name, m in opened.items()}
    spent: dict[str, dict[str, list[float]]] = {name: {p: [] for p in PICTURES} for name in maps}
    for i in range(count):
        for picture, size in PICTURES.items():
            for name, m in opened.items():
                start = time.perf_counter()
                m.render(sight[name][i], DEFAULT_CAMERA, size)
                spent[name][picture].append((time.perf_counter() - start) * 1e3)
    return {n: {p: round(float(np.median(v)), 2) for p, v in per.items()} for n, per in spent.items()}


def measure_memory(path: Path) -> float:
    command = [sys.executable, "-m", __spec__.name, "--memory-of", str(path)]
    return round(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout), 1)


def thousand_views_mb(path: str, seed: int) -> float:
    """A thousand views, one in ten as large as the camera's own pictures."""
    with GeoMap.open(path) as opened:
        for i, view in enumerate(views(opened, 1000, seed)):
            opened.render(view, DEFAULT_CAMERA, (2048, 1536) if i % 10 == 0 else (448, 336))
    # not ru_maxrss, which a child takes over from whoever started it
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024


def texture_against_map(path: Path, folder: Path, count: int, seed: int) -> dict[str, float]:
    """The texture's pictures against the map's: grey levels apart, and time as a ratio."""
    with GeoMap.open(path) as opened:
        texture = pack_texture(opened, folder / "t.ntx")
        apart, spent = [], {"map": 0.0, "texture": 0.0}
        for view in views(opened, count, seed):
            pictures = []
            for name, source in (("map", opened), ("texture", texture)):
                start = time.perf_counter()
                pictures.append(source.render(view, DEFAULT_CAMERA, (224, 224)).pixels.astype(int))
                spent[name] += time.perf_counter() - start
            apart.append(np.abs(pictures[0] - pictures[1]).mean())
    size_mb = (folder / "t.ntx").stat().st_size / 1e6
    ratio = spent["texture"] / spent["map"]
    return {
        "mean_grey_levels_apart": round(float(np.mean(apart)), 3),
        "worst_view_grey_levels_apart": round(float(np.max(apart)), 3),
        "time_texture_to_map": round(ratio, 3),
        "file_mb_per_km2": round(size_mb / 4, 2),
    }


if __name__ == "__main__":
    main()
