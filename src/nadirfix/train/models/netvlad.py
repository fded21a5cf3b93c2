"""NetVLAD, and VLAD with a vocabulary that is found and not learned: residuals of features to words.

Written from the papers (Arandjelović et al. 2016, equation 4; Jégou et al. 2010; Keetha et al. 2023): every
feature is shared out among words, softly or to the nearest; what a word gets are differences to itself,
added up, normalised word by word and then as a whole.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["NetVLAD", "Vgg16", "found_words", "hard_vlad", "vlad"]

#: Channels of VGG-16's layers, and M where it halves the picture (Simonyan, Zisserman 2015).
_VGG16 = (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512)
_ROUNDS = 25


class Vgg16(nn.Sequential):
    """VGG-16 up to its last convolution, without the rectifier and the pooling after it."""

    def __init__(self) -> None:
        layers: list[nn.Module] = []
        before = 3
        for width in _VGG16:
            if isinstance(width, str):
                layers.append(nn.MaxPool2d(2))
                continue
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
            before = width
        super().__init__(*layers[:-1])


class NetVLAD(nn.Module):
    """A feature map as one vector: words × channels."""

    def __init__(self, *, channels: int, words: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, words, 1, bias=False)
        self.centroids = nn.Parameter(torch.zeros(words, channels))

    def forward(self, features: Tensor) -> Tensor:
        """The descriptor of each feature map."""
        normed = functional.normalize(features, dim=1)
        shares = self.conv(normed).flatten(2).softmax(dim=1)  # batch, words, positions
        return vlad(normed.flatten(2).transpose(1, 2), shares.transpose(1, 2), self.centroids)


def vlad(features: Tensor, shares: Tensor, words: Tensor) -> Tensor:
    """Residuals of features (batch, positions, channels) to words, by their shares (batch, positions, words).

    The sum of shares times (feature − word) is taken as the difference of two products.
    """
    summed = shares.transpose(1, 2) @ features - shares.sum(dim=1)[..., None] * words
    by_word = functional.normalize(summed, dim=2)
    return functional.normalize(by_word.flatten(1), dim=1)


def hard_vlad(features: Tensor, words: Tensor) -> Tensor:
    """VLAD of unit features, each given to the word it is most similar to."""
    nearest = (features @ functional.normalize(words, dim=1).T).argmax(dim=-1)
    shares = functional.one_hot(nearest, len(words)).to(features.dtype)
    return vlad(features, shares, words)


def found_words(features: Tensor, count: int, *, seed: int) -> Tensor:
    """Words of unit features (a row each) by k-means on the sphere; the same features give the same words."""
    chosen = torch.randperm(len(features), generator=torch.Generator().manual_seed(seed))[:count]
    words = features[chosen]
    for _ in range(_ROUNDS):
        nearest = (features @ words.T).argmax(dim=1)
        sums = torch.zeros_like(words).index_add_(0, nearest, features)
        empty = sums.norm(dim=1) == 0  # a word nobody is nearest to stays where it is
        words = torch.where(empty[:, None], words, functional.normalize(sums, dim=1))
    return words
