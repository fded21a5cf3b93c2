"""Where the constants of TrustOptions come from: places and photos on which nothing is evaluated.

Photos of the newer date are held against the map of the older one, at their true view displaced as retrieval
leaves it (30 m, 15°, 12 %), and at other places. ``--degraded MAP.tif`` adds photos of a map's own date that
were blurred, hazed, shaded, recoloured and covered in part; ``--real OLD.tif MANIFEST.csv`` photos of another
date of a real map, other views than those that are evaluated.

Maps of two dates never lie exactly on each other, and all but the real ones would: every such photo is warped
against its map by a smooth field of its own, waves of 80 to 1200 m, 0.2 to 4 m strong (``--warp-m``). That
range is an assumption; what is calibrated is how much of such a warp the points of a photo give away.

Confidence: a logistic curve over the support, from how the tail of wrong sightings falls off with it.
Radius: inflation, weight of the bare part of the frame and floor under which errors are likeliest, every
place counting alike, among those that hold 96 of 100 truths at every place: one more than is promised, as
places that matter are others. What comes of it is told for each place by what the others alone would choose.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from displaced import moved
from record import record
from verify import detector

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.image.decode import decode
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import RenderOptions, TextureOptions
from nadirfix.options.verify import TrustOptions, VerifyOptions
from nadirfix.photo_list import ManifestRow, read_manifest
from nadirfix.types import Point, View
from nadirfix.verify.calibration import bare_m, confidence_of, radii95_m, support_of
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import Comparison, Sighting
from nadirfix.verify.search import look_at
from nadirfix.world.make import make_world

CAMERA = Camera(1024, 768, 600.0, 600.0)
ALTITUDE_M = (100.0, 600.0)
RIGHT_M = 25.0
WAVES = 24
WRONG = 0.005
HELD = 0.96
Pair = tuple[np.ndarray, View]


@dataclasses.dataclass(frozen=True)
class Place:
    """A map, and photos of it with their true views."""

    name: str
    map: Texture
    photos: Sequence[Pair]


@dataclasses.dataclass(frozen=True)
class Row:
    """One look at the map, and what is true about it."""

    sighting: Sighting
    off_m: float
    right: bool
    place: str
    apart: bool  # nothing of the photo's ground can be seen from where it was looked for


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--worlds", type=int, nargs="*", default=[31, 32, 33])
    options.add_argument("--size-m", type=float, default=1600.0)
    options.add_argument("--degraded", type=Path, nargs="*", default=[])
    options.add_argument("--real", type=Path, nargs=2, action="append", default=[])
    options.add_argument("--count", type=int, default=60, help="photos per place")
    options.add_argument("--wrong", type=int, default=6, help="other places each photo is held against")
    options.add_argument("--warp-m", type=float, nargs=2, default=[0.2, 4.0])
    options.add_argument("--seed", type=int, default=77)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        points = detector("xfeat", Path(name))
        rows = [row for place in places(given, Path(name)) for row in looks(place, points, given)]
    told = {"seed": given.seed, "worlds": given.worlds, "degraded": [p.stem for p in given.degraded]}
    told |= {"real": [p.stem for p, _ in given.real]}
    told |= {"warp_m": given.warp_m} | confidence(rows) | radius(rows)
    for key, value in told.items():
        print(f"{key}: {value}")
    print(f"wrote {record('calibrate', told)}")


def places(given: argparse.Namespace, scratch: Path) -> Iterator[Place]:
    """Maps with photos of them."""
    for seed in given.worlds:
        world = make_world(size_m=given.size_m, gsd_m=0.5, seed=seed)
        old, new = (
            Texture.from_array(p, None, affine=world.affine, epsg=world.epsg) for p in (world.old, world.new)
        )
        yield Place(f"world {seed}", old, photos(new, given))
    for path in given.degraded:
        texture = packed(path, scratch)
        taken = photos(texture, given)
        worse = [(degraded(p, np.random.default_rng(i)), v) for i, (p, v) in enumerate(taken)]
        yield Place(path.stem, texture, worse)
    for path, manifest in given.real:
        taken = [real(row) for row in read_manifest(manifest)]
        yield Place(path.stem, packed(path, scratch), taken)


def packed(path: Path, scratch: Path) -> Texture:
    target = scratch / f"{path.stem}.ntx"
    with GeoMap.open(path) as ground:
        pack_texture(ground, target, options=TextureOptions())
    return Texture.load(target)


def real(row: ManifestRow) -> Pair:
    """A photo by the camera photos are simulated with, half as fine, and its true view."""
    pixels = decode(row.photo, max_pixels=LocateOptions().max_pixels)
    small = cv2.resize(pixels, (CAMERA.width_px, CAMERA.height_px), interpolation=cv2.INTER_AREA)
    return small, View(row.point, row.altitude_m or math.nan, row.heading_deg or 0.0)


def photos(source: Texture, given: argparse.Namespace) -> list[Pair]:
    rng, taken = np.random.default_rng(given.seed), []
    west, south, east, north = source.bounds
    largest_m = min(ALTITUDE_M[1], 0.6 * min(east - west, north - south))
    while len(taken) < given.count:
        place = Point(rng.uniform(west, east), rng.uniform(south, north), source.epsg)
        view = View(place, rng.uniform(ALTITUDE_M[0], largest_m), rng.uniform(0, 360))
        if source.render(view, CAMERA, (64, 48)).valid_share > 0.99:
            seen = warped(source.render(view, CAMERA).pixels, view, given, rng)
            pixels = seen + rng.normal(0, 2, (CAMERA.height_px, CAMERA.width_px, 3))
            taken.append((np.clip(np.rint(pixels), 0, 255).astype(np.uint8), view))
    return taken


def warped(pixels: np.ndarray, view: View, given: argparse.Namespace, rng: np.random.Generator) -> np.ndarray:
    """The photo as if its ground lay a little elsewhere than on the map, here more and there less."""
    strong_m = math.exp(rng.uniform(*np.log(given.warp_m)))
    length_m = np.exp(rng.uniform(math.log(80), math.log(1200), WAVES))
    toward, phase = rng.uniform(0, 2 * math.pi, (2, WAVES))
    height, width = pixels.shape[:2]
    gsd_m = CAMERA.gsd_m(view.altitude_m)
    x, y = np.meshgrid(np.arange(0, width, 16), np.arange(0, height, 16))
    along = (x[..., None] * np.cos(toward) + y[..., None] * np.sin(toward)) * gsd_m / length_m
    waves = np.cos(2 * math.pi * along + phase)
    push = waves @ rng.normal(0, 1, (WAVES, 2)) * strong_m / math.sqrt(WAVES / 2) / gsd_m
    whole = cv2.resize(push.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    column, row = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    at = column + whole[..., 0], row + whole[..., 1]
    return cv2.remap(pixels, *at, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101)


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


def looks(place: Place, points: Detector, given: argparse.Namespace) -> Iterator[Row]:
    """Each photo at its displaced true view, and at other places turned at random."""
    rng, options = np.random.default_rng(given.seed), VerifyOptions()
    ground, taken = place.map.rendered_with(RenderOptions(supersample=options.supersample)), place.photos
    for i, (pixels, true) in enumerate(taken):
        compare = Comparison(pixels, CAMERA, texture=ground, detector=points, options=options)
        elsewhere = [taken[(i + 7 + k) % len(taken)][1].center for k in range(given.wrong)]
        elsewhere = elsewhere if i < given.count else []
        views = [moved(true, rng)]
        views += [
            dataclasses.replace(moved(true, rng), center=p, heading_deg=rng.uniform(0, 360))
            for p in elsewhere
        ]
        for number, view in enumerate(views):
            seen = look_at(view, compare, options)
            if number == 0 and seen.fitted is None:
                continue  # not seen where it is: it would be refused, and says nothing of wrong sightings
            off_m = seen.view.center.distance_m(true.center)
            right = seen.fitted is not None and off_m < RIGHT_M  # a wide frame may be found from afar
            apart = view.center.distance_m(true.center) > 2 * CAMERA.footprint_m(true.altitude_m)[0]
            yield Row(seen, off_m, right, place.name, apart)


def confidence(rows: Sequence[Row]) -> dict[str, Any]:
    """A logistic curve: beyond its 90th percentile the support of wrong sightings falls off geometrically.

    How fast is told by how far the tenth beyond it lies beyond it, on average. An answer is given from where
    in all looks at a photo of elsewhere so much support is found for one photo in so many (``WRONG``). Looks
    at which a part of the photo's own ground may be seen are left out.
    """
    trust, verify = TrustOptions(), VerifyOptions()
    support = np.array([support_of(row.sighting, trust) for row in rows], float)
    right, apart = np.array([row.right for row in rows]), np.array([row.apart for row in rows])
    wrong = support[apart]
    start = float(np.percentile(wrong, 90))
    beyond = wrong[wrong > start] - start
    slope, share = 1 / float(beyond.mean()), len(beyond) / len(wrong)
    looks = verify.middle + verify.ladder + verify.whole
    enough = start + math.log(looks * share / WRONG) / slope
    odds = math.log(verify.min_confidence / (1 - verify.min_confidence))
    return {
        "looks": {"right": int(right.sum()), "elsewhere": len(wrong)},
        "enough_support": round(enough, 2),
        "confidence_middle": round(enough - odds / slope, 2),
        "confidence_slope": round(slope, 3),
        "right_answered_percent": round(100 * float(np.mean(support[right] >= enough)), 1),
        "support_right_percentiles": [round(float(np.percentile(support[right], q)), 1) for q in (1, 5, 50)],
        "support_wrong_percentiles": np.percentile(wrong, (50, 90, 95, 99, 100)).round(1).tolist(),
    }


def radius(rows: Sequence[Row]) -> dict[str, Any]:
    """The constants under which errors are likeliest, of those that hold enough truths at every place."""
    trust, enough = TrustOptions(), VerifyOptions().min_confidence
    good = [row for row in rows if row.right and confidence_of(row.sighting, trust) >= enough]
    every, names = Known(good), ("inflate", "bare", "floor_m")
    off_m = np.percentile(every.off_m, (50, 90, 95))
    return {
        "answers": len(good),
        "now": every.told(trust.inflate, trust.bare, trust.floor_m),
        "chosen": dict(zip(names, chosen(every), strict=True)),
        "held_where_the_others_choose": {
            name: Known([row for row in good if row.place == name]).told(
                *chosen(Known([row for row in good if row.place != name]))
            )[name]
            for name in every.here
        },
        "error_m_percentiles": np.round(off_m, 2).tolist(),
    }


def chosen(known: Known) -> tuple[float, ...]:
    steps = (np.arange(0.0, 8.01, 0.5), np.arange(0.0, 2.01, 0.1), np.arange(0.0, 2.01, 0.1))
    holding = (constants for constants in itertools.product(*steps) if known.worst(*constants) >= HELD)
    best = max(holding, key=lambda constants: known.likelihood(*constants))
    return tuple(round(float(value), 2) for value in best)


class Known:
    """What is known of some answers, as arrays, so that many constants can be tried."""

    def __init__(self, good: Sequence[Row]) -> None:
        fits = [row.sighting.fitted for row in good]
        self.off_m = np.array([row.off_m for row in good])
        self.fit_m2 = np.array([np.linalg.eigvalsh(fit.covariance[:2, :2]) for fit in fits if fit])
        self.bare_m2 = np.array([bare_m(row.sighting, VerifyOptions()) for row in good]) ** 2
        places = np.array([row.place for row in good])
        self.here = {str(name): np.flatnonzero(places == name) for name in np.unique(places)}

    def spread_m2(self, inflate: float, bare: float, floor_m: float) -> np.ndarray:
        unseen = bare**2 * self.bare_m2 + floor_m**2
        return inflate**2 * self.fit_m2 + unseen[:, None]

    def radii_m(self, *constants: float) -> np.ndarray:
        return radii95_m(self.spread_m2(*constants))

    def worst(self, *constants: float) -> float:
        """The share of truths inside, at the place that has the fewest."""
        inside = self.off_m <= self.radii_m(*constants)
        return min(float(inside[here].mean()) for here in self.here.values())

    def likelihood(self, *constants: float) -> float:
        """Logarithm of how likely the errors are, under plane Gaussians; every place counts alike."""
        spread = np.maximum(self.spread_m2(*constants).mean(axis=1), 1e-6)
        told = -np.log(spread) - self.off_m**2 / (2 * spread)
        return float(np.mean([told[here].mean() for here in self.here.values()]))

    def told(self, *constants: float) -> dict[str, dict[str, float]]:
        radii = self.radii_m(*constants)
        inside = self.off_m <= radii
        return {
            name: {
                "coverage": round(100 * float(inside[here].mean()), 1),
                "radius_median_m": round(float(np.median(radii[here])), 2),
            }
            for name, here in self.here.items()
        }


if __name__ == "__main__":
    main()
