"""Networks for comparing two ways of running one method: trained, or random with the map's statistics."""

from __future__ import annotations

import argparse
import copy
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import Bundle
from nadirfix.offline import build_bundle
from nadirfix.offline import trained_networks as networks
from nadirfix.offline.altitude_fit import fit_directions
from nadirfix.offline.describe import ReferenceRenderer
from nadirfix.offline.int8 import altitude_examples, place_examples
from nadirfix.options.recipe import RECIPES, QuantiseOptions, Recipe
from nadirfix.options.training import TrainOptions
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.place import build_place_network

#: Recipes with the networks of the publication, or nearly.
PUBLISHED = ("paper", "stage3")
NO_TRAINING = TrainOptions(schedule="budget")
#: What each block of a random EfficientNet adds to its input.
DAMP = 0.25


def built_with(made: dict[str, Any], recipe: Recipe, world: Path, target: Path) -> Bundle:
    """A bundle with these networks as if they had learned here: classes of altitude are the network's own."""

    def learned(*_given: object, **_settings: object) -> SimpleNamespace:
        return SimpleNamespace(network=copy.deepcopy(made["altitude"]), record=made["record"], report=None)

    def ready(*_given: object, **_settings: object) -> tuple[torch.nn.Module, Any]:
        return copy.deepcopy(made["place"]), made["record"]

    with (
        mock.patch.object(networks, "train_altitude", learned),
        mock.patch.object(networks, "build_place_network", ready),
        mock.patch.object(networks, "renderer_on"),  # nothing is learned from the map
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
    sampled = dataclasses.replace(recipe, quantise=QuantiseOptions(views=160))
    size = recipe.place_network.width_px, recipe.place_network.height_px
    renderer = ReferenceRenderer(rough.texture, rough.canonical, rough.references, size)
    bins = AltitudeBins.from_options(recipe.bins)
    altitude, note = build_altitude_network(recipe.altitude_network, bins, seed=recipe.seed)
    place, _ = build_place_network(recipe.place_network, recipe.head, rough.order, seed=recipe.seed)
    damp(place.embedder, given.damp)
    few = dataclasses.replace(recipe, quantise=QuantiseOptions(views=32))
    take_statistics(place.embedder, place_examples(renderer, few))
    spectra, labels = labelled(sampled, renderer, bins)
    take_statistics(altitude.embedder, spectra[::5])
    vectors = np.concatenate([altitude.embed(torch.from_numpy(s)[None]).numpy() for s in spectra])
    rows = fit_directions(vectors / np.abs(vectors).mean(), labels, len(bins), penalty=1.0)
    altitude.prototypes.weight.copy_(torch.from_numpy(rows[:, :-1]))
    return {"altitude": altitude, "place": place, "record": note}


def labelled(
    recipe: Recipe, renderer: ReferenceRenderer, bins: AltitudeBins
) -> tuple[np.ndarray, np.ndarray]:
    from nadirfix.offline.altitude_fit import draw_views

    options = dataclasses.replace(recipe.fit, views=recipe.quantise.views)
    views = draw_views(renderer.texture, recipe.camera, bins, options)
    return altitude_examples(renderer, recipe), bins.indices_of(views.altitude_m)


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
