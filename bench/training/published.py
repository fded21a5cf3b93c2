"""The method as published, trained on one map in a few minutes, measured on photos of another date.

python -m bench.training.published --map OLD --photos NEW --views VIEWS.csv --weights FOLDER --out DIR
    --name mine
    [--seed 0 1 2]   a process for each, at once; results are called published_NAME_s0 and so on

ResNet-50 to stage 3 and MixVPR for both networks, one central crop, three cells, weighted coordinate; all
cells, references without rotations, the nearest reference alone and photos without an altitude stand beside
it. Maps and photos are textures (``nadirfix.geo.pack``). Budgets in steps do not depend on who shares the
GPU. Needs no GDAL and no FAISS.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

from bench.lib.augmentations import CHANGES
from bench.lib.embedder_files import keep
from bench.lib.joint_training import place_of, train_jointly
from bench.lib.photos import (
    VALID_SHARE,
    altitude_scores,
    decoded,
    embed_photos,
    kept_photos,
    off_by,
    pack,
    read_views,
    soft_m,
)  # fmt: skip
from bench.lib.recall import describe_references, named_rightly, recalled, top_cells
from bench.lib.record import record, say, write_csv
from bench.training.cross_validation import half_settings, joined_m, western
from bench.training.pretrain import print_steps
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import NetworkOptions, Recipe, load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.altitude import train_altitude
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.place import TrainedPlace, place_sampler, train_place


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    if len(given.seed) > 1:
        each_seed(given)
        return
    given.seed = given.seed[0]
    recipe, began = make_recipe(given), time.monotonic()
    old = Texture.load(given.map)
    source = DeviceRenderer(old, given.device)
    say(f"map {old.size_px} at {old.gsd_m:.2f} m on {given.device}")
    photos, views = taken(given)
    say(f"{len(photos)} photos after {time.monotonic() - began:.0f} s")
    results = {"seed": given.seed, "views": len(views), "settings": settings_of(given)}
    named_m, results["altitude_spectrum"] = altitudes_before(given, views) or learned(
        source, photos, views, given
    )
    say(f"altitude: {results['altitude_spectrum']}")
    place = train_place(
        old, for_places(recipe, given), device=given.device, renderer=source, report=print_steps()
    )
    say(f"place: {place.report}")
    columns = {f"spectrum_{kind}_m": value.round(1) for kind, value in named_m.items()}
    found, lines = find_places(place, photos, views, columns, recipe=recipe, source=source)
    results |= {"place": training_summary(place.report) | {"cells": len(place.order)}, **found}
    results["seconds"] = time.monotonic() - began
    if given.keep:
        keep(given, "place", place.network)
    write_csv(given.out / f"published_{given.name}.csv", lines)
    record(f"published_{given.name}", results, given.out)  # last: whose result is there, is done


def altitudes_before(given: argparse.Namespace, views: Views) -> tuple[dict, dict] | None:
    """Altitudes as networks trained before estimated them, each half of the place by one of them."""
    if not given.altitudes:
        return None
    west = western(views.east_m, Texture.load(given.photos).bounds)
    named_m = joined_m(given.altitudes, west, views.altitude_m)
    return named_m, off_by(named_m, views.altitude_m) | {"halves": half_settings(given.altitudes)}


def learned(source: DeviceRenderer, photos: list, views: Views, given) -> tuple[dict, dict]:
    """Altitudes by a network that is trained here."""
    recipe = for_altitudes(make_recipe(given), given)
    if given.joint:
        trained = train_jointly(source, given.joint, recipe, print_steps())
    else:
        trained = train_altitude(
            source.texture, recipe, device=given.device, renderer=source, report=print_steps()
        )
    scores = altitude_scores(trained.network, photos, recipe.altitude_network, recipe, given.device)
    if given.keep:
        keep(given, "altitude", trained.network)
    named_m = {"hard": trained.bins.centers_m[scores.argmax(1)], "soft": soft_m(scores, trained.bins)}
    sharp = {"sharp_above_m": trained.sharp_altitude_m}
    return named_m, decoded(scores, views.altitude_m, trained.bins) | training_summary(trained.report) | sharp


def taken(given: argparse.Namespace) -> tuple[list[np.ndarray], Views]:
    """The photos of the fixed views."""
    new = Texture.load(given.photos)
    views, name = read_views(given.views, new.epsg, given.limit), f"{given.photos.stem}-fixed"
    source = DeviceRenderer(new, given.device)
    return kept_photos(given.cache, name, source, views, load_recipe("paper")), views


def find_places(
    place: TrainedPlace, photos: list, views: Views, columns: dict, *, recipe: Recipe, source: DeviceRenderer
) -> tuple[dict, list[dict]]:
    """Where the photos are found with their altitude known, estimated and not known; a line for each."""
    grid, device = place_sampler(source.texture, recipe).grid, str(source.device)
    known = describe_references(source, place.network, grid, recipe)
    results, lines = {"references": len(known.views)}, []
    for name, known_m in {
        "true": views.altitude_m, "none": None, "estimated": columns["spectrum_hard_m"]
    }.items():  # fmt: skip
        raw = embed_photos(place.network, photos, known_m, recipe, device)
        cells = top_cells(place, raw, recipe)
        found, rows = recalled(raw, views, known, cells)
        results[f"place_{name}_altitude"] = named_rightly(cells, views, grid) | found
        say(f"place, {name} altitude: {json.dumps(found)}")
        for i, row in enumerate(rows):
            base = {"photo": i, "altitude_m": float(views.altitude_m[i]), "altitude": name}
            lines.append({**base, **row, **{key: float(value[i]) for key, value in columns.items()}})
    return results, lines


def each_seed(given: argparse.Namespace) -> None:
    """The same in a process for each seed; one that fails does not stop the others."""
    if given.cache:
        taken(given)  # once for all
    at = sys.argv.index("--seed")
    others = without(sys.argv[1:at] + sys.argv[at + 1 + len(given.seed) :], "--name")
    running = {}
    for seed in given.seed:
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            *others,
            "--seed",
            str(seed),
            "--name",
            f"{given.name}_s{seed}",
        ]
        with (given.out / f"published_{given.name}_s{seed}.log").open("w") as log:
            running[seed] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    failed = []
    for seed, process in running.items():
        failed += [seed] if process.wait() else []
        pack(given.out, f"published_{given.name}_s*", given.pack or given.out / f"published_{given.name}.tgz")
    if failed:
        raise SystemExit(f"seeds {failed} failed: their logs in {given.out} say why")


def without(words: list[str], option: str) -> list[str]:
    """The command line without an option and its value."""
    if option not in words:
        return words
    at = words.index(option)
    return words[:at] + words[at + 2 :]


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--map", type=Path, required=True)
    options.add_argument("--photos", type=Path, required=True)
    options.add_argument("--views", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--cache", type=Path, help="folder where photos are kept for other runs")
    options.add_argument("--pack", type=Path, help="file all results of several seeds go into")
    options.add_argument("--weights", required=True, help="folder or name of ImageNet weights")
    options.add_argument("--encoder", default="resnet50-stage3", help="of the place network")
    options.add_argument("--place-weights", default="", help="where the place network starts elsewhere")
    options.add_argument("--altitude-start", default="", help="altitude embedder to go on from (safetensors)")
    options.add_argument(
        "--joint", type=Path, nargs="*", default=[], help="textures of other places to train altitudes with"
    )
    options.add_argument("--start-name", default="ImageNet", help="what the results say about the start")
    _add_training_options(options)
    options.add_argument("--limit", type=int, default=0, help="only so many photos")
    options.add_argument("--keep", action="store_true", help="write the trained networks, too")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, nargs="+", default=[0])
    given = options.parse_args()
    own = [path.name for path in given.joint if place_of(path) == place_of(given.map)]
    if given.altitudes and len(given.seed) > 1:
        options.error("--altitudes are of one seed: give one --seed with them")
    if own:
        options.error(f"--joint must show other places than the map; leave out {', '.join(own)}")
    return given


def _add_training_options(options: argparse.ArgumentParser) -> None:
    options.add_argument("--altitude-seconds", type=float, default=0.0, help="where no steps are given")
    options.add_argument("--place-seconds", type=float, default=0.0, help="where no steps are given")
    options.add_argument("--altitude-steps", type=int, default=600)
    options.add_argument("--place-steps", type=int, default=1200)
    options.add_argument("--altitude-changes", choices=list(CHANGES), default="usual")
    options.add_argument("--place-changes", choices=list(CHANGES), default="usual")
    options.add_argument("--intensity", choices=["bytes", "unit", "contrast"], default="bytes")
    options.add_argument(
        "--altitudes", type=Path, nargs=2, default=[], metavar=("WEST", "EAST"),
        help="what cross_validation --chosen wrote of either half's photos, instead of a network of its own",
    )  # fmt: skip
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--altitude-batch", type=int, default=0, help="another one for the altitudes")
    options.add_argument("--extractor-rate", type=float, default=3e-4)
    options.add_argument("--altitude-rate", type=float, default=3e-4)
    options.add_argument("--classifier-rate", type=float, default=3e-3)
    options.add_argument("--imprint", type=int, default=0, help="prototypes start as means of so many views")
    options.add_argument(
        "--held-out", type=int, default=512, help="views of the map's own date to measure on"
    )


#: What the results say of a run: everything that changes what is learned, and nobody's folders.
SETTINGS = (
    "altitude_steps", "altitude_seconds", "place_steps", "place_seconds", "batch", "altitude_batch",
    "altitude_rate", "extractor_rate", "classifier_rate", "imprint", "encoder", "altitude_changes",
    "place_changes", "intensity",
)  # fmt: skip


def settings_of(given: argparse.Namespace) -> dict:
    """The settings in full: names of changes, and what they stand for."""
    changes = {
        kind: dataclasses.asdict(CHANGES[getattr(given, f"{kind}_changes")][kind])
        for kind in ("altitude", "place")
    }
    found = {name: getattr(given, name) for name in SETTINGS}
    found |= {"start": given.start_name, "changes": changes}
    if given.altitudes:  # their own results say how they came about
        del changes["altitude"], found["intensity"]
        return {key: value for key, value in found.items() if not key.startswith("altitude_")}
    joint = [path.stem for path in given.joint]
    return found | {"altitude_start": Path(given.altitude_start).name, "beside": joint}


def make_recipe(given: argparse.Namespace) -> Recipe:
    paper = load_recipe("paper")

    def budget(kind: str, rate: float, **more: float) -> TrainOptions:
        steps, seconds = getattr(given, f"{kind}_steps"), getattr(given, f"{kind}_seconds")
        batch = given.altitude_batch if kind == "altitude" and given.altitude_batch else given.batch
        return TrainOptions(
            schedule="budget", budget_steps=0 if seconds else steps, budget_s=seconds, batch=batch,
            extractor_rate=rate, classifier_rate=given.classifier_rate, seed=given.seed,
            validation_views=given.held_out, **more,
        )  # fmt: skip

    altitude = dataclasses.replace(
        paper.altitude_network, encoder="resnet50-stage3", weights=given.weights, start=given.altitude_start,
        intensity=given.intensity,
    )  # fmt: skip
    return dataclasses.replace(
        paper,
        seed=given.seed,
        altitude_network=altitude,
        place_network=NetworkOptions(encoder=given.encoder, weights=given.place_weights or given.weights),
        altitude_training=budget(
            "altitude", given.altitude_rate, altitude_step_m=0.0, valid_share=VALID_SHARE
        ),
        place_training=budget("place", given.extractor_rate, steps_per_epoch=1, imprint_views=given.imprint),
    )


def for_altitudes(recipe: Recipe, given: argparse.Namespace) -> Recipe:
    """The recipe as the altitude network is trained with."""
    return dataclasses.replace(recipe, augment=CHANGES[given.altitude_changes]["altitude"])


def for_places(recipe: Recipe, given: argparse.Namespace) -> Recipe:
    """The recipe as the place network is trained with."""
    return dataclasses.replace(recipe, augment=CHANGES[given.place_changes]["place"])


def training_summary(report) -> dict[str, float]:
    rest = {f"held_out_{k}": v for k, v in report.validation.items()}
    speed = report.steps / max(report.seconds, 1e-9)
    spent = {"steps": report.steps, "training_s": report.seconds, "steps_per_s": round(speed, 2)}
    return {**spent, "loss": report.loss, **rest}


if __name__ == "__main__":
    main()
