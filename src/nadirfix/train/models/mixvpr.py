"""MixVPR: a feature map becomes one vector, every position contributing to every number of it.

Written from the equations of the paper (Ali-bey, Chaib-draa, Giguère 2023): mixing blocks over the flattened
positions, then a projection of the channels and one of the positions. What comes out is *not* normalised:
its length is a quality cue of the margin head.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

__all__ = ["MixVPR", "MixingBlock", "descriptor"]


class MixVPR(nn.Module):
    """Feature maps (batch, channels, rows, columns) as raw vectors of mix_channels × mix_rows numbers.

    Torch's own initialisation keeps the length of a raw vector near ten at the start, well inside the
    range the quality cue is clipped to.
    """

    def __init__(
        self, *, channels: int, positions: int, mix_blocks: int, mix_channels: int, mix_rows: int
    ) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(MixingBlock(positions) for _ in range(mix_blocks)))
        self.project_channels = nn.Linear(channels, mix_channels)
        self.project_positions = nn.Linear(positions, mix_rows)
        self.dimensions = mix_channels * mix_rows

    def forward(self, features: Tensor) -> Tensor:
        """The raw embedding of each feature map."""
        mixed = self.blocks(features.flatten(2))
        narrowed = self.project_channels(mixed.transpose(1, 2)).transpose(1, 2)
        rows: Tensor = self.project_positions(narrowed)
        return rows.flatten(1)


class MixingBlock(nn.Module):
    """One round of mixing: all positions of a channel exchange what they hold, and keep what they had."""

    def __init__(self, positions: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(positions)
        self.first = nn.Linear(positions, positions)
        self.second = nn.Linear(positions, positions)

    def forward(self, channels: Tensor) -> Tensor:
        """The mixed channels."""
        mixed: Tensor = self.second(functional.relu(self.first(self.norm(channels))))
        return channels + mixed


def descriptor(embedding: Tensor) -> Tensor:
    """The embedding at unit length: what references are compared by."""
    return functional.normalize(embedding, dim=-1)
