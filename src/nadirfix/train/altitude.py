"""Training the altitude network on views of a map."""

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

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.geo.coverage import MapCoverage, fingerprint, sharp_altitude_m
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import NetworkOptions, Recipe
from nadirfix.train.data.altitude_views import AltitudeSampler
from nadirfix.train.data.batches import Pictures, Sampling, batch_index
from nadirfix.train.data.cpu_renderer import BatchRenderer, renderer_on
from nadirfix.train.data.spectrum import log_spectrum
from nadirfix.train.device import upload
from nadirfix.train.loop import Job, Report, StepReport, train
from nadirfix.train.models.altitude import AltitudeNetwork, build_altitude_network
from nadirfix.train.models.weights import WeightsRecord

__all__ = ["TrainedAltitude", "altitude_errors", "altitude_input", "altitude_job", "train_altitude"]

_CHUNK = 64


@dataclass(frozen=True, slots=True, eq=False)
class TrainedAltitude:
    """A trained altitude network, what its scores mean, and how training went."""

    network: AltitudeNetwork
    bins: AltitudeBins
    record: WeightsRecord
    report: Report
    sharp_altitude_m: float  # below it the network may have learned this map's blur


def train_altitude(
    texture: Texture,
    recipe: Recipe,
    *,
    device: torch.device | str = "cpu",
    folder: Path | None = None,
    resume: bool = False,
    report: Callable[[StepReport], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    renderer: BatchRenderer | None = None,
) -> TrainedAltitude:
    """Train the network that estimates the altitude of photos, on views of the map."""
    bins = AltitudeBins.from_options(recipe.bins)
    network, record = build_altitude_network(recipe.altitude_network, bins, seed=recipe.seed)
    job = altitude_job(texture, recipe, bins, network, renderer or renderer_on(texture, device))
    done = train(
        job, recipe.altitude_training, device=device, folder=folder, resume=resume, report=report,
        should_stop=should_stop,
    )  # fmt: skip
    sharp_m = sharp_altitude_m(texture, recipe.camera, recipe.altitude_network.width_px)
    return TrainedAltitude(network.eval(), bins, record, done, sharp_m)


def altitude_input(pictures: Tensor, options: NetworkOptions) -> Tensor:
    """What the network is fed: the pictures (0-255) or their spectra."""
    return log_spectrum(pictures, options) if options.input == "spectrum" else pictures


def altitude_errors(scores: Tensor, altitudes_m: Tensor, centers_m: Tensor) -> dict[str, float]:
    """Mean absolute error in metres, and percentages within 25, 50 and 100 m."""
    error = (centers_m[scores.argmax(1)] - altitudes_m).abs()
    shares = {f"within_{d}_m": 100 * float((error < d).double().mean()) for d in (25, 50, 100)}
    return {"e_avg_m": float(error.mean()), **shares}


class _Loss(nn.Module):
    """Cross entropy over altitude classes."""

    def __init__(self, network: AltitudeNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(self.network(inputs).float(), labels)


def altitude_job(
    texture: Texture,
    recipe: Recipe,
    bins: AltitudeBins,
    network: AltitudeNetwork,
    renderer: BatchRenderer,
    *,
    within_m: tuple[float, float] = (0.0, np.inf),
) -> Job:
    """Training a network on one map; several maps can be trained round-robin, each within its altitudes."""
    options, training = recipe.altitude_network, recipe.altitude_training
    sampler = _sampler(texture, recipe, bins, within_m)
    size = (options.width_px, options.height_px)
    pictures = Pictures(renderer, recipe.camera, size, recipe.augment, seed=training.seed)

    def batch(step: int, _epoch: int, part: slice) -> tuple[Tensor, Tensor]:
        index = batch_index(step, training.batch, part)
        views, labels = sampler.draw(index)
        inputs = altitude_input(pictures.augmented(views, index), options)
        return inputs, upload(labels, renderer.device)

    return Job(
        name="altitude",
        network=network,
        loss=_Loss(network),
        classifier=list(network.prototypes.parameters()),
        batch=batch,
        validate=lambda: _validate(network, sampler, pictures, recipe, bins),
        epoch_views=training.epoch_views,
        details=_details(texture, recipe),
    )


def _sampler(
    texture: Texture, recipe: Recipe, bins: AltitudeBins, within_m: tuple[float, float]
) -> AltitudeSampler:
    training = recipe.altitude_training
    sampling = Sampling(
        camera=recipe.camera,
        seed=training.seed,
        valid_share=training.valid_share,
        tilt_deg=recipe.augment.tilt_deg,
    )
    sampler = AltitudeSampler(
        MapCoverage(texture), sampling, bins, step_m=training.altitude_step_m, within_m=within_m
    )
    sampler.check()
    return sampler


def _validate(
    network: AltitudeNetwork, sampler: AltitudeSampler, pictures: Pictures, recipe: Recipe, bins: AltitudeBins
) -> dict[str, float]:
    """The measures of METHOD §6 on views held out from training."""
    scores, truth = [], []
    for start in range(0, recipe.altitude_training.validation_views, _CHUNK):
        views, _ = sampler.draw(np.arange(start, start + _CHUNK), validation=True)
        inputs = altitude_input(pictures.rendered(views), recipe.altitude_network)
        scores.append(network(inputs).float().cpu())
        truth.append(torch.from_numpy(views.altitude_m))
    return altitude_errors(torch.cat(scores), torch.cat(truth), torch.from_numpy(bins.centers_m))


def _details(texture: Texture, recipe: Recipe) -> dict[str, Any]:
    """What a checkpoint belongs to: everything that changes what is learned."""
    parts = (recipe.bins, recipe.augment, recipe.altitude_network)
    settings = {type(part).__name__: dataclasses.asdict(part) for part in parts}
    return {"map": fingerprint(texture), "camera": recipe.camera.spec, "seed": recipe.seed, **settings}
