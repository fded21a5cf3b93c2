"""What both networks share: a picture (or its spectrum) becomes one vector (ADR 3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from nadirfix.image.spectrum import spectrum_norm
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.models.aggregators import build_aggregator
from nadirfix.train.models.mixvpr import descriptor
from nadirfix.train.models.weights import WeightsRecord

__all__ = ["Embedder", "preprocessing", "seeded"]


class Embedder(nn.Module):
    """Input normalisation, encoder and aggregator: part of every network, and exported with it.

    Takes pictures in 0-255 or log spectra, at the network's size, channels first. The normalisation is
    inside, so that nobody can forget it or use another one.
    """

    def __init__(self, encoder: nn.Module, options: NetworkOptions, record: WeightsRecord) -> None:
        super().__init__()
        mean, scale = _norm(options, record)
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1))
        self.register_buffer("scale", torch.tensor(scale).view(3, 1, 1))
        self.encoder = encoder
        self.aggregator = build_aggregator(options)
        self.dimensions = self.aggregator.dimensions

    def forward(self, inputs: Tensor) -> Tensor:
        """The raw embedding of each picture: its length is a measure of quality."""
        normed = (inputs - self.get_buffer("mean")) / self.get_buffer("scale")
        embedding: Tensor = self.aggregator(self.encoder(normed))
        return embedding

    def describe(self, inputs: Tensor) -> Tensor:
        """The unit descriptor of each picture: what references are compared by."""
        return descriptor(self(inputs))


def preprocessing(options: NetworkOptions, record: WeightsRecord) -> dict[str, Any]:
    """What is done to a picture before the network, in the form a manifest carries."""
    mean, scale = _norm(options, record)
    return {
        "input": options.input,
        "width_px": options.width_px,
        "height_px": options.height_px,
        "channels": "RGB",
        "intensity": options.intensity if options.input == "spectrum" else "bytes",
        "log_base": options.log_base if options.input == "spectrum" else None,
        "mean": mean,
        "scale": scale,
        "normalised_by": "network",
    }


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Random numbers from this seed inside, and nothing changed outside."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _norm(options: NetworkOptions, record: WeightsRecord) -> tuple[list[float], list[float]]:
    """Mean and deviation per channel, in the unit the network is fed."""
    if options.input == "spectrum":
        mean, scale = spectrum_norm(options)
        return [mean] * 3, [scale] * 3
    return [255.0 * v for v in record.mean], [255.0 * v for v in record.std]
