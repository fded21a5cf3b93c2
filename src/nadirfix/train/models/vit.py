"""The vision transformer of DINOv2, by the names its authors give to its weights.

Written from the papers (Dosovitskiy et al. 2021; Touvron et al. 2021 for the layer scale; Oquab et al. 2023):
patches of 14 pixels and one token for the whole picture, blocks of attention and a perceptron, each added to
what was there after a factor of its own for every channel.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["PATCH_PX", "VisionTransformer"]

PATCH_PX = 14
_HEAD_WIDTH, _MLP_RATIO, _EPSILON = 64, 4, 1e-6
#: Positions were learned for pictures of 518 pixels; for others they are interpolated, and the authors do
#: that with the new side made this much longer.
_LEARNED_SIDE, _OFFSET = 37, 0.1


class VisionTransformer(nn.Module):
    """Pictures (batch, RGB, rows, columns; sides of whole patches) as tokens: the whole one, then patches."""

    def __init__(self, *, width: int, depth: int, side: int = _LEARNED_SIDE) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + side**2, width))
        self.patch_embed = _PatchEmbedding(width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=_EPSILON)

    def forward(self, pictures: Tensor) -> Tensor:
        """All tokens after the last block, normalised."""
        tokens = self._tokens(pictures)
        for block in self.blocks:
            tokens = block(tokens)
        normed: Tensor = self.norm(tokens)
        return normed

    def values(self, pictures: Tensor, layer: int) -> Tensor:
        """The values of the patches in the attention of one block: what AnyLoc describes places by."""
        tokens = self._tokens(pictures)
        for block in self.blocks[:layer]:
            tokens = block(tokens)
        block = self.blocks[layer]
        assert isinstance(block, _Block)
        mixed: Tensor = block.attn.qkv(block.norm1(tokens))
        return mixed.chunk(3, dim=-1)[2][:, 1:]

    def _tokens(self, pictures: Tensor) -> Tensor:
        features = self.patch_embed(pictures)
        patches = features.flatten(2).transpose(1, 2)
        whole = self.cls_token.expand(len(patches), -1, -1)
        rows, columns = features.shape[2:]
        return torch.cat([whole, patches], dim=1) + self._positions(rows, columns)

    def _positions(self, rows: int, columns: int) -> Tensor:
        """The learned positions, interpolated where there are other than so many patches each way."""
        whole, learned = self.pos_embed[:, :1], self.pos_embed[:, 1:]
        side = round(learned.shape[1] ** 0.5)
        if (rows, columns) == (side, side):
            return self.pos_embed
        grid = learned.reshape(1, side, side, -1).permute(0, 3, 1, 2)
        scale = (rows + _OFFSET) / side, (columns + _OFFSET) / side
        grid = functional.interpolate(grid, scale_factor=scale, mode="bicubic", align_corners=False)
        return torch.cat([whole, grid.flatten(2).transpose(1, 2)], dim=1)


class _PatchEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, PATCH_PX, stride=PATCH_PX)

    def forward(self, pictures: Tensor) -> Tensor:
        features: Tensor = self.proj(pictures)
        return features


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, eps=_EPSILON), _Attention(width)
        self.ls1 = _LayerScale(width)
        self.norm2, self.mlp = nn.LayerNorm(width, eps=_EPSILON), _Perceptron(width)
        self.ls2 = _LayerScale(width)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.ls1(self.attn(self.norm1(tokens)))
        mixed: Tensor = tokens + self.ls2(self.mlp(self.norm2(tokens)))
        return mixed


class _Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // _HEAD_WIDTH
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        batch, count, width = tokens.shape
        mixed = self.qkv(tokens).reshape(batch, count, 3, self.heads, _HEAD_WIDTH)
        queries, keys, values = mixed.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(queries, keys, values)
        out: Tensor = self.proj(attended.transpose(1, 2).reshape(batch, count, width))
        return out


class _LayerScale(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens * self.gamma


class _Perceptron(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, _MLP_RATIO * width), nn.Linear(_MLP_RATIO * width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.fc2(functional.gelu(self.fc1(tokens)))
        return out
