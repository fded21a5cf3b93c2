"""What an ablation trains, and how well it does on photos."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from bench.lib.joint_training import other_places, train_jointly
from bench.lib.photos import (
    altitude_scores,
    decoded,
    embed_photos,
    soft_m,
)  # fmt: skip
from bench.lib.recall import describe_references, named_rightly, recalled, top_cells
from bench.training.pretrain import print_steps
from bench.training.published import training_summary
from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.geo.views import Views
from nadirfix.options.recipe import Recipe
from nadirfix.train.altitude import train_altitude
from nadirfix.train.contrastive import DatedMap, contrastive_job
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.loop import train
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.weights import load_encoder
from nadirfix.train.place import place_sampler, train_place


def altitudes(source: DeviceRenderer, photos: list, views: Views, recipe: Recipe, given) -> tuple[dict, list]:
    """How well the altitude is estimated, trained on the map."""
    device = given.device
    if given.joint:
        trained = train_jointly(source, other_places(given.real, given.place), recipe, print_steps())
    else:
        trained = train_altitude(source.texture, recipe, device=device, renderer=source, report=print_steps())
    scores = altitude_scores(trained.network, photos, recipe.altitude_network, recipe, device)
    hard, soft = trained.bins.centers_m[scores.argmax(1)], soft_m(scores, trained.bins)
    known = zip(views.altitude_m.tolist(), hard.tolist(), soft.round(1).tolist(), strict=True)
    lines = [{"photo": i, "altitude_m": t, "hard_m": h, "soft_m": s} for i, (t, h, s) in enumerate(known)]
    found = decoded(scores, views.altitude_m, trained.bins) | training_summary(trained.report)
    return {"altitude": found | {"classes": len(trained.bins)}}, lines


def places(source: DeviceRenderer, photos: list, views: Views, recipe: Recipe, given) -> tuple[dict, list]:
    """How well places are found by cells and references, trained on the map."""
    trained = train_place(source.texture, recipe, device=given.device, renderer=source, report=print_steps())
    grid = place_sampler(source.texture, recipe).grid

    def cells(raw: torch.Tensor) -> tuple[np.ndarray, dict]:
        likely = top_cells(trained, raw, recipe)
        return likely, named_rightly(likely, views, grid)

    found, lines = searched(trained.network, source, photos, views, recipe=recipe, cells=cells)
    return {"training": training_summary(trained.report) | {"cells": len(trained.order)}, **found}, lines


def contrasts(source: DeviceRenderer, photos: list, views: Views, recipe: Recipe, given) -> tuple[dict, list]:
    """The same by descriptors alone, learned by contrast between views of the map."""
    with seeded(given.seed):
        encoder, weights = load_encoder(recipe.place_network)
        network = Embedder(encoder, recipe.place_network, weights)
    altitude_m = canonical_altitude_m(recipe.references, AltitudeBins.from_options(recipe.bins))
    job = contrastive_job(DatedMap((source,)), recipe, network, altitude_m=altitude_m)
    report = train(job, recipe.place_training, device=given.device, report=print_steps())
    found, lines = searched(network.eval(), source, photos, views, recipe=recipe, cells=None)
    return {"training": training_summary(report), **found}, lines


def searched(
    network, source: DeviceRenderer, photos: list, views: Views, *, recipe: Recipe, cells: Callable | None
) -> tuple[dict, list[dict]]:
    """What comes of the photos with their true altitude and without any."""
    known = describe_references(source, network, place_sampler(source.texture, recipe).grid, recipe)
    results, lines = {"references": len(known.views)}, []
    for name, known_m in {"true": views.altitude_m, "none": None}.items():
        raw = embed_photos(network, photos, known_m, recipe, str(source.device))
        likely, right = cells(raw) if cells else (None, {})
        found, rows = recalled(raw, views, known, likely)
        results[f"place_{name}_altitude"] = right | found
        base = [
            {"photo": i, "altitude_m": float(h), "altitude": name} for i, h in enumerate(views.altitude_m)
        ]
        lines += [{**one, **row} for one, row in zip(base, rows, strict=True)]
    return results, lines
