"""Where the constants of TrustOptions come from: procedural worlds, where nothing is evaluated.

Photos of the newer date are held against the map of the older one, at their true view displaced as retrieval
leaves it (30 m, 15°, 12 %), and at other places. ``--degraded MAP.tif`` adds photos of a map's own date that
were blurred, hazed, shaded, recoloured and covered in part.

Confidence: a logistic curve over the support, from how wrong sightings fall off with it.
Radius: the inflation and floor under which the errors are likeliest, widened until 95 of 100 true places lie
inside; the floor for how far two maps are apart anyway is an assumption and stays.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from record import record
from verify import detector, moved

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.options import TextureOptions
from nadirfix.options_verify import TrustOptions, VerifyOptions
from nadirfix.types import Point, View
from nadirfix.verify.compare import Comparison, Sighting
from nadirfix.verify.features import Detector
from nadirfix.verify.trust import centre_covariance_m2, confidence_of, radius95_m, support_of
from nadirfix.world.make import make_world

CAMERA = Camera(1024, 768, 600.0, 600.0)
ALTITUDE_M = (100.0, 600.0)
RIGHT_M = 25.0
Pair = tuple[np.ndarray, View]


@dataclasses.dataclass(frozen=True)
class Row:
    """One look at the map, and what is true about it."""

    sighting: Sighting
    off_m: float
    right: bool
    map_gsd_m: float


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--worlds", type=int, nargs="*", default=[31, 32, 33])
    options.add_argument("--size-m", type=float, default=1600.0)
    options.add_argument("--degraded", type=Path, nargs="*", default=[])
    options.add_argument("--count", type=int, default=60, help="photos per place")
    options.add_argument("--seed", type=int, default=77)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        points = detector("xfeat", Path(name))
        rows = [row for place in places(given, Path(name)) for row in looks(*place, points, given.seed)]
    told = {"seed": given.seed, "worlds": given.worlds, "degraded": [p.stem for p in given.degraded]}
    told |= confidence(rows) | radius(rows)
    for key, value in told.items():
        print(f"{key}: {value}")
    print(f"wrote {record('calibrate', told)}")


def places(given: argparse.Namespace, scratch: Path) -> Iterator[tuple[Texture, list[Pair]]]:
    """Maps with photos of them."""
    for seed in given.worlds:
        world = make_world(size_m=given.size_m, gsd_m=0.5, seed=seed)
        old, new = (
            Texture.from_array(p, None, affine=world.affine, epsg=world.epsg) for p in (world.old, world.new)
        )
        yield old, photos(new, given)
    for path in given.degraded:
        target = scratch / f"{path.stem}.ntx"
        with GeoMap.open(path) as ground:
            pack_texture(ground, target, options=TextureOptions())
        texture = Texture.load(target)
        taken = photos(texture, given)
        yield texture, [(degraded(p, np.random.default_rng(i)), v) for i, (p, v) in enumerate(taken)]


def photos(source: Texture, given: argparse.Namespace) -> list[Pair]:
    rng, taken = np.random.default_rng(given.seed), []
    west, south, east, north = source.bounds
    largest_m = min(ALTITUDE_M[1], 0.6 * min(east - west, north - south))
    while len(taken) < given.count:
        place = Point(rng.uniform(west, east), rng.uniform(south, north), source.epsg)
        view = View(place, rng.uniform(ALTITUDE_M[0], largest_m), rng.uniform(0, 360))
        if source.render(view, CAMERA, (64, 48)).valid_share > 0.99:
            pixels = source.render(view, CAMERA).pixels + rng.normal(
                0, 2, (CAMERA.height_px, CAMERA.width_px, 3)
            )
            taken.append((np.clip(np.rint(pixels), 0, 255).astype(np.uint8), view))
    return taken


def degraded(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As if of another day: blurred, other light, uneven shade, haze, things that were not there, noise."""
    height, width = pixels.shape[:2]
    light = cv2.GaussianBlur(pixels.astype(np.float32), (0, 0), rng.uniform(0.8, 1.6))
    light = 255 * (np.clip(light, 0, 255) / 255) ** rng.uniform(0.6, 1.5) * rng.uniform(0.7, 1.2, 3)
    shade = cv2.resize(
        rng.normal(0, 1, (4, 5)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC
    )
    haze = rng.uniform(0, 0.45)
    light = light * (1 + 0.25 * shade)[..., None] * (1 - haze) + 200 * haze
    for _ in range(rng.integers(4, 12)):
        middle = (int(rng.uniform(0, width)), int(rng.uniform(0, height)))
        axes = (int(rng.uniform(20, 120)), int(rng.uniform(20, 120)))
        cv2.ellipse(light, middle, axes, rng.uniform(0, 180), 0, 360, rng.uniform(40, 220, 3).tolist(), -1)
    return np.clip(np.rint(light + rng.normal(0, 6, light.shape)), 0, 255).astype(np.uint8)


def looks(texture: Texture, taken: Sequence[Pair], points: Detector, seed: int) -> Iterator[Row]:
    """Each photo at its displaced true view, and at two other places turned at random."""
    rng, options = np.random.default_rng(seed), VerifyOptions()
    for i, (pixels, true) in enumerate(taken):
        compare = Comparison(pixels, CAMERA, texture=texture, detector=points, options=options)
        elsewhere = [taken[(i + k) % len(taken)][1].center for k in (7, 8)]
        views = [moved(true, rng)]
        views += [
            dataclasses.replace(moved(true, rng), center=p, heading_deg=rng.uniform(0, 360))
            for p in elsewhere
        ]
        for number, view in enumerate(views):
            seen = compare.first_look(view)
            if seen.inliers >= options.promising_inliers:
                seen = compare.second_look(seen)
            if number == 0 and seen.fitted is None:
                continue  # not seen where it is: it would be refused, and says nothing of wrong sightings
            off_m = seen.view.center.distance_m(true.center)
            right = seen.fitted is not None and off_m < RIGHT_M  # a wide frame may be found from afar
            yield Row(seen, off_m, right, texture.gsd_m)


def confidence(rows: Sequence[Row]) -> dict[str, Any]:
    """A logistic curve: wrong sightings fall off geometrically with support, right ones have any.

    How fast they fall is taken from their mean or their 99th percentile, whichever is slower; before a look
    it is as likely to be wrong as the number of hypotheses to one.
    """
    trust = TrustOptions()
    support = np.array([support_of(row.sighting, trust) for row in rows], float)
    right = np.array([row.right for row in rows])
    wrong, parts = support[~right], trust.grid_columns * trust.grid_rows
    mean, tail = float(wrong.mean()), max(float(np.percentile(wrong, 99)), 1.0)
    share = max(mean / (1 + mean), 0.01 ** (1 / tail))
    slope = -math.log(share)
    middle = math.log((VerifyOptions().hypotheses - 1) * (1 - share) * parts) / slope
    return {
        "looks": {"right": int(right.sum()), "wrong": int((~right).sum())},
        "confidence_middle": round(middle, 2),
        "confidence_slope": round(slope, 3),
        "support_right_percentiles": [float(np.percentile(support[right], q)) for q in (1, 5, 50)],
        "support_wrong_percentiles": [float(np.percentile(wrong, q)) for q in (50, 95, 99, 100)],
    }


def radius(rows: Sequence[Row]) -> dict[str, Any]:
    """Inflation and floor under which the errors are likeliest, widened until 95 of 100 lie inside."""
    trust, enough = TrustOptions(), VerifyOptions().min_confidence
    good = [row for row in rows if row.right and confidence_of(row.sighting, trust) >= enough]
    grid = [(i, f) for i in np.arange(1.0, 8.01, 0.5) for f in np.arange(0.0, 4.01, 0.1)]
    inflate, floor_m = max(grid, key=lambda g: likelihood(good, *g))
    wider = next(w for w in np.arange(0.5, 4.0, 0.02) if kept(good, inflate * w, floor_m * w) >= 0.95)
    radii = [radius95_m(spread_m2(row, trust.inflate, trust.floor_m)) for row in good]
    return {
        "answers": len(good),
        "coverage_now": round(100 * kept(good, trust.inflate, trust.floor_m), 1),
        "radius_now_median_m": round(float(np.median(radii)), 2),
        "likeliest": {"inflate": round(float(inflate), 2), "floor_m": round(float(floor_m), 2)},
        "for_95": {"inflate": round(float(inflate * wider), 2), "floor_m": round(float(floor_m * wider), 2)},
        "error_m_percentiles": [
            round(float(np.percentile([r.off_m for r in good], q)), 2) for q in (50, 90, 95)
        ],
    }


def spread_m2(row: Row, inflate: float, floor_m: float) -> np.ndarray:
    changed = dataclasses.replace(TrustOptions(), inflate=inflate, floor_m=floor_m)
    return centre_covariance_m2(row.sighting, changed, map_gsd_m=row.map_gsd_m)


def likelihood(good: Sequence[Row], inflate: float, floor_m: float) -> float:
    """Logarithm of how likely the errors are: distances under plane Gaussians of these spreads."""
    spread = np.array([np.trace(spread_m2(row, inflate, floor_m)) / 2 for row in good])
    off = np.array([row.off_m for row in good])
    return float(np.sum(-np.log(spread) - off**2 / (2 * spread)))


def kept(good: Sequence[Row], inflate: float, floor_m: float) -> float:
    inside = [row.off_m <= radius95_m(spread_m2(row, inflate, floor_m)) for row in good]
    return float(np.mean(inside))


if __name__ == "__main__":
    main()
