"""Learning places by contrast over many maps, each at every scale it is fine enough for."""

from __future__ import annotations

import argparse
import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bench.training.pretrain import print_steps
from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import Recipe
from nadirfix.train.contrastive import DatedMap, contrastive_job, covered_places
from nadirfix.train.data.round_robin import round_robin
from nadirfix.train.loop import train
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder
from nadirfix.train.models.weights import load_encoder


def learn_place(learned_on: dict[str, DatedMap], recipe: Recipe, given: argparse.Namespace) -> tuple:
    usual_m = canonical_altitude_m(recipe.references, AltitudeBins.from_options(recipe.bins))
    embedder = new_embedder(recipe, given)
    tasks = [
        (name, turn, altitude_m)
        for name, turn in shares(learned_on, given)
        for altitude_m in given.altitudes or [usual_m]
        if taught_at(learned_on[name].texture, recipe, altitude_m)
    ]
    spots = places_at(learned_on, {(name, altitude_m) for name, _, altitude_m in tasks}, recipe)
    print(f"{len(tasks)} maps and scales", flush=True)
    jobs = [
        contrastive_job(
            learned_on[name], at_scale(with_seed(recipe, turn), altitude_m / usual_m), embedder,
            altitude_m=altitude_m, places=spots[name, altitude_m],
        )
        for name, turn, altitude_m in interleaved(tasks)
    ]  # fmt: skip
    done = train(round_robin(jobs), recipe.place_training, device=given.device, report=print_steps(20.0))
    return embedder, {"places": sorted(learned_on), "steps": done.steps, "seconds": done.seconds}


def shares(learned_on: dict[str, DatedMap], given: argparse.Namespace) -> list[tuple[str, int]]:
    """Which map is trained on in which turn; a number distinguishes turns of the same map."""
    worlds = [name for name in learned_on if name.startswith("world")]
    real = [name for name in learned_on if name not in worlds]
    if not real:
        return [(name, 0) for name in worlds]
    wanted = given.real_share / (1 - given.real_share) * max(len(worlds), 1)
    turns = max(1, round(wanted / len(real)))
    mixed = [(name, turn) for turn in range(turns) for name in real]
    spread = [(i / len(mixed), who) for i, who in enumerate(mixed)]
    spread += [((i + 0.5) / len(worlds), (name, 0)) for i, name in enumerate(worlds)]
    return [who for _, who in sorted(spread)]


def new_embedder(recipe: Recipe, given: argparse.Namespace) -> Embedder:
    with seeded(given.seed):
        encoder, weights = load_encoder(recipe.place_network)
        embedder = Embedder(encoder, recipe.place_network, weights)
    load_embedder(embedder, given.start, weights)
    return embedder


def taught_at(texture: Texture, recipe: Recipe, altitude_m: float) -> bool:
    """Whether a map is fine enough for views from there, and large enough for a few of them."""
    west, south, east, north = texture.bounds
    wide_m, _ = recipe.camera.footprint_m(altitude_m)
    sharp_m = sharp_altitude_m(texture, recipe.camera, recipe.place_network.width_px)
    return altitude_m >= 0.95 * sharp_m and min(east - west, north - south) >= 2.5 * wide_m


def at_scale(recipe: Recipe, ratio: float) -> Recipe:
    """Distances on the ground grow with what a reference covers."""
    contrast = recipe.contrast
    contrast = dataclasses.replace(contrast, shift_m=contrast.shift_m * ratio, near_m=contrast.near_m * ratio)
    return dataclasses.replace(recipe, contrast=contrast)


def interleaved(tasks: list[tuple]) -> list[tuple]:
    """The tasks in an order in which neighbours have neither map nor scale in common, mostly."""
    order = np.random.default_rng(0).permutation(len(tasks))
    return [tasks[i] for i in order]


def places_at(maps: dict[str, DatedMap], wanted: set[tuple[str, float]], recipe: Recipe) -> dict:
    """Places to learn on every map at every scale, found on all cores."""
    pairs = sorted(wanted)
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda pair: covered_places(maps[pair[0]], recipe, pair[1]), pairs)
        return dict(zip(pairs, found, strict=True))


def with_seed(recipe: Recipe, turn: int) -> Recipe:
    training = dataclasses.replace(recipe.place_training, seed=recipe.seed + 1000 * turn)
    return dataclasses.replace(recipe, place_training=training, altitude_training=training)
