"""Embedders for maps nobody trained on: learned over many places at once, measured on a place left out.

python -m bench.training.many_places place|altitude --real DIR --worlds DIR --weights FOLDER
    --leave-out mine --out DIR

``--real`` holds textures NAME_old.ntx and NAME_new.ntx (or NAME.ntx where there is one date), ``--worlds``
what bench/training/worlds.py made. Places are learned by contrast between dates, altitudes by class, each
map only within the altitudes it can teach: views finer than its pixels would give themselves away by their
blur. Measured with views of a seed of our own, never the fixed ones. Runs on a GPU box; needs no GDAL, no
FAISS.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from pathlib import Path

import numpy as np
import torch

from bench.lib.evaluate import altitude_found, places_found
from bench.lib.learn_places import learn_place, new_embedder, shares, with_seed
from bench.lib.record import commit, record
from bench.training.pretrain import budget, print_steps
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import NetworkOptions, Recipe, load_recipe
from nadirfix.options.training import AugmentOptions
from nadirfix.train.altitude import altitude_job
from nadirfix.train.contrastive import DatedMap
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.loop import Job, train
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.embedder_checkpoint import save_embedder

#: Maps that are softer than their pixels: the size of the smallest detail, in metres.
SOFT_GSD_M = {"desert": 1.0}
PLACE_CHANGES = AugmentOptions(
    colour=0.45, tint=0.35, haze=0.45, blur=0.8, soften_px=1.2, noise_levels=6.0, shadow=0.4, patches=0.15
)
ALTITUDE_CHANGES = AugmentOptions(colour=0.4, tint=0.2, blur=0.3, noise_levels=5.0, patches=0.0)
#: Places of two dates to measure on, and the altitudes their photos come from.
MEASURED = {"mine": (100.0, 400.0), "town": (150.0, 700.0), "world2000": (100.0, 600.0)}
PARTS = 6  # maps that share a batch of the altitude network, so that none sets its statistics


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    recipe, began = make_recipe(given), time.monotonic()
    maps = load_maps(given)
    print(f"{', '.join(maps)} after {time.monotonic() - began:.0f} s", flush=True)
    learned_on = {name: m for name, m in maps.items() if name != given.leave_out and not is_held_out(name)}
    if given.only_worlds:
        learned_on = {name: m for name, m in learned_on.items() if name.startswith("world")}
    if given.learn == "place":
        network, results = learn_place(learned_on, recipe, given)
    else:
        network, results = learn_altitude(learned_on, recipe, given)
    save_embedder(
        getattr(network, "embedder", network),
        given.out / f"{given.name}.safetensors",
        metadata(given, results),
    )
    measured = [name for name in given.measure or MEASURED if name in maps]
    for name in measured:
        results[name] = {
            "taught": name in learned_on,
            **evaluated(name, maps[name], network.eval(), recipe, given),
        }
        print(name, json.dumps(results[name]), flush=True)
    if given.learn == "place":
        results["towards_start"] = mixed_back(network, recipe, {name: maps[name] for name in measured}, given)
    settings = {k: v if isinstance(v, int | float | str) else str(v) for k, v in vars(given).items()}
    settings = {k: v for k, v in settings.items() if k not in {"out", "real", "worlds", "weights"}}
    settings["start"] = Path(given.start).name  # where it lay is nobody's business
    print(
        record(
            f"many_places_{given.learn}_{given.name}",
            {"settings": settings, **commit(), **results},
            given.out,
        )
    )


def metadata(given: argparse.Namespace, results: dict) -> dict[str, str]:
    """What the file of weights says about itself."""
    command = f"python -m bench.training.many_places {given.learn} --name {given.name}"
    command += f" --encoder {given.encoder}"
    command += f" --leave-out {given.leave_out}" if given.leave_out else ""
    command += " --only-worlds" if given.only_worlds else ""
    command += f" --altitudes {' '.join(f'{a:g}' for a in given.altitudes)}" if given.altitudes else ""
    command += f" --start {Path(given.start).name}" if given.start else ""
    spent = f"--steps {given.steps}" if given.steps else f"--seconds {given.seconds:g}"
    command += f" --batch {given.batch} --rate {given.rate:g} {spent} --seed {given.seed}"
    command += f" --intensity {given.intensity}" if given.learn == "altitude" else ""
    command += f" --real-share {given.real_share:g}"
    command += f" --width {given.width} --soften {given.soften:g}" if given.learn == "altitude" else ""
    places, start = ", ".join(results["places"]), "none" if given.weights == "random" else "ImageNet"
    origin = {"command": command, "commit": str(commit()["commit"]), "steps": str(results["steps"])}
    return {"licence": "Apache-2.0", "data": places, "start": start, **origin}


def mixed_back(network: Embedder, recipe: Recipe, maps: dict[str, DatedMap], given) -> dict:
    """What weights between the start's and the learned ones do: less learned, less forgotten."""
    learned = {key: value.clone() for key, value in network.state_dict().items()}
    start, found = new_embedder(recipe, given).to(given.device).state_dict(), {}
    for share in given.mix:
        mixed = {k: torch.lerp(start[k].float(), v.float(), share).to(v.dtype) for k, v in learned.items()}
        network.load_state_dict(mixed)
        found[f"{share:g}"] = {name: places_found(m, network.eval(), recipe) for name, m in maps.items()}
        print(f"{share:g} learned", json.dumps(found[f"{share:g}"]), flush=True)
    return found


