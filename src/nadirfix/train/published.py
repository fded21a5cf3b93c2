"""Published place-recognition networks with their authors' checkpoints, as describers (ADR 58).

Each entry says how to make the network, what its checkpoint calls the weights, and which of its names are not
needed. Pictures go in as bytes; everything published takes them with ImageNet's mean and deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from nadirfix.errors import WeightsError
from nadirfix.options.methods import PUBLISHED
from nadirfix.train.models.encoders import build_encoder
from nadirfix.train.models.mixvpr import MixVPR, descriptor
from nadirfix.train.models.netvlad import NetVLAD, Vgg16, found_words, hard_vlad
from nadirfix.train.models.official_weights import NameTable, fill, official_tensors
from nadirfix.train.models.salad import Salad
from nadirfix.train.models.vit import VisionTransformer
from nadirfix.train.models.weights import IMAGENET_MEAN, IMAGENET_STD

__all__ = ["AnyLoc", "CosPlace", "PublishedDescriber", "normalised", "published_describer"]

Bytes = NDArray[np.uint8]
Tensors = Mapping[str, Tensor]

_SMALLEST = 1e-6
#: Words of a vocabulary, and features of how many pictures at a time it is found from.
_WORDS, _SEED, _BATCH = 32, 0, 8
#: Which block's values are taken, as a share of their number: 31 of 40 in the paper.
_LAYER_SHARE = 0.775
_DEPTHS = {384: 12, 768: 12, 1024: 24}


class CosPlace(nn.Module):
    """Generalised mean of normalised features, then one layer: CosPlace's head, and EigenPlaces'."""

    def __init__(self, *, channels: int, numbers: int) -> None:
        super().__init__()
        self.power = nn.Parameter(torch.tensor([3.0]))
        self.project = nn.Linear(channels, numbers)

    def forward(self, features: Tensor) -> Tensor:
        """The descriptor of each feature map."""
        raised = functional.normalize(features, dim=1).clamp(min=_SMALLEST) ** self.power
        pooled = raised.mean(dim=(2, 3)) ** (1.0 / self.power)
        return functional.normalize(self.project(pooled), dim=-1)


class AnyLoc(nn.Module):
    """Values of a vision transformer's patches, pooled by a generalised mean, or by the map's own words."""

    def __init__(self, encoder: VisionTransformer, *, vocabulary: bool) -> None:
        super().__init__()
        self.encoder, self._vocabulary = encoder, vocabulary
        self._layer = int(_LAYER_SHARE * len(encoder.blocks))
        self._words: Tensor | None = None

    def forward(self, pictures: Tensor) -> Tensor:
        """The descriptor of each picture."""
        values = self.encoder.values(pictures, self._layer)
        if not self._vocabulary:
            mean = (values**3).mean(dim=1)  # values have signs, and keep them
            return mean.sign() * mean.abs() ** (1 / 3)
        if self._words is None:
            raise ValueError("the vocabulary is found on the map first")
        return hard_vlad(functional.normalize(values, dim=-1), self._words)

    def learn(self, pictures: Tensor) -> None:
        """Find the words in the patches of these pictures."""
        batches = [pictures[i : i + _BATCH] for i in range(0, len(pictures), _BATCH)]
        values = [functional.normalize(self.encoder.values(some, self._layer), dim=-1) for some in batches]
        self._words = found_words(torch.cat(values).flatten(0, 1), _WORDS, seed=_SEED)


class _Sequence(nn.Module):
    """An encoder and what turns its features into a descriptor."""

    def __init__(self, encoder: nn.Module, aggregator: nn.Module) -> None:
        super().__init__()
        self.encoder, self.aggregator = encoder, aggregator

    def forward(self, pictures: Tensor) -> Tensor:
        described: Tensor = descriptor(self.aggregator(self.encoder(pictures)))
        return described


@dataclass(frozen=True, slots=True)
class _Network:
    """How a network is made for a checkpoint, and what its weights are called there."""

    make: Callable[[Tensors], nn.Module]
    names: NameTable
    unused: str = ""


class PublishedDescriber:
    """Describes pictures with a published network."""

    def __init__(self, network: nn.Module, size_px: tuple[int, int]) -> None:
        self.size_px, self._network = size_px, network.eval()

    @torch.inference_mode()
    def describe(self, images: Bytes) -> NDArray[np.float32]:
        """A descriptor for each picture (count, rows, columns, RGB), a row each."""
        return np.asarray(self._network(normalised(images)).numpy(), np.float32)


class _FittedPublished(PublishedDescriber):
    """One that finds a vocabulary on the map first."""

    def __init__(self, network: AnyLoc, size_px: tuple[int, int]) -> None:
        super().__init__(network, size_px)
        self._anyloc = network

    @torch.inference_mode()
    def fit(self, images: Bytes) -> None:
        """Find the map's words in some of its references."""
        self._anyloc.learn(normalised(images))


def published_describer(name: str, weights: Path) -> PublishedDescriber:
    """A published method with the checkpoint given; a file that does not fit is refused."""
    size_px = next(one.size_px for one in PUBLISHED if one.name == name)
    entry, tensors = _NETWORKS[name], official_tensors(weights)
    try:
        network = entry.make(tensors)
    except KeyError as error:
        raise _no_transformer(weights, str(error)) from error
    fill(network, weights, tensors, entry.names, unused=entry.unused)
    if name == "anyloc-vlad":
        assert isinstance(network, AnyLoc)
        return _FittedPublished(network, size_px)
    return PublishedDescriber(network, size_px)


