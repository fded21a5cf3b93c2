"""The place network: from a photo at canonical scale to a descriptor and a score for every cell."""

from __future__ import annotations

from torch import Tensor, nn

from nadirfix.geo.grid import ClassOrder
from nadirfix.options.recipe import HeadOptions, NetworkOptions
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder
from nadirfix.train.models.heads import GroupHeads
from nadirfix.train.models.weights import WeightsRecord, load_encoder

__all__ = ["PlaceNetwork", "build_place_network"]


class PlaceNetwork(nn.Module):
    """An embedding of the picture, and one classifier over cells per group."""

    def __init__(self, embedder: Embedder, heads: GroupHeads) -> None:
        super().__init__()
        self.embedder = embedder
        self.heads = heads

    def forward(self, pictures: Tensor) -> Tensor:
        """The raw embedding of each picture (0-255): from it follow descriptor and cells."""
        return self.embed(pictures)

    def embed(self, pictures: Tensor) -> Tensor:
        """The raw embedding of each picture; its length is a quality cue."""
        embedding: Tensor = self.embedder(pictures)
        return embedding

    def describe(self, pictures: Tensor) -> Tensor:
        """The descriptor of each picture at unit length: what references are compared by."""
        return self.embedder.describe(pictures)


def build_place_network(
    options: NetworkOptions, head: HeadOptions, order: ClassOrder, *, seed: int
) -> tuple[PlaceNetwork, WeightsRecord]:
    """A place network ready to be trained, and where its encoder's weights came from."""
    with seeded(seed):
        encoder, record = load_encoder(options)
        embedder = Embedder(encoder, options, record)
        network = PlaceNetwork(embedder, GroupHeads(embedder.dimensions, order.sizes, head))
    return network, load_embedder(embedder, options.start, record)
