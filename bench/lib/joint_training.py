"""Altitudes learned on one map with views of other places in every batch.

A network that goes on to learn on one map of one date forgets what other sensors taught it. Here half of
each batch shows the map and the other half other places, of whatever dates there are, each only within the
altitudes it can teach. Photos of the map's own place never take part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.training.many_places import teaches, together
from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import Recipe
from nadirfix.train.altitude import TrainedAltitude, altitude_job
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.loop import Job, StepReport, train
from nadirfix.train.models.altitude import build_altitude_network

PARTS = 4  # of a batch: the map, another place, the map, another place


def place_of(texture: Path) -> str:
    """The place a texture shows: NAME.ntx and NAME_DATE.ntx show NAME."""
    return texture.stem.partition("_")[0]


def other_places(folder: Path, place: str) -> list[Path]:
    """Every texture of a folder that does not show this place, on any date."""
    found = [path for path in sorted(folder.glob("*.ntx")) if place_of(path) != place]
    if not found:
        raise SystemExit(f"{folder} has no textures (NAME.ntx, NAME_DATE.ntx) of places other than {place}")
    return found


def train_jointly(
    source: DeviceRenderer, others: Sequence[Path], recipe: Recipe, report: Callable[[StepReport], None]
) -> TrainedAltitude:
    """As ``train_altitude``, each batch shared with other places."""
    bins = AltitudeBins.from_options(recipe.bins)
    network, weights = build_altitude_network(recipe.altitude_network, bins, seed=recipe.seed)

    def job(date: DeviceRenderer, turn: int, within_m: tuple[float, float]) -> Job:
        part = part_of(recipe, turn)
        return altitude_job(date.texture, part, bins, network, date, within_m=within_m)

    jobs = []
    for turn, path in enumerate(others):
        other = DeviceRenderer(Texture.load(path), source.device)
        limits = teaches(place_of(path), other.texture, recipe)
        jobs += [job(source, turn, (0.0, float("inf"))), job(other, turn, limits)]
    whole = dataclasses.replace(together(jobs, PARTS), validate=jobs[0].validate)
    done = train(whole, recipe.altitude_training, device=source.device, report=report)
    sharp_m = sharp_altitude_m(source.texture, recipe.camera, recipe.altitude_network.width_px)
    return TrainedAltitude(network.eval(), bins, weights, done, sharp_m)


def part_of(recipe: Recipe, turn: int) -> Recipe:
    """The recipe for a part of a batch, with draws of its own."""
    training = recipe.altitude_training
    part = dataclasses.replace(training, batch=training.batch // PARTS, seed=training.seed + 1000 * turn)
    return dataclasses.replace(recipe, altitude_training=part)
