"""The matcher's network: unit descriptors, keypoint probabilities and reliability of a grey picture (ADR 48).

It has XFeat's layers, and with XFeat's weights it gives XFeat's numbers. It is written for a processor:
normalisations are merged into the layers before them, and layers that see single pixels take them in blocks,
so that fewer and fuller ones are left.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["CELL", "DESCRIPTOR", "MatcherNetwork", "from_xfeat"]

DESCRIPTOR, CELL = 64, 8
_HALF, _QUARTER, _DEEP = 8, 24, 128
#: Two pixels each way are a block: with four channels each it has sixteen.
_SIDE, _BLOCK = 2, 16
#: Beyond these the exponential of a number has no meaning in single precision.
_LOGIT_LIMIT = 60.0


class MatcherNetwork(nn.Module):
    """A grey picture in; descriptors, keypoint probabilities and reliability of each cell of 8 pixels out."""

    def __init__(self) -> None:
        super().__init__()
        self.normalise = nn.InstanceNorm2d(1)
        self.pixels = nn.Sequential(nn.Conv2d(1, _BLOCK, 4, stride=_SIDE, padding=1), nn.ReLU())
        self.halved = nn.Sequential(
            nn.ZeroPad2d((1, 0, 1, 0)), nn.Conv2d(_BLOCK, _HALF, 2), nn.ReLU(), _layer(_HALF, _HALF)
        )
        self.to_quarter = _layer(_HALF, _QUARTER, stride=2)
        self.shortcut = nn.Conv2d(1, _QUARTER, 4, stride=4)
        self.quarter = nn.Sequential(_layer(_QUARTER, _QUARTER), _layer(_QUARTER, _QUARTER))
        self.eighth = nn.Sequential(
            _layer(_QUARTER, DESCRIPTOR, stride=2), _layer(DESCRIPTOR, DESCRIPTOR), _pointwise(DESCRIPTOR)
        )
        self.sixteenth = nn.Sequential(
            _layer(DESCRIPTOR, DESCRIPTOR, stride=2), *(_layer(DESCRIPTOR, DESCRIPTOR) for _ in range(2))
        )
        self.thirty_second = nn.Sequential(
            _layer(DESCRIPTOR, _DEEP, stride=2), _layer(_DEEP, _DEEP), _layer(_DEEP, _DEEP), _pointwise(_DEEP)
        )
        self.fusion = nn.Sequential(
            *(_layer(DESCRIPTOR, DESCRIPTOR) for _ in range(2)), nn.Conv2d(DESCRIPTOR, DESCRIPTOR, 1)
        )
        self.reliability = nn.Sequential(
            _pointwise(DESCRIPTOR), _pointwise(DESCRIPTOR), nn.Conv2d(DESCRIPTOR, 1, 1)
        )
        self.keypoints = nn.Sequential(
            nn.Conv2d(1, DESCRIPTOR, CELL, stride=CELL), nn.ReLU(), _pointwise(DESCRIPTOR),
            _pointwise(DESCRIPTOR), nn.Conv2d(DESCRIPTOR, CELL**2 + 1, 1),
        )  # fmt: skip

    def forward(self, grey: Tensor) -> Tensor:
        """One array: unit descriptors, keypoint probability of each pixel of a cell, reliability."""
        picture = self.normalise(grey)
        descriptors, logits = self.describe(picture), self.keypoints(picture)
        weights = torch.exp(logits.clamp(-_LOGIT_LIMIT, _LOGIT_LIMIT))
        probability = weights[:, :-1] / weights.sum(dim=1, keepdim=True)  # the last is "no keypoint here"
        reliability = self.reliability(descriptors).sigmoid()
        return torch.cat([functional.normalize(descriptors, dim=1), probability, reliability], dim=1)

    def describe(self, picture: Tensor) -> Tensor:
        """Descriptors of any length, of a picture whose mean and spread are settled."""
        quarter = self.to_quarter(self.halved(self.pixels(picture))) + self.shortcut(picture)
        eighth = self.eighth(self.quarter(quarter))
        sixteenth = self.sixteenth(eighth)
        coarse, size = (sixteenth, self.thirty_second(sixteenth)), eighth.shape[-2:]
        wide = [functional.interpolate(one, size, mode="bilinear", align_corners=False) for one in coarse]
        return torch.as_tensor(self.fusion(eighth + wide[0] + wide[1]))


def _layer(before: int, after: int, *, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, stride=stride, padding=1), nn.ReLU())


def _pointwise(before: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, DESCRIPTOR, 1), nn.ReLU())


def from_xfeat(weights: Mapping[str, Tensor]) -> MatcherNetwork:
    """The network with XFeat's weights."""
    network = MatcherNetwork()
    with torch.no_grad():
        _place(network.pixels[0], *_in_blocks(*_merged(weights, "block1.0")))
        _place(network.halved[1], *_of_blocks(*_merged(weights, "block1.1")))
        _place(network.shortcut, *_averaged(weights))
        _place(network.keypoints[0], *_of_cells(*_merged(weights, "keypoint_head.0")))
        for layer, name in _same_layers(network):
            _place(layer, *_merged(weights, name))
    return network.eval()


