"""What straightening a photo adds to ``locate``: the same photo with a lens and without, in turns.

    python -m bench.speed.undistort [--turns 15]

A photo of 2048 × 1536 pixels of a procedural world, 300 m above it, is located on a bundle of the world's
older date with the standard recipe, its networks at random weights: what they know does not change what they
cost. The lenses draw straight lines straight, to about a pixel at the corner: so the picture is the same for
all cameras, and with it all that comes after, and only the straightening differs. Ratios are of whole calls,
decoding included, within a turn. A camera's first photo costs its table of pixels as well, stated apart.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.lib.record import record
from bench.speed.locate import build, take_photos
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA, Camera, Lens
from nadirfix.image.undistort import undistorted
from nadirfix.online import locate
from nadirfix.options.map import WorldOptions
from nadirfix.world.files import write_world

SIDE_M = 900.0
FOCAL = {"fx_px": DEFAULT_CAMERA.fx_px, "fy_px": DEFAULT_CAMERA.fy_px}
BROWN = Lens(model="brown-conrady", **FOCAL, radial=(1e-9, 0.0, 0.0))
#: The first terms of a tangent.
FISHEYE = Lens(model="fisheye", **FOCAL, radial=(1 / 3, 2 / 15, 17 / 315, 62 / 2835))
CAMERAS: dict[str, Camera] = {
    "no lens": DEFAULT_CAMERA,
    "brown-conrady": replace(DEFAULT_CAMERA, lens=BROWN),
    "fisheye": replace(DEFAULT_CAMERA, lens=FISHEYE),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--turns", type=int, default=15)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_world(folder / "world", size_m=SIDE_M, gsd_m=WorldOptions().gsd_m, seed=0)
        photo = take_photos(folder / "world" / "new.tif")[2]
        results = compared(build(folder, "standard"), photo, given.turns)
    load = round(os.getloadavg()[0], 1)
    whole = {"seed": 0, "photo": DEFAULT_CAMERA.spec, "turns": given.turns, "load_average": load}
    results = {**whole, **results, "straightening_ms": straightening_ms(given.turns)}
    print(json.dumps(results, indent=2))
    print(f"wrote {record('undistort', results)}")


def compared(bundle: Bundle, photo: bytes, turns: int) -> dict[str, object]:
    """Median milliseconds of a call with each camera, and times the call without a lens, with quartiles."""
    spent: dict[str, list[float]] = {name: [] for name in CAMERAS}
    for turn in range(turns + 2):
        for name, camera in CAMERAS.items():
            # The last camera's table of pixels is kept: a flight has one camera, so the second call counts.
            locate(photo, bundle=bundle, camera=camera)
            took = timed(lambda camera=camera: locate(photo, bundle=bundle, camera=camera))
            if turn > 1:
                spent[name].append(took)
    plain = np.array(spent["no lens"])
    return {
        "median_ms": {name: round(float(np.median(took)), 1) for name, took in spent.items()},
        "times": {
            name: np.round(np.percentile(np.array(took) / plain, [25, 50, 75]), 3).tolist()
            for name, took in spent.items()
            if name != "no lens"
        },
    }


def straightening_ms(turns: int) -> dict[str, dict[str, float]]:
    """The straightening itself: of the first photo of a camera, and the median of those after it."""
    height, width = DEFAULT_CAMERA.height_px, DEFAULT_CAMERA.width_px
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    results = {}
    for name, camera in CAMERAS.items():
        first = timed(lambda camera=camera: undistorted(pixels, camera))
        later = [timed(lambda camera=camera: undistorted(pixels, camera)) for _ in range(turns)]
        results[name] = {"first": round(first, 2), "later": round(float(np.median(later)), 2)}
    return results


def timed(call) -> float:  # type: ignore[no-untyped-def]
    began = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
