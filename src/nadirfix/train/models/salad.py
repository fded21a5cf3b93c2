"""SALAD: features of a vision transformer assigned to clusters by optimal transport.

Written from the paper (Izquierdo, Civera 2024): a score for every feature and cluster and one for "none of
them"; Sinkhorn's algorithm shares each feature out so that every cluster gets as much as one feature and
"none" gets the rest. What clusters get is added up, and a token of the whole picture is put before it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Salad", "transport_plan"]

_HIDDEN, _CLUSTERS, _CLUSTER_WIDTH, _TOKEN_WIDTH, _DROPOUT = 512, 64, 128, 256, 0.3
_ROUNDS = 3


class Salad(nn.Module):
    """Tokens (batch, 1 + positions, channels), the whole picture's first, as one vector."""

    def __init__(self, *, channels: int) -> None:
        super().__init__()
        self.token_features = nn.Sequential(
            nn.Linear(channels, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _TOKEN_WIDTH)
        )
        self.cluster_features = _pointwise(channels, _CLUSTER_WIDTH)
        self.score = _pointwise(channels, _CLUSTERS)
        self.dust_bin = nn.Parameter(torch.tensor(1.0))

    def forward(self, tokens: Tensor) -> Tensor:
        """The descriptor of each picture."""
        patches = tokens[:, 1:].transpose(1, 2)[..., None]  # as a picture one pixel wide
        features, scores = self.cluster_features(patches)[..., 0], self.score(patches)[..., 0]
        shares = transport_plan(scores, self.dust_bin, rounds=_ROUNDS)
        summed = torch.einsum("bdn,bkn->bdk", features, shares)
        clusters = functional.normalize(summed, dim=1).flatten(1)
        whole = functional.normalize(self.token_features(tokens[:, 0]), dim=-1)
        return functional.normalize(torch.cat([whole, clusters], dim=-1), dim=-1)


def transport_plan(scores: Tensor, none: Tensor, *, rounds: int) -> Tensor:
    """How much of each feature every cluster gets (batch, clusters, features), from scores of that shape.

    Every feature gives one, every cluster takes one, "none of them" takes what is left. In logarithms, as
    exponentials of scores may be larger than any number.
    """
    batch, clusters, features = scores.shape
    whole = torch.cat([scores, none.expand(batch, 1, features)], dim=1)
    taken = scores.new_zeros(clusters + 1)
    taken[-1] = math.log(max(features - clusters, 1))
    by_cluster, by_feature = scores.new_zeros(batch, clusters + 1), scores.new_zeros(batch, features)
    for _ in range(rounds):
        by_cluster = taken - torch.logsumexp(whole + by_feature[:, None], dim=2)
        by_feature = -torch.logsumexp(whole + by_cluster[..., None], dim=1)
    plan: Tensor = (whole + by_cluster[..., None] + by_feature[:, None]).exp()
    return plan[:, :-1]


def _pointwise(channels: int, width: int) -> nn.Sequential:
    """Two layers that see one position at a time."""
    return nn.Sequential(
        nn.Conv2d(channels, _HIDDEN, 1), nn.Dropout(_DROPOUT), nn.ReLU(), nn.Conv2d(_HIDDEN, width, 1)
    )