def _same_layers(network: MatcherNetwork) -> list[tuple[nn.Conv2d, str]]:
    """Layers that are as in XFeat, with the names they have there."""
    rooms: dict[str, tuple[int, list[nn.Module]]] = {
        "block1": (2, [network.halved[3], network.to_quarter]),
        "block2": (0, list(network.quarter)),
        "block3": (0, list(network.eighth)),
        "block4": (0, list(network.sixteenth)),
        "block5": (0, list(network.thirty_second)),
        "block_fusion": (0, list(network.fusion)),
        "heatmap_head": (0, list(network.reliability)),
        "keypoint_head": (1, list(network.keypoints)[2:]),
    }
    return [
        (next(m for m in layer.modules() if isinstance(m, nn.Conv2d)), f"{room}.{first + i}")
        for room, (first, layers) in rooms.items()
        for i, layer in enumerate(layers)
    ]


def _merged(weights: Mapping[str, Tensor], name: str) -> tuple[Tensor, Tensor]:
    """A layer's weights and bias, with the normalisation that follows it merged in."""
    if f"{name}.weight" in weights:
        return weights[f"{name}.weight"], weights[f"{name}.bias"]
    mean, variance = weights[f"{name}.layer.1.running_mean"], weights[f"{name}.layer.1.running_var"]
    scale = torch.rsqrt(variance + nn.BatchNorm2d(1).eps)
    return weights[f"{name}.layer.0.weight"] * scale[:, None, None, None], -mean * scale


def _place(layer: nn.Module, weights: Tensor, bias: Tensor) -> None:
    assert isinstance(layer, nn.Conv2d) and layer.bias is not None
    layer.weight.copy_(weights)
    layer.bias.copy_(bias)


def _in_blocks(weights: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A 3 × 3 layer as a 4 × 4 one with stride 2: each block of 2 × 2 pixels has the outputs of all four."""
    wide = weights.new_zeros(_SIDE, _SIDE, len(weights), 1, 4, 4)
    for row in range(_SIDE):
        for col in range(_SIDE):
            wide[row, col, :, :, row : row + 3, col : col + 3] = weights
    return wide.flatten(0, 2), bias.repeat(_SIDE**2)


def _of_blocks(weights: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A 3 × 3 layer with stride 2 as a 2 × 2 one over blocks: each block, and those before it."""
    after, before = weights.shape[:2]
    wide = weights.new_zeros(after, _SIDE, _SIDE, before, 2, 2)
    for row in range(3):
        for col in range(3):  # 0 is the pixel before the block
            block, inside = ((row + 1) // 2, (col + 1) // 2), ((row + 1) % 2, (col + 1) % 2)
            wide[:, inside[0], inside[1], :, block[0], block[1]] = weights[:, :, row, col]
    return wide.flatten(1, 3), bias


def _averaged(weights: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The mean of 4 × 4 pixels and a layer after it, as one layer of stride 4."""
    return weights["skip1.1.weight"].expand(-1, -1, 4, 4) / 16, weights["skip1.1.bias"]


def _of_cells(weights: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """A layer over the 64 pixels of a cell as one of stride 8 over the picture."""
    return weights.reshape(len(weights), 1, CELL, CELL), bias
