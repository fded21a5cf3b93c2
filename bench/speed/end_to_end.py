"""How much faster ``locate`` is than the same method done in the straightforward way, and whether both agree.

python bench/speed.py [--weights FOLDER] [--photos 40] [--recipes paper standard] [--cache FOLDER]
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
import copy
import dataclasses
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from plain import Answer, Straightforward
from record import record
from start import cold_start

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.geo.geomap import GeoMap
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.offline import build_bundle
from nadirfix.offline import trained_networks as networks
from nadirfix.offline.altitude_fit import fit_directions
from nadirfix.offline.describe import Lookout
from nadirfix.offline.int8 import altitude_examples, place_examples
from nadirfix.offline.tune import find_fastest
from nadirfix.online import locate, open_parts
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import RECIPES, QuantiseOptions, Recipe
from nadirfix.options.training import TrainOptions
from nadirfix.parallel import cores, in_order
from nadirfix.photo_list import read_views
from nadirfix.runtime.backend import Way
from nadirfix.runtime.load import load_way
from nadirfix.runtime.network import Network
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.place import build_place_network
from nadirfix.types import Fix, View
from nadirfix.world.files import write_world

OPTIONS = LocateOptions(verify=False, whole_frame=False)
SIDE_M, GSD_M = 1800.0, 0.6
PUBLISHED_FPS = 13.3
#: Recipes with the networks of the publication, or nearly.
PUBLISHED = ("paper", "stage3")
NO_TRAINING = TrainOptions(schedule="budget")
#: Stages of the published line; decoding and weighting are not in it.
STAGES = {
    "altitude": ("altitude",),
    "crop": ("crop",),
    "place network": ("embed",),
    "search": ("classify", "retrieve", "search"),
}
EVERY = {"decode": ("decode",), **STAGES, "weighting": ("fuse",)}
WARM_UP = 2
#: What each block of a random EfficientNet adds to its input.
DAMP = 0.25


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
    options.add_argument("--name", default="speed", help="the result's name")
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
        for view, shown in seen(ground, given, draw):
            noisy = shown.pixels + draw.normal(0, 2, shown.pixels.shape)
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


def seen(ground: GeoMap, given: argparse.Namespace, draw: np.random.Generator) -> Iterator[tuple[View, Any]]:
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
    chosen = find_fastest(bundle)
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
    found = ratios(spent) | {"looked_at_twice": round(again.looks / len(photos), 4)}
    rates = folder_rate(bundle, photos)
    alone_s = found["mean_ms"]["plain"]["all"] / 1e3
    return {
        "ways": chosen,
        "references": len(bundle.references),
        **found,
        "folder": rates,
        "times_faster_in_a_folder": {way: round(alone_s * rate, 2) for way, rate in rates.items()},
        "s_loc_100": right(answers, fixes, truth_file(folder, given)),
        "agreement": agreement(bundle, photos[WARM_UP:], answers, fixes),
        "agreement_in_single_precision": in_single(bundle, photos[WARM_UP:], answers),
        "memory_and_start": started(bundle, photos[0], folder),
    }


@dataclasses.dataclass
class Counted:
    """A network, and how often it was asked."""

    network: Network
    looks: int = 0

    def run(self, inputs: np.ndarray) -> np.ndarray:
        self.looks += 1
        return self.network.run(inputs)


def counted(bundle: Bundle) -> Counted:
    """The network of second looks, counting them."""
    vars(bundle)["careful_place_network"] = Counted(bundle.careful_place_network)
    return vars(bundle)["careful_place_network"]


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


def built_with(made: dict[str, Any], recipe: Recipe, world: Path, target: Path) -> Bundle:
    """A bundle with these networks as if they had learned here: classes of altitude are the network's own."""

    def learned(*_given: object, **_settings: object) -> SimpleNamespace:
        return SimpleNamespace(network=copy.deepcopy(made["altitude"]), record=made["record"], report=None)

    def ready(*_given: object, **_settings: object) -> tuple[torch.nn.Module, Any]:
        return copy.deepcopy(made["place"]), made["record"]

    with (
        mock.patch.object(networks, "train_altitude", learned),
        mock.patch.object(networks, "build_place_network", ready),
        mock.patch.object(networks, "source_on"),  # nothing is learned from the map
    ):
        recipe = dataclasses.replace(recipe, place_training=NO_TRAINING)
        return build_bundle(world, target, recipe=recipe, train=True, resume=True)