def normalised(images: Bytes) -> Tensor:
    """Pictures in bytes as published networks take them."""
    pictures = torch.from_numpy(np.moveaxis(images, -1, 1).astype(np.float32)) / 255
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (IMAGENET_MEAN, IMAGENET_STD))
    return (pictures - mean) / std


def _no_transformer(weights: Path, seen: str) -> WeightsError:
    return WeightsError(
        "weights.mismatch",
        "the checkpoint does not fit the method's network",
        seen=f"{weights.name}: no cls_token of {', '.join(map(str, _DEPTHS))} numbers ({seen})",
        do="give the weights of DINOv2's ViT-S/14, B/14 or L/14 without registers",
    )


def _stage_names(first: str, stage: int) -> NameTable:
    """What torchvision calls the layers of a stage, and what they are called here."""
    here = rf"encoder.encoder.stages.{stage}.layers.\1"
    layer = [
        (rf"{first}\.(\d+)\.{theirs}{k}\.(.*)", rf"{here}.layer.{k - 1}.{ours}.\2")
        for k in (1, 2, 3)
        for theirs, ours in (("conv", "convolution"), ("bn", "normalization"))
    ]
    shortcut = [
        (rf"{first}\.(\d+)\.downsample\.0\.(.*)", rf"{here}.shortcut.convolution.\2"),
        (rf"{first}\.(\d+)\.downsample\.1\.(.*)", rf"{here}.shortcut.normalization.\2"),
    ]
    return [*layer, *shortcut]


def _resnet_names(prefix: str, first: tuple[str, str], stages: list[str]) -> NameTable:
    """Names of a ResNet whose first two layers and whose stages are called like this."""
    stem = [
        (rf"{prefix}{first[0]}\.(.*)", r"encoder.embedder.embedder.convolution.\1"),
        (rf"{prefix}{first[1]}\.(.*)", r"encoder.embedder.embedder.normalization.\1"),
    ]
    return [*stem, *(pair for k, name in enumerate(stages) for pair in _stage_names(prefix + name, k))]


_COSPLACE_NAMES: NameTable = [
    *_resnet_names(r"backbone\.", ("0", "1"), ["4", "5", "6", "7"]),
    (r"aggregation\.1\.p", "aggregator.power"),
    (r"aggregation\.3\.(.*)", r"aggregator.project.\1"),
]
_MIXVPR_NAMES: NameTable = [
    *_resnet_names(r"backbone\.model\.", ("conv1", "bn1"), ["layer1", "layer2", "layer3"]),
    (r"aggregator\.mix\.(\d+)\.mix\.0\.(.*)", r"aggregator.blocks.\1.norm.\2"),
    (r"aggregator\.mix\.(\d+)\.mix\.1\.(.*)", r"aggregator.blocks.\1.first.\2"),
    (r"aggregator\.mix\.(\d+)\.mix\.3\.(.*)", r"aggregator.blocks.\1.second.\2"),
    (r"aggregator\.channel_proj\.(.*)", r"aggregator.project_channels.\1"),
    (r"aggregator\.row_proj\.(.*)", r"aggregator.project_positions.\1"),
]
_NETVLAD_NAMES: NameTable = [(r"pool\.(.*)", r"aggregator.\1")]
_SALAD_NAMES: NameTable = [(r"backbone\.model\.(.*)", r"encoder.\1")]
_DINO_NAMES: NameTable = [(r"(.*)", r"encoder.\1")]


def _netvlad(_: Tensors) -> nn.Module:
    return _Sequence(Vgg16(), NetVLAD(channels=512, words=64))


def _cosplace(_: Tensors) -> nn.Module:
    return _Sequence(build_encoder("resnet50"), CosPlace(channels=2048, numbers=2048))


def _mixvpr(_: Tensors) -> nn.Module:
    mixer = MixVPR(channels=1024, positions=20 * 20, mix_blocks=4, mix_channels=1024, mix_rows=4)
    return _Sequence(build_encoder("resnet50-stage3"), mixer)


def _salad(_: Tensors) -> nn.Module:
    return _Sequence(VisionTransformer(width=768, depth=_DEPTHS[768]), Salad(channels=768))


def _anyloc(tensors: Tensors, *, vocabulary: bool) -> nn.Module:
    """The transformer is as wide as the checkpoint says."""
    width = tensors["cls_token"].shape[-1]
    return AnyLoc(VisionTransformer(width=width, depth=_DEPTHS[width]), vocabulary=vocabulary)


_NETWORKS: dict[str, _Network] = {
    "netvlad": _Network(_netvlad, _NETVLAD_NAMES),
    "cosplace": _Network(_cosplace, _COSPLACE_NAMES),
    "eigenplaces": _Network(_cosplace, _COSPLACE_NAMES),
    "mixvpr": _Network(_mixvpr, _MIXVPR_NAMES),
    "salad": _Network(_salad, _SALAD_NAMES, unused=r"backbone\.model\.mask_token"),
    "anyloc-gem": _Network(lambda t: _anyloc(t, vocabulary=False), _DINO_NAMES, unused="mask_token"),
    "anyloc-vlad": _Network(lambda t: _anyloc(t, vocabulary=True), _DINO_NAMES, unused="mask_token"),
}
