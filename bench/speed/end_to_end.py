"""How much faster ``locate`` is than the same method done in the straightforward way, and whether both agree.

python -m bench.speed.end_to_end [--weights FOLDER] [--photos 40] [--recipes paper standard] [--cache FOLDER]
  [--map OLD NEW] [--views FILE.csv] [--paper-place FILE.safetensors --paper-altitude FILE.safetensors]

Same photos (100 to 700 m), same weights, same references, one process, photo by photo in turns. ``paper`` has
a random start (its altitude network ImageNet weights, where there are some), statistics and altitude classes
taken from views of the map: it is timed and compared, and says nothing about accuracy. Networks that were
trained take its place where their files are given, on the map they were trained on; ``stage3`` is ``paper``
with ResNet-50 to stage 3 for both. ``standard`` takes ImageNet weights from the folder; without one it is
left out. Agreement is also measured with both networks in single precision: what is missing there is not
missing because of fewer bits.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.lib.agreement import OPTIONS, WARM_UP, agreement, folder_rate, in_single, ratios, right, staged
from bench.lib.baseline import Straightforward
from bench.lib.compared_networks import (
    DAMP,
    PUBLISHED,
    as_they_start,
    built_with,
    halved,
    recipe_called,
    settled,
    trained,
    with_start,
    without_networks,
)
from bench.lib.record import record
from bench.speed.cold_start import cold_start
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.offline import build_bundle
from nadirfix.offline.tune import tune_backends
from nadirfix.online import locate
from nadirfix.parallel import cores
from nadirfix.photo_list import read_views
from nadirfix.runtime.network import Network
from nadirfix.types import View
from nadirfix.world.files import write_world

SIDE_M, GSD_M = 1800.0, 0.6


def main() -> None:
    given = arguments()
    torch.set_num_threads(cores())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given.cache or name)
        if given.map is None and not (folder / "world" / "new.tif").exists():
            write_world(folder / "world", size_m=SIDE_M, gsd_m=GSD_M, seed=given.seed)
        photos = take_photos(folder, given)
        say(f"{len(photos)} photos")
        results: dict[str, Any] = {
            "seed": given.seed,
            "map": "procedural" if given.map is None else given.map[0].name,
            "trained": given.paper_place is not None,
            "photos": len(photos),
            "photo": DEFAULT_CAMERA.spec,
        }
        for recipe in given.recipes:
            if recipe == "standard" and not given.weights:
                continue
            results[recipe] = one_recipe(recipe, folder, photos, given)
            say(json.dumps(results[recipe], indent=1))
        results["load_average"] = round(os.getloadavg()[0], 1)
    print(json.dumps(results, indent=2))
    print(f"wrote {record(given.name, results)}")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--recipes", nargs="+", default=["paper", "standard"])
    options.add_argument("--weights", default=os.environ.get("NADIRFIX_WEIGHTS", ""))
    options.add_argument("--photos", type=int, default=40)
    options.add_argument("--cache", default="", help="keep world, photos and bundles here for another run")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--map", type=Path, nargs=2, metavar=("OLD", "NEW"), help="instead of a made world")
    options.add_argument("--views", type=Path, help="views photos are taken of, instead of drawn ones")
    options.add_argument("--name", default="end_to_end", help="the result's name")
    options.add_argument("--top-m", type=float, default=699.0, help="the highest photo")
    options.add_argument("--paper-place", type=Path, help="a place network that was trained")
    options.add_argument("--paper-altitude", type=Path, help="an altitude network that was trained")
    options.add_argument("--damp", type=float, default=DAMP, help="what a random block adds to its input")
    given = options.parse_args()
    if given.paper_place and not given.paper_altitude:
        options.error("a place network that was trained needs an altitude network that was")
    return given


def maps(folder: Path, given: argparse.Namespace) -> tuple[Path, Path]:
    """The map references are made of, and the one photos are taken of."""
    world = folder / "world"
    return tuple(given.map) if given.map else (world / "old.tif", world / "new.tif")


def take_photos(folder: Path, given: argparse.Namespace) -> list[bytes]:
    """Full-size photos, given ones or spread evenly over the range of altitudes, with a camera's noise."""
    kept = folder / f"photos-{given.photos}-{given.seed}"
    if kept.exists():
        return [file.read_bytes() for file in sorted(kept.iterdir())]
    draw, taken, truth = np.random.default_rng(given.seed), [], []
    with GeoMap.open(maps(folder, given)[1]) as ground:
        for view, rendered in rendered_views(ground, given, draw):
            noisy = rendered.pixels + draw.normal(0, 2, rendered.pixels.shape)
            pixels = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
            taken.append(encode_jpeg(pixels, DEFAULT_CAMERA, quality=95, pose=None))
            truth.append([view.center.east_m, view.center.north_m])
    kept.mkdir(parents=True)
    mixed = draw.permutation(len(taken)).tolist()
    for number, i in enumerate(mixed):
        (kept / f"{number:04d}.jpg").write_bytes(taken[i])
    truth_file(folder, given).write_text(json.dumps([truth[i] for i in mixed]))
    return [file.read_bytes() for file in sorted(kept.iterdir())]


