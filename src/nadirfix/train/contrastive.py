"""Contrastive training of descriptors: two views of the same place must be alike, other places must not.

One view is what a reference would show, the other what a photo might: another date of the map, moved, turned
and scaled a little. All other places of the batch are negatives, except those so near that they show the same
ground. There are no classes of a particular map, so the network also serves maps it was not trained on.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from nadirfix.geo.coverage import MapCoverage, fingerprint
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import Recipe
from nadirfix.options.training import ContrastOptions
from nadirfix.random_numbers import uniform
from nadirfix.train.data.batches import Pictures, batch_index
from nadirfix.train.data.cpu_renderer import BatchRenderer
from nadirfix.train.data.place_views import lattice_places
from nadirfix.train.device import upload
from nadirfix.train.loop import Job
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.mixvpr import descriptor

__all__ = ["DatedMap", "contrastive_job", "contrastive_loss", "covered_places"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SPACING_M = 10.0  # training places are this far apart, then moved at random


@dataclass(frozen=True, slots=True, eq=False)
class DatedMap:
    """One place at one or more dates, on the training device."""

    dates: tuple[BatchRenderer, ...]

    @property
    def texture(self) -> Texture:
        """The first date: its georeference is used for all."""
        return self.dates[0].texture


def contrastive_loss(one: Tensor, other: Tensor, negatives: Tensor, *, temperature: float) -> Tensor:
    """InfoNCE, both ways: each view must be most similar to its partner among all ``negatives``."""
    similarity = one @ other.T / temperature
    own = torch.eye(len(one), dtype=torch.bool, device=one.device)
    similarity = similarity.masked_fill(~(negatives | own), -torch.inf)
    truth = torch.arange(len(one), device=one.device)
    return (functional.cross_entropy(similarity, truth) + functional.cross_entropy(similarity.T, truth)) / 2


def contrastive_job(
    dated: DatedMap,
    recipe: Recipe,
    embedder: Embedder,
    *,
    altitude_m: float,
    places: tuple[Floats, Floats] | None = None,
) -> Job:
    """Training the embedder on one map; several maps can be trained round-robin.

    Finding a large map's places takes a while: whoever makes several jobs of one map finds them once.
    """
    training, pictures_by_date = recipe.place_training, _pictures_by_date(dated, recipe)
    places = covered_places(dated, recipe, altitude_m) if places is None else places

    def batch(step: int, _epoch: int, part: slice) -> tuple[Tensor, Tensor, Tensor]:
        index = batch_index(step, training.batch, part)
        first, second = _pair(places, index, recipe.contrast, altitude_m, training.seed)
        which = int(uniform(training.seed, "date", index[:1], 1)[0, 0] * len(pictures_by_date))
        pictures = (
            pictures_by_date[which].augmented(first, index),
            pictures_by_date[which - 1].augmented(second, index),
        )
        negatives = _negatives(first, recipe.contrast.near_m)
        return (*pictures, upload(negatives, pictures[0].device))

    return Job(
        name="contrast",
        network=embedder,
        loss=_Loss(embedder, recipe.contrast),
        classifier=[],
        batch=batch,
        validate=dict,
        epoch_views=len(places[0]),
        details=_details(dated, recipe),
    )


def _pictures_by_date(dated: DatedMap, recipe: Recipe) -> list[Pictures]:
    """What renders the network's pictures of each date."""
    options, seed = recipe.place_network, recipe.place_training.seed
    size = (options.width_px, options.height_px)
    return [
        Pictures(date, recipe.camera, size, recipe.augment, seed=seed + i)
        for i, date in enumerate(dated.dates)
    ]


class _Loss(nn.Module):
    """The contrastive loss of a batch of pairs."""

    def __init__(self, embedder: Embedder, options: ContrastOptions) -> None:
        super().__init__()
        self.embedder, self.options = embedder, options

    def forward(self, first: Tensor, second: Tensor, negatives: Tensor) -> Tensor:
        both = descriptor(self.embedder(torch.cat([first, second])).float())
        if self.options.centre:
            both = descriptor(both - both.mean(0))
        one, other = both.chunk(2)
        return contrastive_loss(one, other, negatives, temperature=self.options.temperature)


def covered_places(dated: DatedMap, recipe: Recipe, altitude_m: float) -> tuple[Floats, Floats]:
    """Places where every date covers enough of a view at any heading."""
    east, north = lattice_places(dated.texture.bounds, _SPACING_M)
    altitude = np.full(len(east), altitude_m * 1.2)
    shares = [
        coverage.valid_share(Views.level(east, north, altitude, np.full(len(east), turn)), recipe.camera)
        for coverage in (MapCoverage(date.texture) for date in dated.dates)
        for turn in (0.0, 45.0, 90.0, 135.0)
    ]
    enough = np.min(shares, axis=0) >= recipe.references.valid_share
    return east[enough], north[enough]


def _pair(
    places: tuple[Floats, Floats], index: Ints, options: ContrastOptions, altitude_m: float, seed: int
) -> tuple[Views, Views]:
    """Two views of each place: the second is moved, turned, scaled and tilted a little."""
    u = uniform(seed, "pair", index, 9)
    chosen = (u[:, 0] * len(places[0])).astype(np.int64)
    east = places[0][chosen] + _SPACING_M * (u[:, 1] - 0.5)
    north = places[1][chosen] + _SPACING_M * (u[:, 2] - 0.5)
    altitude, heading = np.full(len(index), altitude_m), 360.0 * u[:, 3]
    first = Views.level(east, north, altitude, heading)
    away, toward = options.shift_m * np.sqrt(u[:, 4]), 2 * np.pi * u[:, 5]
    turned = heading + options.turn_deg * (2 * u[:, 6] - 1)
    scaled = altitude * np.exp(np.log1p(options.scale) * (2 * u[:, 7] - 1))
    second = Views.level(east + away * np.sin(toward), north + away * np.cos(toward), scaled, turned)
    tilt = options.tilt_deg * u[:, 8]
    return first, dataclasses.replace(second, tilt_deg=tilt, tilt_toward_deg=360.0 * u[:, 5])


def _negatives(views: Views, near_m: float) -> NDArray[np.bool_]:
    gaps = np.hypot(
        np.subtract.outer(views.east_m, views.east_m), np.subtract.outer(views.north_m, views.north_m)
    )
    return np.asarray(gaps >= near_m)


def _details(dated: DatedMap, recipe: Recipe) -> dict[str, object]:
    parts = (recipe.augment, recipe.place_network, recipe.contrast)
    settings: dict[str, object] = {type(part).__name__: dataclasses.asdict(part) for part in parts}
    maps = [fingerprint(date.texture) for date in dated.dates]
    return {"maps": maps, "camera": recipe.camera.spec, "seed": recipe.seed, **settings}