def evaluated(name: str, dated: DatedMap, network: torch.nn.Module, recipe: Recipe, given) -> dict:
    if given.learn == "place":
        return places_found(dated, network, recipe)
    return altitude_found(dated, network, recipe, MEASURED[name])


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("learn", choices=["place", "altitude"])
    options.add_argument("--real", type=Path, required=True)
    options.add_argument("--worlds", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--name", required=True, help="what results and weights are called")
    options.add_argument("--weights", default="random", help="folder or name of ImageNet weights")
    options.add_argument("--start", default="", help="embedder to go on from (safetensors)")
    options.add_argument("--encoder", default="resnet50-stage3")
    options.add_argument("--width", type=int, default=448, help="altitude: pixels across; 3/4 of it down")
    options.add_argument("--leave-out", default="", help="a place not to train on, on any date")
    options.add_argument("--only-worlds", action="store_true")
    options.add_argument(
        "--altitudes", nargs="+", type=float, help="place: canonical altitudes to learn, m; the recipe's"
    )
    options.add_argument("--measure", nargs="+", help="places to measure on; all that are there")
    options.add_argument(
        "--mix", nargs="*", type=float, default=[0.5], help="place: also measured, shares of what was learned"
    )
    options.add_argument("--real-share", type=float, default=0.5, help="of the steps, on real ground")
    options.add_argument("--seconds", type=float, default=400.0)
    options.add_argument("--steps", type=int, default=0, help="instead of seconds")
    options.add_argument("--intensity", choices=["bytes", "contrast"], default="bytes", help="of spectra")
    options.add_argument("--batch", type=int, default=192)
    options.add_argument("--rate", type=float, default=1e-4)
    options.add_argument("--soften", type=float, default=0.0, help="altitude: blur as of other lenses, px")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def make_recipe(given: argparse.Namespace) -> Recipe:
    standard = load_recipe("standard")
    training = dataclasses.replace(
        budget(given, extractor_rate=given.rate, classifier_rate=10 * given.rate),
        freeze_norm=given.learn == "place", seed=given.seed, budget_steps=given.steps,
        budget_s=0.0 if given.steps else given.seconds,
    )  # fmt: skip
    network = {"encoder": given.encoder, "weights": given.weights}
    altitude = NetworkOptions(
        input="spectrum",
        width_px=given.width,
        height_px=given.width * 3 // 4,
        start=given.start,
        intensity=given.intensity,
        **network,
    )
    if given.encoder == "small":
        altitude = dataclasses.replace(altitude, weights="random", mix_blocks=2, mix_channels=64)
    return dataclasses.replace(
        standard,
        seed=given.seed,
        augment=dataclasses.replace(ALTITUDE_CHANGES, soften_px=given.soften)
        if given.learn == "altitude"
        else PLACE_CHANGES,
        contrast=dataclasses.replace(standard.contrast, centre=True),
        altitude_network=altitude,
        place_network=dataclasses.replace(standard.place_network, start=given.start, **network),
        altitude_training=training,
        place_training=training,
    )


def load_maps(given: argparse.Namespace) -> dict[str, DatedMap]:
    """Every place with its dates, the older first."""
    dates: dict[str, list[Path]] = {}
    for path in [*sorted(given.real.glob("*.ntx")), *sorted(given.worlds.glob("*.ntx"))]:
        dates.setdefault(path.stem.partition("_")[0], []).append(path)
    return {
        name: DatedMap(tuple(on_device(p, given) for p in sorted(paths, reverse=True)))
        for name, paths in dates.items()
    }


def on_device(path: Path, given: argparse.Namespace) -> DeviceRenderer:
    return DeviceRenderer(Texture.load(path), given.device)


def is_held_out(name: str) -> bool:
    return name.startswith("world2")


def learn_altitude(learned_on: dict[str, DatedMap], recipe: Recipe, given: argparse.Namespace) -> tuple:
    bins = AltitudeBins.from_options(recipe.bins)
    network, _ = build_altitude_network(recipe.altitude_network, bins, seed=given.seed)
    part = dataclasses.replace(recipe.altitude_training, batch=given.batch // PARTS)
    jobs = []
    for name, turn in shares(learned_on, given):
        small = dataclasses.replace(with_seed(recipe, turn), augment=recipe.augment)
        small = dataclasses.replace(
            small, altitude_training=dataclasses.replace(part, seed=small.altitude_training.seed)
        )
        for date in learned_on[name].dates:
            limits = teaches(name, date.texture, recipe)
            jobs.append(altitude_job(date.texture, small, bins, network, date, within_m=limits))
    print({name: teaches(name, m.texture, recipe) for name, m in learned_on.items()}, flush=True)
    done = train(together(jobs), recipe.altitude_training, device=given.device, report=print_steps(20.0))
    return network, {"places": sorted(learned_on), "steps": done.steps, "seconds": done.seconds}


def teaches(name: str, texture: Texture, recipe: Recipe) -> tuple[float, float]:
    """The altitudes whose views are no finer than the map and fit on it whichever way they are turned."""
    sharp_m = sharp_altitude_m(texture, recipe.camera, recipe.altitude_network.width_px)
    low_m = sharp_m * max(1.0, SOFT_GSD_M.get(name, 0.0) / texture.gsd_m)
    west, south, east, north = texture.bounds
    side_m = min(east - west, north - south)
    return low_m, 0.9 * side_m * recipe.camera.fx_px / recipe.camera.width_px


def together(jobs: list[Job], count: int = PARTS) -> Job:
    """One job whose every batch has parts of several maps."""

    def batch(step: int, epoch: int, part: slice) -> tuple[torch.Tensor, ...]:
        some = [divmod(step * count + i, len(jobs)) for i in range(count)]
        size = (part.stop - part.start) // count
        parts = [jobs[which].batch(turn, epoch, slice(0, size)) for turn, which in some]
        return tuple(torch.cat(column) for column in zip(*parts, strict=True))

    details = {"maps": [job.details for job in jobs]}
    return dataclasses.replace(jobs[0], batch=batch, validate=dict, details=details)


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
