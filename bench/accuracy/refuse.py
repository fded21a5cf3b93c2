"""Photos of water and of closed forest: refused rather than guessed.

    python -m bench.accuracy.refuse                                                a procedural world
    python -m bench.accuracy.refuse --bundle B --photos-from NEW.tif --name mine   real forest

The world has a lake and two closed forests (bench/lib/featureless.py): waves are each date's own, crowns are
each date's own in one of them, where every answer is a guess, and the same in the other, where a photo may
rightly be found. On a real map photos are drawn at random and kept where nearly all ground they show is
forest by the map's own colours and roughness (the rule of bench/accuracy/retrieval.py). One line per photo
goes to results/refuse_NAME.csv.
"""

from __future__ import annotations

import argparse
import collections
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from bench.lib.featureless import DISC_M, GROUNDS, covered, middle
from bench.lib.record import networks_of, record, record_lines
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA as CAMERA
from nadirfix.evaluation.metrics import NEAR_M
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.geotiff import write_geotiff
from nadirfix.geo.texture import Texture
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.offline import build_bundle
from nadirfix.online import locate
from nadirfix.options.recipe import RECIPES
from nadirfix.types import Fix, Point, View
from nadirfix.world.make import World, make_world

SIZE_M, GSD_M = 1300.0, 0.5
LOW_M, HIGH_M = 100.0, 180.0
#: Green (excess green over brightness) and rough (deviation of brightness, in grey levels, over so many
#: metres), as the map shows it at a metre a pixel; and the share of a frame that makes it closed forest.
GREEN, ROUGH_LEVELS, ROUGH_M, CLOSED = 0.05, 8.0, 7, 0.8
ATTEMPTS, NOISE = 200, 2.0
COLUMNS = ("ground", "altitude_m", "easting_m", "northing_m", "status", "error_m", "inliers", "total_ms")
Line = dict[str, Any]
GroundTruthPhoto = tuple[str, View, bytes]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--name", default="world")
    options.add_argument("--bundle", type=Path, help="of a map with forest; without it a world is made")
    options.add_argument("--photos-from", type=Path, help="the map of the photos' date, with --bundle")
    options.add_argument("--work", type=Path, help="keeps the world's bundle here, and goes on with it")
    options.add_argument("--count", type=int, default=40, help="photos of each ground")
    options.add_argument("--seed", type=int, default=91)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.work or Path(scratch)
        lines: list[Line] = []
        for bundle, taken in photos_of(given, folder):
            lines.append(line(bundle, *taken))
            networks = networks_of(bundle.manifest)
    by_ground = {"seed": given.seed, "altitude_m": [LOW_M, HIGH_M], "grounds": summary(lines)}
    by_ground["networks"] = networks
    print(f"wrote {record(f'refuse_{given.name}', by_ground)}")
    record_lines(f"refuse_{given.name}", COLUMNS, lines)
    for ground, found in by_ground["grounds"].items():
        print(ground, found)


def photos_of(given: argparse.Namespace, scratch: Path) -> Iterator[tuple[Bundle, GroundTruthPhoto]]:
    """Photos to be located, with the bundle to locate them with."""
    if given.bundle is None:
        world = covered(make_world(size_m=SIZE_M, gsd_m=GSD_M, seed=given.seed), seed=given.seed)
        scratch.mkdir(parents=True, exist_ok=True)
        old, target = scratch / "old.tif", scratch / "world.nadir"
        write_geotiff(old, world.old, affine=world.affine, epsg=world.epsg)
        bundle = build_bundle(old, target, recipe=RECIPES["standard"], resume=True)
        yield from ((bundle, taken) for taken in of_world(world, given))
        return
    bundle = Bundle.load(given.bundle)
    with GeoMap.open(given.photos_from) as ground:
        yield from ((bundle, taken) for taken in of_forest(bundle.texture, ground, given))


