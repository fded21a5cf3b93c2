"""The altitude network: from the spectrum of a photo to a score for every altitude class."""

from __future__ import annotations

from torch import Tensor, nn

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder
from nadirfix.train.models.weights import WeightsRecord, load_encoder

__all__ = ["AltitudeNetwork", "build_altitude_network"]


class AltitudeNetwork(nn.Module):
    """A score for every altitude class: one prototype each, no bias, compared with the raw embedding."""

    def __init__(self, embedder: Embedder, classes: int) -> None:
        super().__init__()
        self.embedder = embedder
        self.prototypes = nn.Linear(embedder.dimensions, classes, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """A score for every altitude class; their softmax is the probability."""
        scores: Tensor = self.prototypes(self.embedder(inputs))
        return scores

    def embed(self, inputs: Tensor) -> Tensor:
        """The raw embedding of each input."""
        embedding: Tensor = self.embedder(inputs)
        return embedding

    def describe(self, inputs: Tensor) -> Tensor:
        """The embedding of each input at unit length."""
        return self.embedder.describe(inputs)


def build_altitude_network(
    options: NetworkOptions, bins: AltitudeBins, *, seed: int
) -> tuple[AltitudeNetwork, WeightsRecord]:
    """An altitude network ready to be trained, and where its encoder's weights came from."""
    with seeded(seed):
        encoder, record = load_encoder(options)
        network = AltitudeNetwork(Embedder(encoder, options, record), len(bins))
    return network, load_embedder(network.embedder, options.start, record)
