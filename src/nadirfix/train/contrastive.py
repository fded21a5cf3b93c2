"""Learning to describe places without naming them: two looks at one place must agree.

One look is what a reference would show, the other what a photo might: another date of the map, moved, turned
and scaled a little. All other places of the batch are what it must not be taken for, except those so near
that they show the same ground. Nothing about a particular map is learned by heart, so the network serves maps
it has never seen.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from nadirfix.geo.coverage import Ground, fingerprint
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.options.recipe import Recipe
from nadirfix.options.training import ContrastOptions
from nadirfix.random_numbers import uniform
from nadirfix.train.data.batches import Pictures, batch_index
from nadirfix.train.data.cpu_renderer import ViewSource
from nadirfix.train.data.place_views import lattice_places
from nadirfix.train.device import upload
from nadirfix.train.loop import Job
from nadirfix.train.models.embedder import Embedder
from nadirfix.train.models.mixvpr import descriptor

__all__ = ["DatedMap", "contrast_job", "contrast_loss", "shown_places"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SPACING_M = 10.0  # places to look at are this far apart, then moved


@dataclass(frozen=True, slots=True, eq=False)
class DatedMap:
    """One place at one or more dates, on the training device."""

    dates: tuple[ViewSource, ...]

    @property
    def texture(self) -> Texture:
        """The first date: it says where the map lies."""
        return self.dates[0].texture


def contrast_loss(one: Tensor, other: Tensor, far: Tensor, *, temperature: float) -> Tensor:
    """How badly each look finds its partner among all looks at places far from it, both ways."""
    alike = one @ other.T / temperature
    own = torch.eye(len(one), dtype=torch.bool, device=one.device)
    alike = alike.masked_fill(~(far | own), -torch.inf)
    truth = torch.arange(len(one), device=one.device)
    return (functional.cross_entropy(alike, truth) + functional.cross_entropy(alike.T, truth)) / 2


def contrast_job(
    dated: DatedMap,
    recipe: Recipe,
    embedder: Embedder,
    *,
    altitude_m: float,
    places: tuple[Floats, Floats] | None = None,
) -> Job:
    """Training the embedder on one map; jobs of several maps can take turns.

    Finding a large map's places takes a while: whoever makes several jobs of one map finds them once.
    """
    options, training = recipe.place_network, recipe.place_training
    size = (options.width_px, options.height_px)
    looks = [
        Pictures(date, recipe.camera, size, recipe.augment, seed=training.seed + i)
        for i, date in enumerate(dated.dates)
    ]
    places = shown_places(dated, recipe, altitude_m) if places is None else places

    def batch(step: int, _epoch: int, part: slice) -> tuple[Tensor, Tensor, Tensor]:
        index = batch_index(step, training.batch, part)
        first, second = _pair(places, index, recipe.contrast, altitude_m, training.seed)
        which = int(uniform(training.seed, "date", index[:1], 1)[0, 0] * len(looks))
        pictures = looks[which].changed(first, index), looks[which - 1].changed(second, index)
        far = _far(first, recipe.contrast.near_m)
        return (*pictures, upload(far, pictures[0].device))

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


class _Loss(nn.Module):
    """The contrastive loss of a batch of pairs."""

    def __init__(self, embedder: Embedder, options: ContrastOptions) -> None:
        super().__init__()
        self.embedder, self.options = embedder, options

    def forward(self, first: Tensor, second: Tensor, far: Tensor) -> Tensor:
        both = descriptor(self.embedder(torch.cat([first, second])).float())
        if self.options.centre:
            both = descriptor(both - both.mean(0))
        one, other = both.chunk(2)
        return contrast_loss(one, other, far, temperature=self.options.temperature)


def shown_places(dated: DatedMap, recipe: Recipe, altitude_m: float) -> tuple[Floats, Floats]:
    """Where every date shows enough ground, whichever way one turns: a look past an edge teaches nothing."""
    east, north = lattice_places(dated.texture.bounds, _SPACING_M)
    altitude = np.full(len(east), altitude_m * 1.2)
    shares = [
        ground.valid_share(Views.level(east, north, altitude, np.full(len(east), turn)), recipe.camera)
        for ground in (Ground(date.texture) for date in dated.dates)
        for turn in (0.0, 45.0, 90.0, 135.0)
    ]
    kept = np.min(shares, axis=0) >= recipe.references.valid_share
    return east[kept], north[kept]


def _pair(
    places: tuple[Floats, Floats], index: Ints, options: ContrastOptions, altitude_m: float, seed: int
) -> tuple[Views, Views]:
    """Two looks at each place: the second is moved, turned, scaled and leans a little."""
    u = uniform(seed, "pair", index, 9)
    spot = (u[:, 0] * len(places[0])).astype(np.int64)
    east = places[0][spot] + _SPACING_M * (u[:, 1] - 0.5)
    north = places[1][spot] + _SPACING_M * (u[:, 2] - 0.5)
    altitude, heading = np.full(len(index), altitude_m), 360.0 * u[:, 3]
    first = Views.level(east, north, altitude, heading)
    away, toward = options.shift_m * np.sqrt(u[:, 4]), 2 * np.pi * u[:, 5]
    turned = heading + options.turn_deg * (2 * u[:, 6] - 1)
    scaled = altitude * np.exp(np.log1p(options.scale) * (2 * u[:, 7] - 1))
    second = Views.level(east + away * np.sin(toward), north + away * np.cos(toward), scaled, turned)
    tilt = options.tilt_deg * u[:, 8]
    return first, dataclasses.replace(second, tilt_deg=tilt, tilt_toward_deg=360.0 * u[:, 5])


def _far(views: Views, near_m: float) -> NDArray[np.bool_]:
    gaps = np.hypot(
        np.subtract.outer(views.east_m, views.east_m), np.subtract.outer(views.north_m, views.north_m)
    )
    return np.asarray(gaps >= near_m)


def _details(dated: DatedMap, recipe: Recipe) -> dict[str, object]:
    parts = (recipe.augment, recipe.place_network, recipe.contrast)
    settings: dict[str, object] = {type(part).__name__: dataclasses.asdict(part) for part in parts}
    maps = [fingerprint(date.texture) for date in dated.dates]
    return {"maps": maps, "camera": recipe.camera.spec, "seed": recipe.seed, **settings}
