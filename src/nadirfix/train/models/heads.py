"""The classifiers over cells: plain, with an angular margin, with a margin that follows picture quality.

Pure functions first, each one equation of METHOD §3; the thin module that holds the prototypes after them.
Margins exist only in training: they make a class keep its distance from the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from nadirfix.options.recipe import HeadOptions

__all__ = [
    "GroupHeads",
    "aamc_logits",
    "ce_logits",
    "cosines",
    "head_logits",
    "qamc_logits",
    "quality",
    "quality_of_cues",
    "sharpness",
    "standardised",
]

#: The raw embedding's length counts as quality between these two.
_NORM_RANGE = (1e-3, 100.0)


def ce_logits(embeddings: Tensor, prototypes: Tensor) -> Tensor:
    """Plain scores: the dot product of each embedding with each prototype."""
    return embeddings @ prototypes.T


def cosines(embeddings: Tensor, prototypes: Tensor) -> Tensor:
    """The cosine of the angle between every embedding and every prototype."""
    return functional.normalize(embeddings, dim=-1) @ functional.normalize(prototypes, dim=-1).T


def aamc_logits(cosine: Tensor, labels: Tensor, head: HeadOptions) -> Tensor:
    """Scores with a fixed angular margin: the true class must be nearer by ``margin`` to count as near."""
    clipped = _clipped(cosine, head)
    target = torch.cos(_at(clipped, labels).arccos() + head.margin)
    return head.scale * _with_target(clipped, labels, target)


def qamc_logits(cosine: Tensor, labels: Tensor, gamma: Tensor, head: HeadOptions) -> Tensor:
    """Scores with a margin that follows quality: strict with good pictures, lenient with poor ones."""
    clipped = _clipped(cosine, head)
    shifted = _at(clipped, labels).arccos() - head.margin * gamma
    angle = shifted.clamp(head.epsilon, math.pi - head.epsilon)
    target = torch.cos(angle) - head.margin * (1 + gamma)
    return head.scale * _with_target(clipped, labels, target)


def quality(embeddings: Tensor, sharp: Tensor, head: HeadOptions) -> Tensor:
    """How good each picture is within its batch, from −1 to 1; it carries no gradient."""
    gamma = quality_of_cues(embeddings.detach().double().norm(dim=-1), sharp, head)
    return gamma.to(torch.promote_types(embeddings.dtype, torch.float32))


@torch.no_grad()
def quality_of_cues(lengths: Tensor, sharp: Tensor, head: HeadOptions) -> Tensor:
    """The same from the two cues themselves, for batches that several processes share.

    In double precision: a batch of equal lengths must give nothing, not its rounding divided by epsilon.
    """
    by_norm = standardised(lengths.double().clamp(*_NORM_RANGE), head.epsilon)
    by_sharpness = standardised(sharp.double().log1p(), head.epsilon)
    both = head.norm_share * by_norm + (1 - head.norm_share) * by_sharpness
    return (head.concentration * standardised(both, head.epsilon)).clamp(-1, 1)


def standardised(values: Tensor, epsilon: float) -> Tensor:
    """Values relative to their batch: mean 0, deviation about 1 (population form)."""
    return (values - values.mean()) / (values.std(correction=0) + epsilon)


@torch.no_grad()
def sharpness(pictures: Tensor) -> Tensor:
    """How sharp each picture (batch, RGB, rows, columns; 0-255) is: the variance of its Laplacian.

    Only pixels with all four neighbours count: no border is made up.
    """
    grey = pictures.float().mean(dim=1)
    middle = grey[:, 1:-1, 1:-1]
    around = grey[:, :-2, 1:-1] + grey[:, 2:, 1:-1] + grey[:, 1:-1, :-2] + grey[:, 1:-1, 2:]
    return (around - 4 * middle).flatten(1).var(dim=1, correction=0)


def head_logits(
    embeddings: Tensor, prototypes: Tensor, labels: Tensor, gamma: Tensor, head: HeadOptions
) -> Tensor:
    """The training scores of the head these options name; only QAMC uses the quality ``gamma``."""
    if head.kind == "ce":
        return ce_logits(embeddings, prototypes)
    cosine = cosines(embeddings, prototypes)
    if head.kind == "aamc":
        return aamc_logits(cosine, labels, head)
    return qamc_logits(cosine, labels, gamma, head)


class GroupHeads(nn.Module):
    """One classifier per group of cells; a training batch holds views of one group."""

    def __init__(self, dimensions: int, sizes: Sequence[int], head: HeadOptions) -> None:
        super().__init__()
        self.options = head
        self.prototypes = nn.ParameterList(_fresh(size, dimensions) for size in sizes)

    def forward(self, embeddings: Tensor, labels: Tensor, gamma: Tensor, *, group: int) -> Tensor:
        """Training scores over the cells of one group.

        Always in at least single precision: at scale 100, half precision would blur the angles.
        """
        with torch.autocast(embeddings.device.type, enabled=False):
            wide = embeddings if embeddings.dtype == torch.float64 else embeddings.float()
            return head_logits(wide, self.prototypes[group], labels, gamma, self.options)

    def loss(self, embeddings: Tensor, labels: Tensor, gamma: Tensor, *, group: int) -> Tensor:
        """Mean cross entropy over the batch."""
        return functional.cross_entropy(self(embeddings, labels, gamma, group=group), labels)


def _fresh(size: int, dimensions: int) -> nn.Parameter:
    """Prototypes in random directions, of length about one."""
    return nn.Parameter(torch.randn(size, dimensions) / math.sqrt(dimensions))


def _clipped(cosine: Tensor, head: HeadOptions) -> Tensor:
    return cosine.clamp(-1 + head.epsilon, 1 - head.epsilon)


def _at(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.gather(1, labels[:, None]).squeeze(1)


def _with_target(scores: Tensor, labels: Tensor, target: Tensor) -> Tensor:
    return scores.scatter(1, labels[:, None], target[:, None].to(scores.dtype))
