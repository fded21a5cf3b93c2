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
from nadirfix.bundle.recipe import portable_name
from nadirfix.files import Progress, atomic_file
from nadirfix.geo.coverage import sharp_altitude_m
from nadirfix.geo.grid import ClassOrder
from nadirfix.offline.compress import store_half
from nadirfix.offline.describe import save_array
from nadirfix.offline.networks import (
    Surroundings,
    fit_altitude,
    learns,
    put_altitude,
    put_place,
    shipped_altitude,
    shipped_place,
)
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.altitude import train_altitude
from nadirfix.train.data.cpu_renderer import ViewSource, source_on
from nadirfix.train.export import export_network
from nadirfix.train.loop import Report, StepReport
from nadirfix.train.models.altitude import build_altitude_network
from nadirfix.train.models.embedder import preprocessing
from nadirfix.train.models.place import PlaceNetwork, build_place_network
from nadirfix.train.models.weights import WeightsRecord
from nadirfix.train.place import place_sampler, train_place

__all__ = ["Networks", "network_facts"]


class Networks:
    """Makes both networks of a bundle; each leaves a note when it is done."""

    def __init__(self, ground: Surroundings, *, train: bool, device: str) -> None:
        self.ground, self.train, self.device = ground, train, _device(device)
        self.work, self.texture, self.recipe = ground.work, ground.texture, ground.recipe

    def cells_to_learn(self) -> set[tuple[int, int]] | None:
        """The cells that can be learned; None where nothing is, and any cell will do."""
        if not (self.train and learns(self.recipe.place_training)):
            return None
        return set(place_sampler(self.texture, self.recipe).order().classes())

    def altitude(self) -> dict[str, Any]:
        """Make the altitude network, unless it is there; what there is to say about it."""
        return self.work.note("altitude.json") or self._make_altitude()

    def place(self, order: ClassOrder) -> dict[str, Any]:
        """Make the place network, unless it is there; what there is to say about it."""
        return self.work.note("place.json") or self._make_place(order)

    def _make_altitude(self) -> dict[str, Any]:
        if self.train and learns(self.recipe.altitude_training):
            return self._learn_altitude()
        if shipped := shipped_altitude(self.recipe):
            return put_altitude(shipped, self.ground)
        options, bins = self.recipe.altitude_network, AltitudeBins.from_options(self.recipe.bins)
        network, record = build_altitude_network(options, bins, seed=self.recipe.seed)
        # Nobody taught it classes: its embedder alone goes into the bundle.
        _export(network.embedder, self.work.part(parts.ALTITUDE), options)
        facts = network_facts(options, record, None)
        return self.work.write_note("altitude.json", {**facts, **fit_altitude(self.ground)})

    def _learn_altitude(self) -> dict[str, Any]:
        """Train a network that names classes by itself, and write it."""
        options = self.recipe.altitude_network
        done = train_altitude(self.texture, self.recipe, **self._training("altitude"))
        _save_weights(done.network, self.work.part(parts.ALTITUDE_WEIGHTS))
        _export(done.network, self.work.part(parts.ALTITUDE), options)
        sharp_m = sharp_altitude_m(self.texture, self.recipe.camera, options.width_px)
        facts = network_facts(options, done.record, done.report)
        return self.work.write_note("altitude.json", {**facts, "sharp_altitude_m": sharp_m})

    def _make_place(self, order: ClassOrder) -> dict[str, Any]:
        options, report = self.recipe.place_network, None
        learned = self.train and learns(self.recipe.place_training)
        if not learned and (shipped := shipped_place(self.recipe)):
            return put_place(shipped, self.work)
        if learned:
            done = train_place(self.texture, self.recipe, order=order, **self._training("place"))
            network, record, report = done.network, done.record, done.report
            _save_weights(network, self.work.part(parts.PLACE_WEIGHTS))
            _save_prototypes(network, self.work.part(parts.PROTOTYPES))
        else:
            network, record = build_place_network(options, self.recipe.head, order, seed=self.recipe.seed)
        _export(network.embedder, self.work.part(parts.PLACE), options)
        said = {**network_facts(options, record, report), "dimensions": network.embedder.dimensions}
        return self.work.write_note("place.json", said)

    def _training(self, name: str) -> dict[str, Any]:
        """How to train: where checkpoints go, going on from the last one, whom to tell."""
        return {
            "device": self.device,
            "folder": self.work.folder / name,
            "resume": True,
            "report": _teller(self.ground.progress),
            "on_device": self._on_device,
        }

    @cached_property
    def _on_device(self) -> ViewSource:
        return source_on(self.texture, self.device)


def _device(name: str) -> str:
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def _teller(progress: Progress) -> Callable[[StepReport], None]:
    """Training steps as progress; where the end cannot be known, it is always one step ahead."""

    def tell(now: StepReport) -> None:
        total = round(now.step / now.share_done) if now.share_done else now.step + 1
        progress(f"training the {now.name} network", now.step, total)

    return tell


def _export(network: nn.Module, path: Path, options: NetworkOptions) -> None:
    export_network(network, path, input_shape=(3, options.height_px, options.width_px))
    store_half(path)


def _save_weights(network: nn.Module, path: Path) -> None:
    from safetensors.torch import save

    tensors = {name: _half(value.detach().cpu()) for name, value in network.state_dict().items()}
    with atomic_file(path) as scratch:
        scratch.write_bytes(save(tensors))


def _half(value: torch.Tensor) -> torch.Tensor:
    """Matrices in half precision, as the network file has them; statistics and factors keep their digits."""
    return value.half().contiguous() if value.dim() > 1 and value.is_floating_point() else value.contiguous()


def _save_prototypes(network: PlaceNetwork, path: Path) -> None:
    tables = [p.detach().cpu().numpy() for p in network.heads.prototypes]
    save_array(path, np.concatenate(tables).astype(np.float16))


def network_facts(options: NetworkOptions, record: WeightsRecord, report: Report | None) -> dict[str, Any]:
    """What the manifest says of a network; nothing about time: equal builds have equal manifests."""
    weights = record.to_dict()
    trained = report and {"steps": report.steps, "loss": report.loss, "validation": report.validation}
    return {
        "weights": {**weights, "source": portable_name(weights["source"])},
        "preprocessing": preprocessing(options, record),
        "training": trained,
    }
