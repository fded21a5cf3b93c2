"""Training the place network on views of a map."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.anchor import map_anchor
from nadirfix.geo.coverage import MapCoverage, fingerprint
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import HeadOptions, Recipe
from nadirfix.train.data.batches import Pictures, Sampling, batch_index
from nadirfix.train.data.cpu_renderer import BatchRenderer, renderer_on
from nadirfix.train.data.place_views import Lattice, PlaceSampler, scales_within_bins
from nadirfix.train.device import upload
from nadirfix.train.distributed import all_gathered
from nadirfix.train.loop import Job, Report, StepReport, train
from nadirfix.train.models.heads import cosines, quality, sharpness
from nadirfix.train.models.place import PlaceNetwork, build_place_network
from nadirfix.train.models.weights import WeightsRecord

__all__ = ["TrainedPlace", "cell_probabilities", "imprint", "place_job", "place_sampler", "train_place"]

_CHUNK = 64


@dataclass(frozen=True, slots=True, eq=False)
class TrainedPlace:
    """A trained place network, which class is which cell, and how training went."""

    network: PlaceNetwork
    order: ClassOrder
    record: WeightsRecord
    report: Report


def train_place(
    texture: Texture,
    recipe: Recipe,
    *,
    order: ClassOrder | None = None,
    device: torch.device | str = "cpu",
    folder: Path | None = None,
    resume: bool = False,
    report: Callable[[StepReport], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    renderer: BatchRenderer | None = None,
) -> TrainedPlace:
    """Train the network that tells the cells of a map apart; every cell with training views is a class."""
    sampler = place_sampler(texture, recipe)
    order = order or sampler.order()
    sampler.use(order)
    network, record = build_place_network(recipe.place_network, recipe.head, order, seed=recipe.seed)
    renderer = renderer or renderer_on(texture, device)
    imprint(network, sampler, recipe, renderer)
    job = place_job(recipe, network, sampler, renderer, _details(texture, recipe, order))
    done = train(
        job, recipe.place_training, device=device, folder=folder, resume=resume, report=report,
        should_stop=should_stop,
    )  # fmt: skip
    return TrainedPlace(network.eval(), order, record, done)


def place_sampler(texture: Texture, recipe: Recipe) -> PlaceSampler:
    """The views the recipe trains on; also tells which cells have any."""
    training, references = recipe.place_training, recipe.references
    bins = AltitudeBins.from_options(recipe.bins)
    on_lattice = training.schedule == "plateau"
    sampling = Sampling(
        camera=recipe.camera,
        seed=training.seed,
        valid_share=references.valid_share,
        tilt_deg=recipe.augment.tilt_deg,
    )
    return PlaceSampler(
        MapCoverage(texture),
        sampling,
        Grid.from_options(recipe.grid, anchor_m=map_anchor(texture)),
        altitude_m=canonical_altitude_m(references, bins),
        scales=np.ones(1) if on_lattice else scales_within_bins(bins),
        lattice=Lattice(references.stride_m, references.headings) if on_lattice else None,
    )


@torch.no_grad()
def imprint(network: PlaceNetwork, sampler: PlaceSampler, recipe: Recipe, renderer: BatchRenderer) -> None:
    """Initialise each cell's prototype with the mean descriptor of its views, if the recipe asks for it.

    A pretrained embedder already separates places; random prototypes would first have to learn where its
    descriptors lie.
    """
    each, options = recipe.place_training.imprint_views, recipe.place_network
    if each <= 0:
        return
    size = (options.width_px, options.height_px)
    pictures = Pictures(renderer, recipe.camera, size, recipe.augment, seed=recipe.place_training.seed)
    network.to(renderer.device).eval()
    for group, prototypes in enumerate(network.heads.prototypes):
        total = torch.zeros_like(prototypes)
        label = np.repeat(np.arange(len(prototypes)), each)
        for start in range(0, len(label), _CHUNK):
            index = np.arange(start, min(start + _CHUNK, len(label)))
            views, labels = sampler.draw(index, group, label=label[index])
            descriptors = network.describe(pictures.rendered(views)).float()
            total.index_add_(0, torch.from_numpy(labels).to(renderer.device), descriptors)
        prototypes.copy_(functional.normalize(total, dim=1))


class _Loss(nn.Module):
    """The head's loss over the cells of one group.

    The quality cues of the margin are relative to the whole batch, also where several processes share it.
    """

    def __init__(self, network: PlaceNetwork, head: HeadOptions) -> None:
        super().__init__()
        self.network, self.head = network, head

    def forward(self, pictures: Tensor, labels: Tensor, group: int) -> Tensor:
        embeddings = self.network.embed(pictures)
        lengths = embeddings.detach().double().norm(dim=-1)
        cues, own = all_gathered(torch.stack([lengths, sharpness(pictures).double()], dim=1))
        gamma = quality(cues[:, :1], cues[:, 1], self.head)[own].float()
        return self.network.heads.loss(embeddings, labels, gamma, group=group)


def place_job(
    recipe: Recipe,
    network: PlaceNetwork,
    sampler: PlaceSampler,
    renderer: BatchRenderer,
    details: dict[str, Any],
) -> Job:
    """What the loop needs to train the place network on a map."""
    options, training, groups = recipe.place_network, recipe.place_training, len(network.heads.prototypes)
    size = (options.width_px, options.height_px)
    pictures = Pictures(renderer, recipe.camera, size, recipe.augment, seed=training.seed)

    def batch(step: int, epoch: int, part: slice) -> tuple[Tensor, Tensor, int]:
        index, group = batch_index(step, training.batch, part), epoch % groups
        views, labels = sampler.draw(index, group)
        return pictures.augmented(views, index), upload(labels, renderer.device), group

    headings = recipe.references.headings
    return Job(
        name="place",
        network=network,
        loss=_Loss(network, recipe.head),
        classifier=list(network.heads.parameters()),
        batch=batch,
        validate=lambda: _validate(network, sampler, pictures, recipe, groups),
        epoch_views=headings * max(1, sum(sampler.places(g) for g in range(groups)) // groups),
        epochs_per_cycle=groups,
        details=details,
    )


def _validate(
    network: PlaceNetwork, sampler: PlaceSampler, pictures: Pictures, recipe: Recipe, groups: int
) -> dict[str, float]:
    """How often the right cell comes first within its group, and over all groups, on views held out."""
    within, overall, count = 0, 0, 0
    sizes = [len(p) for p in network.heads.prototypes]
    for start in range(0, recipe.place_training.validation_views, _CHUNK):
        group = (start // _CHUNK) % groups
        views, labels = sampler.draw(np.arange(start, start + _CHUNK), group, validation=True)
        shares = cell_probabilities(network, network.embed(pictures.rendered(views)), recipe.head)
        truth = torch.from_numpy(labels).to(shares[0].device)
        within += int((shares[group].argmax(1) == truth).sum())
        overall += int((torch.cat(shares, 1).argmax(1) == truth + sum(sizes[:group])).sum())
        count += len(labels)
    return {"cell_accuracy": 100 * overall / count, "group_accuracy": 100 * within / count}


def cell_probabilities(network: PlaceNetwork, embeddings: Tensor, head: HeadOptions) -> list[Tensor]:
    """For each group, the probability of each of its cells."""
    wide = embeddings.float()
    with torch.autocast(wide.device.type, enabled=False):
        scores = [
            wide @ p.T if head.kind == "ce" else head.scale * cosines(wide, p)
            for p in network.heads.prototypes
        ]
        return [score.softmax(1) for score in scores]


def _details(texture: Texture, recipe: Recipe, order: ClassOrder) -> dict[str, Any]:
    """What a checkpoint belongs to: everything that changes what is learned."""
    parts = (recipe.bins, recipe.grid, recipe.references, recipe.head, recipe.augment, recipe.place_network)
    settings = {type(part).__name__: dataclasses.asdict(part) for part in parts}
    known = {"map": fingerprint(texture), "camera": recipe.camera.spec, "seed": recipe.seed}
    return {**known, "cells": order.to_dict(), **settings}
