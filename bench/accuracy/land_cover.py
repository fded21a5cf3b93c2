"""What grows under each fixed view, and how much of a photo shows anything.

python -m bench.accuracy.land_cover --data DIR --place mine

Forest is where more than half of the ground in the frame is green and rough on the map, by a rule that was
fixed before anything was measured. Photos are rendered from a picture that has an end: what of a frame lies
beyond it is black. The photos themselves are not used. Writes bench/results/accuracy/land_cover_PLACE.csv and
.json; the accuracy page splits its tables by them.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from bench.lib.record import path_of, record
from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.render import Rendered
from nadirfix.photo_list import read_views
from nadirfix.types import View

CAMERA = DEFAULT_CAMERA
#: Forest: more than half of the frame's ground is green (excess green over brightness) and rough (deviation
#: of brightness, in grey levels, over so many metres), as the map shows it at a metre a pixel.
GREEN, ROUGH_LEVELS, ROUGH_M, FOREST_SHARE = 0.05, 8.0, 7, 0.5
MAPS = {"mine": "mine_2020-01.tif", "town": "town_clear.tif", "desert": "desert.tif", "campus": "campus.tif"}
PHOTOS = MAPS | {"mine": "mine_2020-06.tif", "town": "town_hazy.tif"}
SMALL_PX = (64, 48)


class Renderable(Protocol):
    """A map, however it is kept."""

    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Rendered: ...


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--place", choices=list(MAPS), required=True)
    given = options.parse_args()
    views = read_views(given.data / f"{given.place}_views.csv")
    with GeoMap.open(given.data / MAPS[given.place]) as ground:
        shares = [wooded_share(ground, view) for view in views]
    with GeoMap.open(given.data / PHOTOS[given.place]) as pictured:
        visible_shares = [visible_share(pictured, view) for view in views]
    rule = {"green": GREEN, "rough_levels": ROUGH_LEVELS, "rough_m": ROUGH_M, "forest_share": FOREST_SHARE}
    counted = Counter(named(share) for share in shares)
    summary = {"place": given.place, "views": len(views), "rule": rule, "seed": None, **counted}
    print(f"wrote {record(f'land_cover_{given.place}', summary)}: {dict(counted)}")
    with path_of(f"land_cover_{given.place}", "csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["photo", "altitude_m", "wooded_share", "cover", "seen_share"])
        for i, (view, wooded, visible) in enumerate(zip(views, shares, visible_shares, strict=True)):
            out.writerow([i, f"{view.altitude_m:.1f}", f"{wooded:.3f}", named(wooded), f"{visible:.3f}"])


def cover(ground: Renderable, truth: View) -> str:
    """What the map shows where a photo was taken: forest, or open ground."""
    return named(wooded_share(ground, truth))


def named(share: float) -> str:
    return "forest" if share > FOREST_SHARE else "open"


def wooded_share(ground: Renderable, truth: View) -> float:
    """How much of the ground in the frame is green and rough."""
    side_m = [round(side) for side in CAMERA.footprint_m(truth.altitude_m)]
    rendered = ground.render(truth, CAMERA, (side_m[0], side_m[1]))
    colour = rendered.pixels.astype(np.float32)
    green = (2 * colour[..., 1] - colour[..., 0] - colour[..., 2]) / np.maximum(colour.sum(-1), 1)
    light = colour.mean(-1)
    mean, square = (cv2.blur(x, (ROUGH_M, ROUGH_M)) for x in (light, light**2))
    rough = np.sqrt(np.maximum(square - mean**2, 0))
    wooded = (green > GREEN) & (rough > ROUGH_LEVELS)
    return float(wooded[rendered.valid > 0].mean())


def visible_share(pictured: Renderable, truth: View) -> float:
    """How much of a photo lies within the picture it is rendered from."""
    return float((pictured.render(truth, CAMERA, SMALL_PX).valid > 0).mean())


if __name__ == "__main__":
    main()
