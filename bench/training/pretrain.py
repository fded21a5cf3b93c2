"""Makes the embedders the tiny recipe starts from, on procedural worlds of other seeds than anybody tests on.

python -m bench.training.pretrain --worlds 24 --seconds 400 --out DIR   (on a GPU box; needs no GDAL)

Worlds are made on all cores, rendered on the GPU. Altitude is learned as in ``train_altitude``, the two
dates of all worlds in turns; places are learned by contrast between the dates. Both are measured on worlds
held out.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

from bench.lib import record
from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.coverage import MapCoverage
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import Recipe, load_recipe
from nadirfix.options.training import AugmentOptions, ContrastOptions, TrainOptions
from nadirfix.train.altitude import altitude_errors, altitude_input, altitude_job
from nadirfix.train.contrastive import DatedMap, contrastive_job
from nadirfix.train.data.altitude_views import AltitudeSampler
from nadirfix.train.data.batches import Pictures, Sampling
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.data.place_views import lattice_places
from nadirfix.train.data.round_robin import round_robin
from nadirfix.train.loop import StepReport, train
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder, save_embedder
from nadirfix.train.models.mixvpr import descriptor
from nadirfix.train.models.weights import load_encoder
from nadirfix.world.make import make_world

#: Seeds below 1000 are for tests, the demo and people.
FIRST_TRAINING_SEED, FIRST_HELD_OUT_SEED = 1000, 2000
STRONG = AugmentOptions(colour=0.45, haze=0.4, blur=0.8, noise_levels=6.0, shadow=0.4, patches=0.15)
SHARP = AugmentOptions(colour=0.4, blur=0.3, noise_levels=5.0)  # blur would hide what tells altitude


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    recipe = dataclasses.replace(load_recipe(given.recipe), augment=STRONG, seed=given.seed)
    contrast = dataclasses.replace(recipe.contrast, turn_deg=given.turn_deg, shift_m=given.shift_m)
    recipe = dataclasses.replace(recipe, contrast=contrast)
    began = time.monotonic()
    seeds = [FIRST_TRAINING_SEED + i for i in range(given.worlds)]
    held_out = [FIRST_HELD_OUT_SEED + i for i in range(given.held_out)]
    maps = load_worlds(seeds + held_out, given)
    print(f"{len(maps)} worlds after {time.monotonic() - began:.0f} s", flush=True)
    results = {"worlds": given.worlds, "size_m": given.size_m, "gsd_m": given.gsd_m, "seed": given.seed}
    if "altitude" in given.learn:
        results["altitude"] = learn_altitude(maps[: given.worlds], maps[given.worlds :], recipe, given)
    if "place" in given.learn:
        results["place"] = learn_place(maps[: given.worlds], maps[given.worlds :], recipe, given)
    print(json.dumps(results, indent=2))
    record.record(f"pretrain_{given.recipe}_{'_'.join(given.learn)}", results, given.out)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--recipe", default="tiny")
    options.add_argument("--worlds", type=int, default=24)
    options.add_argument("--size-m", type=float, default=2000.0)
    options.add_argument("--gsd-m", type=float, default=0.5)
    options.add_argument("--seconds", type=float, default=400.0, help="per network")
    options.add_argument("--batch", type=int, default=256)
    options.add_argument("--turn-deg", type=float, default=180.0, help="how far two views may be turned")
    options.add_argument("--shift-m", type=float, default=ContrastOptions().shift_m)
    options.add_argument("--start", default="", help="an embedder of places to go on from")
    options.add_argument("--held-out", type=int, default=2, help="worlds to measure on")
    options.add_argument("--learn", nargs="+", default=["altitude", "place"])
    options.add_argument("--processes", type=int, default=os.cpu_count() or 2)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def load_worlds(seeds: list[int], given: argparse.Namespace) -> list[DatedMap]:
    cores = sorted(os.sched_getaffinity(0))
    jobs = [(seed, given.size_m, given.gsd_m, cores[i % len(cores)]) for i, seed in enumerate(seeds)]
    with ProcessPoolExecutor(given.processes) as pool:
        worlds = pool.map(one_world, jobs)
        return [
            DatedMap(tuple(DeviceRenderer(texture(p, affine, epsg), given.device) for p in pictures))
            for pictures, affine, epsg in worlds
        ]


def one_world(
    job: tuple[int, float, float, int],
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[float, ...], int]:
    seed, size_m, gsd_m, core = job
    os.sched_setaffinity(0, {core})  # one world, one core: threads of many worlds only wait for each other
    cv2.setNumThreads(1)
    made = make_world(size_m=size_m, gsd_m=gsd_m, seed=seed)
    return (made.old, made.new), made.affine, made.epsg


def texture(pixels: np.ndarray, affine: tuple[float, ...], epsg: int) -> Texture:
    return Texture.from_array(pixels, None, affine=affine, epsg=epsg)  # type: ignore[arg-type]


def learn_altitude(
    maps: list[DatedMap], held: list[DatedMap], recipe: Recipe, given: argparse.Namespace
) -> dict:
    training = budget(given, extractor_rate=1e-3, classifier_rate=1e-2)
    recipe = dataclasses.replace(recipe, altitude_training=training, augment=SHARP)
    bins = AltitudeBins.from_options(recipe.bins)
    network, _ = build_altitude_network(recipe.altitude_network, bins, seed=given.seed)
    jobs = [altitude_job(date.texture, recipe, bins, network, date) for m in maps for date in m.dates]
    done = train(round_robin(jobs), training, device=given.device, report=print_steps())
    found = [altitude_on(date, network.eval(), recipe, bins) for m in held for date in m.dates]
    save_embedder(
        network.embedder, given.out / f"{recipe.name}-altitude.safetensors", metadata(given, done.steps)
    )
    return {"steps": done.steps, "seconds": done.seconds, "held_out_worlds": found}


def altitude_on(source: DeviceRenderer, network: nn.Module, recipe: Recipe, bins: AltitudeBins) -> dict:
    options = recipe.altitude_network
    sampling = Sampling(camera=recipe.camera, seed=99, valid_share=0.99, tilt_deg=0.0)
    sampler = AltitudeSampler(MapCoverage(source.texture), sampling, bins)
    pictures = Pictures(
        source, recipe.camera, (options.width_px, options.height_px), AugmentOptions(), seed=99
    )
    scores, truth = [], []
    with torch.no_grad():
        for start in range(0, 512, 64):
            views, _ = sampler.draw(np.arange(start, start + 64))
            scores.append(network(altitude_input(pictures.rendered(views), options)).float().cpu())
            truth.append(torch.from_numpy(views.altitude_m))
    return altitude_errors(torch.cat(scores), torch.cat(truth), torch.from_numpy(bins.centers_m))


def learn_place(
    maps: list[DatedMap], held: list[DatedMap], recipe: Recipe, given: argparse.Namespace
) -> dict:
    training = budget(given, extractor_rate=1e-3, classifier_rate=1e-3)
    recipe = dataclasses.replace(recipe, place_training=training)
    altitude_m = canonical_altitude_m(recipe.references, AltitudeBins.from_options(recipe.bins))
    with seeded(given.seed):
        encoder, weights = load_encoder(recipe.place_network)
        embedder = Embedder(encoder, recipe.place_network, weights)
    load_embedder(embedder, given.start, weights)
    jobs = [contrastive_job(m, recipe, embedder, altitude_m=altitude_m) for m in maps]
    done = train(round_robin(jobs), training, device=given.device, report=print_steps())
    save_embedder(embedder, given.out / f"{recipe.name}-place.safetensors", metadata(given, done.steps))
    found = [recall_on(m, embedder.eval(), recipe, altitude_m) for m in held]
    return {"steps": done.steps, "seconds": done.seconds, "held_out_worlds": found}


@torch.no_grad()
def recall_on(dated: DatedMap, embedder: Embedder, recipe: Recipe, altitude_m: float) -> dict:
    """Recall within 100 m of photos of the new date among references of the old one, altitude ± 15 %."""
    rng = np.random.default_rng(5)
    bounds = np.array(dated.texture.bounds)
    inner = tuple(bounds + np.array([1, 1, -1, -1]) * 130.0)
    east, north = lattice_places(inner, recipe.references.stride_m)
    turns = np.arange(recipe.references.headings) * 360 / recipe.references.headings
    e, n, h = np.repeat(east, len(turns)), np.repeat(north, len(turns)), np.tile(turns, len(east))
    base = described(dated.dates[0], Views.level(e, n, np.full(len(e), altitude_m), h), embedder, recipe)
    qe, qn = rng.uniform(inner[0], inner[2], 500), rng.uniform(inner[1], inner[3], 500)
    high = altitude_m * rng.uniform(0.85, 1.15, 500)
    queries = described(dated.dates[1], Views.level(qe, qn, high, rng.uniform(0, 360, 500)), embedder, recipe)
    best = (queries @ base.T).topk(10).indices.cpu().numpy()
    near = np.hypot(e[best] - qe[:, None], n[best] - qn[:, None]) < 100
    r1, r5 = 100 * float(near[:, 0].mean()), 100 * float(near[:, :5].any(1).mean())
    return {"r1": r1, "r5": r5, "near_among_ten": 100 * float(near.mean())}


def described(source: DeviceRenderer, views: Views, embedder: Embedder, recipe: Recipe) -> torch.Tensor:
    size = (recipe.place_network.width_px, recipe.place_network.height_px)
    pictures = Pictures(source, recipe.camera, size, AugmentOptions(), seed=0)
    parts = [views.take(slice(i, i + 256)) for i in range(0, len(views), 256)]
    return torch.cat([descriptor(embedder(pictures.rendered(p)).float()) for p in parts])


def budget(given: argparse.Namespace, **rates: float) -> TrainOptions:
    return TrainOptions(
        schedule="budget",
        budget_s=given.seconds,
        batch=given.batch,
        altitude_step_m=0.0,
        validation_views=64,
        **rates,
    )


def metadata(given: argparse.Namespace, steps: int) -> dict[str, str]:
    commit = str(record.commit()["commit"])
    command = f"python -m bench.training.pretrain --recipe {given.recipe} --worlds {given.worlds}"
    command += f" --size-m {given.size_m:g} --gsd-m {given.gsd_m:g} --seconds {given.seconds:g}"
    command += f" --batch {given.batch} --seed {given.seed}"
    command += f" --start {given.start}" if given.start else ""
    data = f"procedural worlds of seeds {FIRST_TRAINING_SEED} to {FIRST_TRAINING_SEED + given.worlds - 1}"
    return {"licence": "Apache-2.0", "data": data, "command": command, "commit": commit, "steps": str(steps)}


def print_steps(every_s: float = 15.0):
    last = [0.0]

    def tell(step: StepReport) -> None:
        if time.monotonic() - last[0] > every_s:
            last[0] = time.monotonic()
            print(f"{step.name} {step.elapsed_s:5.0f} s  step {step.step:6d}  loss {step.loss:.4f}"
                  f"  {step.images_per_s:7.0f}/s  rate {step.extractor_rate:.2e}", flush=True)  # fmt: skip

    return tell


if __name__ == "__main__":
    main()
