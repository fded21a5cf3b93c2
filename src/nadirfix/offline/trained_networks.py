"""The two networks of a bundle: trained on the map, or as they start; needs torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.bundle import layout as parts
from nadirfix.files import Progress, atomic_file
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.grid import ClassOrder
from nadirfix.offline.compress import store_float16
from nadirfix.offline.describe import save_array
from nadirfix.offline.manifest import portable_name
from nadirfix.offline.shipped_networks import (
    fit_altitude,
    install_altitude,
    install_place,
    shipped_altitude,
    shipped_place,
    trains,
)
from nadirfix.offline.workdir import BuildContext
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.altitude import train_altitude
from nadirfix.train.data.cpu_renderer import BatchRenderer, renderer_on
from nadirfix.train.export import export_network
from nadirfix.train.loop import Report, StepReport
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import preprocessing
from nadirfix.train.models.place import PlaceNetwork, build_place_network
from nadirfix.train.models.weights import WeightsRecord
from nadirfix.train.place import place_sampler, train_place

__all__ = ["TrainedNetworks", "network_card"]


class TrainedNetworks:
    """Makes both networks of a bundle; each leaves a note when it is done."""

    def __init__(self, context: BuildContext, *, train: bool, device: str) -> None:
        self.context, self.train, self.device = context, train, _device(device)
        self.workdir, self.texture, self.recipe = context.workdir, context.texture, context.recipe

    def cells_to_learn(self) -> set[tuple[int, int]] | None:
        """The cells that can be learned; None where nothing is, and any cell will do."""
        if not (self.train and trains(self.recipe.place_training)):
            return None
        return set(place_sampler(self.texture, self.recipe).order().classes())

    def altitude(self) -> dict[str, Any]:
        """Make the altitude network, unless it is there; its card for the manifest."""
        return self.workdir.note("altitude.json") or self._make_altitude()

    def place(self, order: ClassOrder) -> dict[str, Any]:
        """Make the place network, unless it is there; its card for the manifest."""
        return self.workdir.note("place.json") or self._make_place(order)

    def _make_altitude(self) -> dict[str, Any]:
        if self.train and trains(self.recipe.altitude_training):
            return self._train_altitude()
        if shipped := shipped_altitude(self.recipe):
            return install_altitude(shipped, self.context)
        options, bins = self.recipe.altitude_network, AltitudeBins.from_options(self.recipe.bins)
        network, record = build_altitude_network(options, bins, seed=self.recipe.seed)
        # It was not trained on classes: its embedder alone goes into the bundle.
        _export(network.embedder, self.workdir.part(parts.ALTITUDE), options)
        card = network_card(options, record, None)
        return self.workdir.write_note("altitude.json", {**card, **fit_altitude(self.context)})

    def _train_altitude(self) -> dict[str, Any]:
        """Train a network that names classes by itself, and write it."""
        options = self.recipe.altitude_network
        done = train_altitude(self.texture, self.recipe, **self._training("altitude"))
        _save_weights(done.network, self.workdir.part(parts.ALTITUDE_WEIGHTS))
        _export(done.network, self.workdir.part(parts.ALTITUDE), options)
        sharp_m = sharp_altitude_m(self.texture, self.recipe.camera, options.width_px)
        card = network_card(options, done.record, done.report)
        return self.workdir.write_note("altitude.json", {**card, "sharp_altitude_m": sharp_m})

    def _make_place(self, order: ClassOrder) -> dict[str, Any]:
        options, report = self.recipe.place_network, None
        learns = self.train and trains(self.recipe.place_training)
        if not learns and (shipped := shipped_place(self.recipe)):
            return install_place(shipped, self.workdir)
        if learns:
            done = train_place(self.texture, self.recipe, order=order, **self._training("place"))
            network, record, report = done.network, done.record, done.report
            _save_weights(network, self.workdir.part(parts.PLACE_WEIGHTS))
            _save_prototypes(network, self.workdir.part(parts.PROTOTYPES))
        else:
            network, record = build_place_network(options, self.recipe.head, order, seed=self.recipe.seed)
        _export(network.embedder, self.workdir.part(parts.PLACE), options)
        card = {**network_card(options, record, report), "dimensions": network.embedder.dimensions}
        return self.workdir.write_note("place.json", card)

    def _training(self, name: str) -> dict[str, Any]:
        """How to train: where checkpoints go, from the last one on, and where progress is reported."""
        return {
            "device": self.device,
            "folder": self.workdir.folder / name,
            "resume": True,
            "report": _reporter(self.context.progress),
            "renderer": self._renderer,
        }

    @cached_property
    def _renderer(self) -> BatchRenderer:
        return renderer_on(self.texture, self.device)


def _device(name: str) -> str:
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _reporter(progress: Progress) -> Callable[[StepReport], None]:
    """Training steps as progress; where the end cannot be known, it is always one step ahead."""

    def report(now: StepReport) -> None:
        total = round(now.step / now.share_done) if now.share_done else now.step + 1
        progress(f"training the {now.name} network", now.step, total)

    return report


def _export(network: nn.Module, path: Path, options: NetworkOptions) -> None:
    export_network(network, path, input_shape=(3, options.height_px, options.width_px))
    store_float16(path)


def _save_weights(network: nn.Module, path: Path) -> None:
    from safetensors.torch import save

    tensors = {name: _float16(value.detach().cpu()) for name, value in network.state_dict().items()}
    with atomic_file(path) as scratch:
        scratch.write_bytes(save(tensors))


def _float16(value: torch.Tensor) -> torch.Tensor:
    """Matrices in float16, as the network file has them; statistics and scales keep their digits."""
    return value.half().contiguous() if value.dim() > 1 and value.is_floating_point() else value.contiguous()


def _save_prototypes(network: PlaceNetwork, path: Path) -> None:
    tables = [p.detach().cpu().numpy() for p in network.heads.prototypes]
    save_array(path, np.concatenate(tables).astype(np.float16))


def network_card(options: NetworkOptions, record: WeightsRecord, report: Report | None) -> dict[str, Any]:
    """A network's entry in the manifest; nothing about time: equal builds have equal manifests."""
    weights = record.to_dict()
    trained = report and {"steps": report.steps, "loss": report.loss, "validation": report.validation}
    return {
        "weights": {**weights, "source": portable_name(weights["source"])},
        "preprocessing": preprocessing(options, record),
        "training": trained,
    }