def of_world(world: World, given: argparse.Namespace) -> Iterator[GroundTruthPhoto]:
    """Photos wholly inside each piece of the newer date."""
    new = Texture.from_array(world.new, None, affine=world.affine, epsg=world.epsg)
    for name in GROUNDS:
        rng = np.random.default_rng([given.seed, len(name)])
        for _ in range(given.count):
            view = inside(middle(world, name), rng)
            yield name, view, photo(new, view, rng)


def inside(center: Point, rng: np.random.Generator) -> View:
    """A view whose whole frame lies on the piece around this place."""
    altitude_m = rng.uniform(LOW_M, HIGH_M)
    free_m = DISC_M - float(np.hypot(*CAMERA.footprint_m(altitude_m))) / 2
    away_m, toward = free_m * np.sqrt(rng.uniform()), rng.uniform(0, 2 * np.pi)
    place = center.moved(float(away_m * np.sin(toward)), float(away_m * np.cos(toward)))
    return View(place, altitude_m, rng.uniform(0, 360))


def of_forest(texture: Texture, ground: GeoMap, given: argparse.Namespace) -> Iterator[GroundTruthPhoto]:
    """Photos of the newer date at random places where the older map shows closed forest all over."""
    rng, found = np.random.default_rng(given.seed), 0
    west, south, east, north = ground.bounds
    for _ in range(ATTEMPTS * given.count):
        place = Point(rng.uniform(west, east), rng.uniform(south, north), ground.epsg)
        view = View(place, rng.uniform(LOW_M, HIGH_M), rng.uniform(0, 360))
        if wooded(texture, view) >= CLOSED and ground.render(view, CAMERA, (64, 48)).valid_share > 0.99:
            yield "forest", view, photo(ground, view, rng)
            found += 1
        if found == given.count:
            return


def wooded(texture: Texture, view: View) -> float:
    """The share of a frame that is green and rough on the map; none where the map has holes."""
    wide_m, high_m = (round(side) for side in CAMERA.footprint_m(view.altitude_m))
    rendered = texture.render(view, CAMERA, (wide_m, high_m))
    if rendered.valid_share < 1:
        return 0.0
    colour = rendered.pixels.astype(np.float32)
    green = (2 * colour[..., 1] - colour[..., 0] - colour[..., 2]) / np.maximum(colour.sum(-1), 1)
    light = colour.mean(-1)
    mean, square = (cv2.blur(x, (ROUGH_M, ROUGH_M)) for x in (light, light**2))
    rough = np.sqrt(np.maximum(square - mean**2, 0))
    return float(((green > GREEN) & (rough > ROUGH_LEVELS)).mean())


def photo(ground: Texture | GeoMap, view: View, rng: np.random.Generator) -> bytes:
    pixels = ground.render(view, CAMERA).pixels + rng.normal(0, NOISE, (CAMERA.height_px, CAMERA.width_px, 3))
    rendered = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    return encode_jpeg(rendered, CAMERA, quality=95, pose=None)


def line(bundle: Bundle, ground: str, view: View, taken: bytes) -> Line:
    fix = locate(taken, bundle=bundle)
    values = (
        ground, round(view.altitude_m, 1), round(view.center.east_m, 1), round(view.center.north_m, 1),
        fix.status, off_m(fix, view), fix.inliers, round(fix.timings_ms["total"], 1),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def off_m(fix: Fix, view: View) -> float | None:
    return None if fix.position is None else round(fix.position.distance_m(view.center), 2)


def summary(lines: Sequence[Line]) -> dict[str, Any]:
    """Of each ground: photos, answers, and those more than 100 m off."""
    grounds = collections.defaultdict(list)
    for one in lines:
        grounds[one["ground"]].append(one)
    return {name: counted(some) for name, some in grounds.items()}


def counted(lines: Sequence[Line]) -> dict[str, int]:
    off = [one["error_m"] for one in lines if one["status"] == "fix"]
    return {"photos": len(lines), "answered": len(off), "wrong": sum(m > NEAR_M for m in off)}


if __name__ == "__main__":
    main()