def as_they_start(recipe: Recipe, bundle: Bundle) -> dict[str, Any]:
    """The networks of a build that trains nothing: classes of altitude are the bundle's."""
    bins = AltitudeBins.from_options(recipe.bins)
    altitude, _ = build_altitude_network(recipe.altitude_network, bins, seed=recipe.seed)
    place, _ = build_place_network(recipe.place_network, recipe.head, bundle.order, seed=recipe.seed)
    return {"altitude": altitude.embedder, "place": place}


def recipe_called(name: str) -> Recipe:
    if name != "stage3":
        return RECIPES[name]
    paper = RECIPES["paper"]
    smaller = dataclasses.replace(paper.place_network, encoder="resnet50-stage3")
    return dataclasses.replace(paper, name=name, place_network=smaller)


def with_start(recipe: Recipe, given: argparse.Namespace) -> Recipe:
    """Few references, which take longest to make; ImageNet weights or a random start."""
    few = (
        recipe.references
        if given.paper_place
        else dataclasses.replace(recipe.references, stride_m=90.0, headings=6)
    )
    weights = given.weights if recipe.name == "standard" else "random"
    place = dataclasses.replace(recipe.place_network, weights=weights)
    altitude = dataclasses.replace(
        recipe.altitude_network, weights=(given.weights or "random") if recipe.name in PUBLISHED else "random"
    )
    return dataclasses.replace(
        recipe, references=few, place_network=place, altitude_network=altitude, matcher="none"
    )


def without_networks(recipe: Recipe) -> Recipe:
    """A bundle of the same map with the smallest networks: for its views alone."""
    tiny = RECIPES["tiny"]
    few = dataclasses.replace(recipe.references, stride_m=180.0, headings=2)
    return dataclasses.replace(
        tiny, name="rough", references=few, matcher="none", fit=dataclasses.replace(tiny.fit, views=40)
    )


def trained(recipe: Recipe, rough: Bundle, given: argparse.Namespace) -> dict[str, Any]:
    """The networks whose files were given, with their weights; cells are spoken for by their references."""
    made: dict[str, Any] = {}
    if given.paper_altitude:
        bins = AltitudeBins.from_options(recipe.bins)
        made["altitude"], note = build_altitude_network(recipe.altitude_network, bins, seed=recipe.seed)
        made["record"] = note
        made["altitude"].load_state_dict(tensors(given.paper_altitude))
    if given.paper_place:
        made["place"], _ = build_place_network(
            recipe.place_network, recipe.head, rough.order, seed=recipe.seed
        )
        found = tensors(given.paper_place)
        made["place"].embedder.load_state_dict(
            {k.removeprefix("embedder."): v for k, v in found.items() if not k.startswith("heads.")}
        )
    return {name: one.eval() if isinstance(one, torch.nn.Module) else one for name, one in made.items()}