def truth_file(folder: Path, given: argparse.Namespace) -> Path:
    return folder / f"truth-{given.photos}-{given.seed}.json"


def rendered_views(
    ground: GeoMap, given: argparse.Namespace, draw: np.random.Generator
) -> Iterator[tuple[View, Any]]:
    """Views and what a camera sees there: the first of a list that was given, or drawn."""
    count = given.photos + WARM_UP
    if given.views is not None:
        for view in read_views(given.views)[:count]:
            yield view, ground.render(view, DEFAULT_CAMERA)
        return
    for altitude_m in np.linspace(100, given.top_m, count):
        yield photo_of(ground, float(altitude_m), draw)


def photo_of(ground: GeoMap, altitude_m: float, draw: np.random.Generator) -> tuple[View, Any]:
    """What a camera sees somewhere over the map; where the map has a hole, somewhere else."""
    west, south, east, north = ground.bounds
    for _ in range(100):
        room = [max(0.0, side / 2 - 0.9 * altitude_m) for side in (east - west, north - south)]
        center = ground.center.moved(draw.uniform(-room[0], room[0]), draw.uniform(-room[1], room[1]))
        view = View(center, altitude_m, float(draw.uniform(0, 360)))
        if ground.render(view, DEFAULT_CAMERA.resized(128, 96)).valid_share > 0.99 or min(room) == 0:
            break
    return view, ground.render(view, DEFAULT_CAMERA)


def one_recipe(name: str, folder: Path, photos: list[bytes], given: argparse.Namespace) -> dict[str, Any]:
    bundle, plain = both_paths(name, folder, given)
    say(f"{name}: {len(bundle.references)} references")
    chosen = tune_backends(bundle)
    bundle = Bundle.load(bundle.path)
    again = counted(bundle)
    spent: dict[str, list[dict[str, float]]] = defaultdict(list)
    fixes, answers = [], []
    for i, photo in enumerate(photos):
        answer, fix = plain.locate(photo, OPTIONS), locate(photo, bundle=bundle, options=OPTIONS)
        if i >= WARM_UP:
            fixes.append(fix)
            answers.append(answer)
            spent["plain"].append(staged(answer.timings_ms))
            spent["fast"].append(staged(fix.timings_ms))
    found = ratios(spent) | {"looked_at_twice": round(again.runs / len(photos), 4)}
    rates = folder_rate(bundle, photos)
    alone_s = found["mean_ms"]["plain"]["all"] / 1e3
    return {
        "ways": chosen,
        "references": len(bundle.references),
        **found,
        "folder": rates,
        "times_faster_in_a_folder": {kind: round(alone_s * rate, 2) for kind, rate in rates.items()},
        "s_loc_100": right(answers, fixes, truth_file(folder, given)),
        "agreement": agreement(bundle, photos[WARM_UP:], answers, fixes),
        "agreement_in_single_precision": in_single(bundle, photos[WARM_UP:], answers),
        "memory_and_start": started(bundle, photos[0], folder),
    }


@dataclasses.dataclass
class Counted:
    """A network, and how often it ran."""

    network: Network
    runs: int = 0

    def run(self, inputs: np.ndarray) -> np.ndarray:
        self.runs += 1
        return self.network.run(inputs)


def counted(bundle: Bundle) -> Counted:
    """The network of the pass in single precision, counting its runs."""
    vars(bundle)["float32_place_network"] = Counted(bundle.float32_place_network)
    return vars(bundle)["float32_place_network"]


def both_paths(name: str, folder: Path, given: argparse.Namespace) -> tuple[Bundle, Straightforward]:
    """A bundle and the straightforward path over the same two networks, in single precision as stored."""
    recipe = with_start(recipe_called(name), given)
    target, world = folder / f"{name}.nadir", maps(folder, given)[0]
    if name in PUBLISHED:
        rough = Bundle.load(
            build_bundle(world, folder / "rough.nadir", recipe=without_networks(recipe), resume=True).path
        )
        made = trained(recipe, rough, given)
        if not {"altitude", "place"} <= made.keys():
            made = settled(recipe, rough, given) | made
        bundle = built_with(made, recipe, world, target)
    else:
        bundle = build_bundle(world, target, recipe=recipe, resume=True)
        made = as_they_start(recipe, bundle)
    place = made["place"].embedder
    return bundle, Straightforward(halved(made["altitude"]), halved(place), bundle)


def started(bundle: Bundle, photo: bytes, folder: Path) -> dict[str, Any]:
    file = folder / "one.jpg"
    file.write_bytes(photo)
    return cold_start(bundle.path, file, folder)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
