"""How long one photo takes on this machine, stage by stage, beside the published line.

Networks start at random: what they know does not change what they cost. The recipes take turns, photo by
photo, in one process; the first photos are left out. Published times are of an RTX 4090 and stand beside ours
only to be seen: nothing is divided by them. What is compared is compared as a ratio within this run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from bench.lib.record import record
from nadirfix.bundle import Bundle
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.offline import build_bundle
from nadirfix.online import locate
from nadirfix.options.map import WorldOptions
from nadirfix.options.recipe import RECIPES, Recipe
from nadirfix.types import View
from nadirfix.world.files import write_world

#: METHOD's speed line: milliseconds on an RTX 4090, and frames a second; weighting is not in it.
PUBLISHED = {"altitude": 10.7, "crop": 12.4, "place network": 50.6, "search": 1.5, "frames_per_s": 13.3}
#: What the published stages are made of here.
STAGES = {
    "altitude": ("altitude",),
    "crop": ("crop",),
    "place network": ("embed",),
    "search": ("classify", "retrieve"),
}
OURS = {**STAGES, "decode": ("decode",), "weighting": ("fuse",)}
ALTITUDES_M = (125.0, 200.0, 300.0, 450.0, 675.0)
SIDE_M = 1250.0
WARM_UP = 2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--recipes", nargs="+", default=["tiny", "standard", "paper"], choices=list(RECIPES))
    options.add_argument("--rounds", type=int, default=6, help="times each photo is located with each recipe")
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_world(folder / "world", size_m=SIDE_M, gsd_m=WorldOptions().gsd_m, seed=given.seed)
        photos = take_photos(folder / "world" / "new.tif")
        bundles = {r: build(folder, r) for r in given.recipes}
        spent = measure(bundles, photos, given.rounds)
    load = round(os.getloadavg()[0], 1)  # a busy machine is a slow one: say how busy
    results = {
        "seed": given.seed,
        "load_average": load,
        "rounds": given.rounds,
        "photo": DEFAULT_CAMERA.spec,
        **summary(spent),
    }
    print_table(results["median_ms"])
    print(json.dumps(results, indent=2))
    print(f"wrote {record('locate', results)}")


def take_photos(path: Path) -> list[bytes]:
    """One full-size photo from each altitude, as a camera would write it."""
    with GeoMap.open(path) as ground:
        rendered = [ground.render(View(ground.center, h), DEFAULT_CAMERA) for h in ALTITUDES_M]
    return [encode_jpeg(s.pixels, DEFAULT_CAMERA, quality=95, pose=None) for s in rendered]


def build(folder: Path, name: str) -> Bundle:
    """A bundle with the recipe's networks, untrained; few references and views to fit to."""
    target = folder / f"{name}.nadir"
    return build_bundle(folder / "world" / "old.tif", target, recipe=at_random(RECIPES[name]), train=False)


def at_random(recipe: Recipe) -> Recipe:
    networks = {
        field: dataclasses.replace(getattr(recipe, field), weights="random", start="")
        for field in ("altitude_network", "place_network")
    }
    few = dataclasses.replace(recipe.references, stride_m=130.0, headings=4)
    fit = dataclasses.replace(recipe.fit, views=60)
    return dataclasses.replace(recipe, references=few, fit=fit, **networks)


def measure(
    bundles: dict[str, Bundle], photos: list[bytes], rounds: int
) -> dict[str, dict[str, list[float]]]:
    """Milliseconds of every stage; recipes take turns so that a busy moment hits them alike."""
    spent: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(rounds + 1):
        for photo in photos[: WARM_UP if turn == 0 else None]:
            for name, bundle in bundles.items():
                times = locate(photo, bundle=bundle).timings_ms
                for stage, parts in OURS.items() if turn else ():
                    spent[name][stage].append(sum(times[p] for p in parts))
    return spent


def summary(spent: dict[str, dict[str, list[float]]]) -> dict[str, object]:
    medians = {
        name: {s: round(float(np.median(v)), 2) for s, v in per.items()} for name, per in spent.items()
    }
    for name, per in medians.items():
        whole = np.sum([spent[name][stage] for stage in STAGES], axis=0)
        per["frames_per_s"] = round(1000 / float(np.median(whole)), 1)
    first = next(iter(medians))
    return {
        "median_ms": medians,
        "crop_max_ms": {name: round(max(per["crop"]), 1) for name, per in spent.items()},
        f"frames_per_s_against_{first}": {
            name: round(per["frames_per_s"] / medians[first]["frames_per_s"], 2)
            for name, per in medians.items()
        },
        "published_rtx_4090": PUBLISHED,
    }


def print_table(medians: dict[str, dict[str, float]]) -> None:
    print(
        "| median, ms | " + " | ".join(f"{name}, this CPU" for name in medians) + " | published, RTX 4090 |"
    )
    print("|---" * (len(medians) + 2) + "|")
    for stage in (*OURS, "frames_per_s"):
        ours = [f"{per[stage]:.1f}" for per in medians.values()]
        published_ms = PUBLISHED.get(stage)
        print(f"| {stage} | " + " | ".join(ours) + f" | {'–' if published_ms is None else published_ms} |")
    print("frames a second are over the published four stages: without decoding and weighting")


if __name__ == "__main__":
    main()