def tensors(file: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return {name: v.float() if v.is_floating_point() else v for name, v in load_file(file).items()}


@torch.no_grad()
def settled(recipe: Recipe, rough: Bundle, given: argparse.Namespace) -> dict[str, Any]:
    """Random networks whose statistics come from views of the map, and altitude classes that fit them."""
    asked = dataclasses.replace(recipe, quantise=QuantiseOptions(views=160))
    size = recipe.place_network.width_px, recipe.place_network.height_px
    lookout = Lookout(rough.texture, rough.canonical, rough.references, size)
    bins = AltitudeBins.from_options(recipe.bins)
    altitude, note = build_altitude_network(recipe.altitude_network, bins, seed=recipe.seed)
    place, _ = build_place_network(recipe.place_network, recipe.head, rough.order, seed=recipe.seed)
    damp(place.embedder, given.damp)
    few = dataclasses.replace(recipe, quantise=QuantiseOptions(views=32))
    take_statistics(place.embedder, place_examples(lookout, few))
    spectra, labels = labelled(asked, lookout, bins)
    take_statistics(altitude.embedder, spectra[::5])
    vectors = np.concatenate([altitude.embed(torch.from_numpy(s)[None]).numpy() for s in spectra])
    rows = fit_directions(vectors / np.abs(vectors).mean(), labels, len(bins), penalty=1.0)
    altitude.prototypes.weight.copy_(torch.from_numpy(rows[:, :-1]))
    return {"altitude": altitude, "place": place, "record": note}


def labelled(recipe: Recipe, lookout: Lookout, bins: AltitudeBins) -> tuple[np.ndarray, np.ndarray]:
    from nadirfix.offline.altitude_fit import draw_views

    options = dataclasses.replace(recipe.fit, views=recipe.quantise.views)
    views = draw_views(lookout.texture, recipe.camera, bins, options)
    return altitude_examples(lookout, recipe), bins.indices_of(views.altitude_m)


def damp(embedder: Embedder, share: float) -> None:
    """Each block adds little to what it got, as in networks that were trained.

    Without it a random network of this depth is chaotic: the last digit of single precision decides what it
    says, and no two ways to run it agree.
    """
    for name, part in embedder.named_modules():
        if name.endswith("project_bn"):
            part.weight.fill_(share)


def take_statistics(embedder: Embedder, pictures: np.ndarray) -> None:
    for part in embedder.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.reset_running_stats()
            part.momentum = None
            part.train()
    embedder(torch.from_numpy(pictures))
    embedder.eval()


def halved(network: torch.nn.Module) -> torch.nn.Module:
    """The network with its large weights rounded as the bundle stores them: the same weights for both."""
    network = copy.deepcopy(network)
    for value in network.state_dict().values():
        if value.is_floating_point() and value.numel() >= 1024:
            value.copy_(value.half().float())
    return network


def staged(timings_ms: dict[str, float]) -> dict[str, float]:
    return {stage: sum(timings_ms.get(part, 0.0) for part in parts) for stage, parts in EVERY.items()}


def ratios(spent: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Medians of both paths, and medians of the ratio taken photo by photo."""
    found: dict[str, Any] = {"median_ms": {}, "mean_ms": {}}
    for path, photos in spent.items():
        whole = [{**p, "all": sum(p.values()), "published stages": sum(p[s] for s in STAGES)} for p in photos]
        found["median_ms"][path] = {k: round(float(np.median([p[k] for p in whole])), 2) for k in whole[0]}
        found["mean_ms"][path] = {k: round(float(np.mean([p[k] for p in whole])), 2) for k in whole[0]}
        spent[path] = whole
    pairs = list(zip(spent["plain"], spent["fast"], strict=True))
    per_photo = {k: [a[k] / b[k] for a, b in pairs] for k in pairs[0][0] if k not in ("search", "weighting")}
    found["times_faster_median"] = {k: round(float(np.median(v)), 2) for k, v in per_photo.items()}
    found["times_faster_p10"] = {k: round(float(np.percentile(v, 10)), 2) for k, v in per_photo.items()}
    means = found["mean_ms"]
    found["times_faster_in_all"] = {k: round(means["plain"][k] / means["fast"][k], 2) for k in per_photo}
    stages = found["median_ms"]["fast"]["published stages"]
    found["frames_per_s_published_stages"] = {
        "ours, two cores": round(1000 / stages, 1),
        "RTX 4090": PUBLISHED_FPS,
    }
    return found


def folder_rate(bundle: Bundle, photos: list[bytes]) -> dict[str, float]:
    """Photos a second of a whole folder, everything included: one by one, and one on each core."""
    found = {}
    for name, workers in (("one by one", 1), ("one on each core", cores())):
        opened = Bundle.load(bundle.path, threads=0 if workers == 1 else 1)
        open_parts(opened, OPTIONS)
        work = lambda photo, b=opened: locate(photo, bundle=b, options=OPTIONS)  # noqa: E731
        list(in_order(work, photos[: 2 * workers], workers=workers))
        began = time.perf_counter()
        list(in_order(work, photos, workers=workers))
        found[name] = round(len(photos) / (time.perf_counter() - began), 2)
    return found


def agreement(
    bundle: Bundle, photos: list[bytes], answers: list[Answer], fixes: list[Fix]
) -> dict[str, float]:
    """How far both paths say the same; descriptors are compared on the same altitude class."""
    classes = [int(np.argmin(np.abs(bundle.bins.centers_m - (f.altitude_m or 0)))) for f in fixes]
    same = np.array([a.altitude_class == c for a, c in zip(answers, classes, strict=True)])
    cosines, first, apart = [], [], []
    for photo, answer, fix, agree in zip(photos, answers, fixes, same, strict=True):
        altitude_m = float(bundle.bins.centers_m[answer.altitude_class])
        told = fix if agree else locate(photo, bundle=bundle, altitude_m=altitude_m, options=OPTIONS)
        assert told.candidates is not None and told.position is not None
        cosines.append(cosine(photo, altitude_m, bundle, answer))
        first.append(int(told.candidates.reference[0]) == int(answer.candidates.reference[0]))
        apart.append(told.position.distance_m(answer.fused.position))
    return {
        "same_altitude_class": round(float(same.mean()), 4),
        "descriptor_cosine_p5": round(float(np.percentile(cosines, 5)), 5),
        "same_first_reference": round(float(np.mean(first)), 4),
        "positions_within_5_m": round(float(np.mean(np.array(apart) <= 5)), 4),
    }


def cosine(photo: bytes, altitude_m: float, bundle: Bundle, answer: Answer) -> float:
    from nadirfix.image.crop import canonical_crop
    from nadirfix.image.decode import decode

    size = bundle.recipe.place_network
    pixels, camera = decode(photo, max_pixels=10**9), bundle.camera
    crop = canonical_crop(
        pixels,
        camera,
        camera.gsd_m(altitude_m),
        bundle.canonical,
        width_px=size.width_px,
        height_px=size.height_px,
        enlarge=bundle.recipe.enlarge,
    )
    told = bundle.describe(bundle.place_network.run(np.moveaxis(crop.pixels, -1, 0)[None]))[0]
    return float(told @ answer.descriptor)


def right(answers: list[Answer], fixes: list[Fix], file: Path) -> dict[str, float]:
    """Of both paths, the share of photos placed less than 100 m from where they were taken."""
    if not file.exists():
        return {}
    truth = np.array(json.loads(file.read_text()))[WARM_UP:]
    told = {"plain": [a.fused.position for a in answers], "fast": [f.position for f in fixes]}
    far_m = {
        path: np.hypot(*(np.array([[p.east_m, p.north_m] for p in places if p]) - truth).T)
        for path, places in told.items()
    }
    return {path: round(100 * float(np.mean(apart < 100)), 1) for path, apart in far_m.items()}


def in_single(bundle: Bundle, photos: list[bytes], answers: list[Answer]) -> dict[str, float]:
    """The same with both networks as they are stored: what is left is decoding, cropping and searching."""
    plain = Bundle.load(bundle.path)
    for part in (parts.ALTITUDE, parts.PLACE):
        name = "altitude_network" if part == parts.ALTITUDE else "place_network"
        vars(plain)[name] = load_way(plain.network_files(part), Way())
    fixes = [locate(photo, bundle=plain, options=OPTIONS) for photo in photos]
    return agreement(plain, photos, answers, fixes)


def started(bundle: Bundle, photo: bytes, folder: Path) -> dict[str, Any]:
    file = folder / "one.jpg"
    file.write_bytes(photo)
    return cold_start(bundle.path, file, folder)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
