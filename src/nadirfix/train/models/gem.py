"""Generalised-mean pooling: each part of a feature map as one number per channel, between mean and maximum.

Nothing here is learned, so a network with it can be used on a new map as it is.
"""

from __future__ import annotations

from torch import Tensor, cat, nn

from nadirfix.geo.spans import even_spans

__all__ = ["GeM"]

#: Features are raised to a power: none may be negative, and the root of 0 has no slope.
_SMALLEST = 1e-6


class GeM(nn.Module):
    """Feature maps (batch, channels, rows, columns) as raw vectors: part by part, a number per channel.

    The map is cut into ``parts`` × ``parts`` pieces of equal size, overlapping where it does not divide, so
    that the vector still says where in the picture something was.
    """

    def __init__(self, *, channels: int, rows: int, columns: int, power: float, parts: int) -> None:
        super().__init__()
        self.power = power
        self.pieces = [(y, x) for y in even_spans(rows, parts) for x in even_spans(columns, parts)]
        self.dimensions = channels * parts**2

    def forward(self, features: Tensor) -> Tensor:
        """The raw embedding of each feature map."""
        raised = features.clamp(min=_SMALLEST) ** self.power
        means = [raised[:, :, y, x].mean(dim=(2, 3)) for y, x in self.pieces]
        pooled: Tensor = cat(means, dim=1) ** (1.0 / self.power)
        return pooled
