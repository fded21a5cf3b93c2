"""Encoders: the part of a network that turns a picture into a map of features.

A plain dict. A new encoder is a new entry: how to make it, how many channels come out, how many input
pixels make one position, and which keys of a published checkpoint are left out knowingly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from nadirfix.errors import InputError

__all__ = ["ENCODERS", "Encoder", "FeatureMap", "SmallEncoder", "build_encoder", "encoder_of", "positions_of"]

#: The checkpoint's own config.json; an empty one means the published default.
Config = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """What the rest of the code needs to know about an encoder."""

    make: Callable[[Config], nn.Module]
    channels: int
    reduction: int
    rounds_up: bool = True  # a last step that is not whole still makes a position
    model_type: str = ""  # what a checkpoint's config calls this kind of network; empty: no checkpoints
    left_out: tuple[str, ...] = ()  # beginnings of checkpoint keys this encoder does without, knowingly


class FeatureMap(nn.Module):
    """The stem and the stages of a transformers network, without its pooling and classifier."""

    def __init__(self, model: Any, stem: str) -> None:
        super().__init__()
        self._stem = stem
        self.add_module(stem, getattr(model, stem))
        self.encoder = model.encoder

    def forward(self, pictures: Tensor) -> Tensor:
        """The feature map of each picture."""
        features: Tensor = self.encoder(self.get_submodule(self._stem)(pictures)).last_hidden_state
        return features


class SmallEncoder(nn.Module):
    """A compact network for tests and the tiny recipe: fast on two cores, no pretrained weights needed.

    Group normalisation does not look across the batch: splitting a batch over processes changes nothing.
    """

    def __init__(self, widths: tuple[int, ...] = (32, 64, 128, 192)) -> None:
        super().__init__()
        steps = [_step(a, b) for a, b in zip((3, *widths[:-1]), widths, strict=True)]
        self.steps = nn.Sequential(*steps)
        self.refine = nn.ModuleList(_Refine(width) for width in widths[2:])

    def forward(self, pictures: Tensor) -> Tensor:
        """The feature map of each picture."""
        features: Tensor = self.steps[:3](pictures)
        features = self.steps[3](self.refine[0](features))
        refined: Tensor = self.refine[1](features)
        return refined


class _Refine(nn.Module):
    """A residual convolution at the same scale; ``look`` is a key in the weights that are shipped."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.look = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(8, width)

    def forward(self, features: Tensor) -> Tensor:
        return functional.relu(features + self.norm(self.look(features)))


def build_encoder(name: str, *, config: Config | None = None) -> nn.Module:
    """The named encoder with random weights, shaped as a checkpoint's config says."""
    return encoder_of(name).make(config or {})


def encoder_of(name: str) -> Encoder:
    """The entry of this name; an unknown name is an error that lists the known ones."""
    if name not in ENCODERS:
        raise InputError(
            "options.invalid",
            "there is no such encoder",
            seen=repr(name),
            do=f"name one of {', '.join(ENCODERS)}",
        )
    return ENCODERS[name]


def positions_of(name: str, *, width_px: int, height_px: int) -> tuple[int, int]:
    """How many rows and columns of positions the feature map of a picture of this size has."""
    entry = encoder_of(name)
    step = entry.reduction
    if not entry.rounds_up and (width_px % step or height_px % step):
        raise InputError(
            "options.invalid",
            f"the input of {name} must be a whole number of {step} px steps",
            seen=f"{width_px}x{height_px} px",
            do=f"make width_px and height_px multiples of {step}",
        )
    return -(-height_px // step), -(-width_px // step)


def _step(channels: int, width: int) -> nn.Module:
    """Half the size, more channels."""
    convolution = nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(8, width), nn.ReLU())


def _resnet50(config: Config, *, stages: int = 4) -> nn.Module:
    from transformers import ResNetConfig, ResNetModel

    # Published weights differ in where a block strides (He et al. on the first 1x1 convolution, most others
    # on the 3x3): only the checkpoint's config knows.
    stride_first = bool(config.get("downsample_in_bottleneck", False))
    shape = ResNetConfig(
        depths=[3, 4, 6, 3][:stages], hidden_sizes=[256, 512, 1024, 2048][:stages],
        layer_type="bottleneck", downsample_in_bottleneck=stride_first,
    )  # fmt: skip
    model: Any = ResNetModel
    return FeatureMap(model(shape), "embedder")


def _resnet50_stage3(config: Config) -> nn.Module:
    return _resnet50(config, stages=3)


def _resnet50_stage3_he(config: Config) -> nn.Module:
    """The same with its strides where He et al. have them, whether or not a checkpoint's config says so."""
    return _resnet50_stage3({**config, "downsample_in_bottleneck": True})


def _efficientnet_b5(config: Config) -> nn.Module:
    from transformers import EfficientNetConfig, EfficientNetModel

    shape = EfficientNetConfig(
        width_coefficient=1.6, depth_coefficient=2.2, hidden_dim=2048, image_size=456, dropout_rate=0.4,
        depthwise_padding=list(config.get("depthwise_padding", ())),
    )  # fmt: skip
    features = FeatureMap(EfficientNetModel(shape), "embeddings")
    for part in features.modules():
        _start_efficientnet(part, kept_share=shape.batch_norm_momentum)
    return features


def _start_efficientnet(part: nn.Module, *, kept_share: float) -> None:
    """Two repairs: a random start that lets pictures through, and running statistics that run."""
    if isinstance(part, nn.Conv2d):
        nn.init.kaiming_normal_(part.weight)
    if isinstance(part, nn.BatchNorm2d):
        # The library starts these factors near 0 where they should be 1: all pictures would come out alike.
        part.reset_parameters()
        # The config gives the share that stays, torch asks for the share that is new: left at 0.99, the
        # running statistics would be those of the last batch.
        part.momentum = 1.0 - kept_share


#: Every encoder by name.
ENCODERS: dict[str, Encoder] = {
    "resnet50": Encoder(
        make=_resnet50, channels=2048, reduction=32, model_type="resnet", left_out=("classifier.",)
    ),
    "resnet50-stage3": Encoder(
        make=_resnet50_stage3,
        channels=1024,
        reduction=16,
        model_type="resnet",
        left_out=("encoder.stages.3.", "classifier."),
    ),
    "resnet50-stage3-he": Encoder(make=_resnet50_stage3_he, channels=1024, reduction=16),
    "efficientnet-b5": Encoder(
        make=_efficientnet_b5,
        channels=2048,
        reduction=32,
        rounds_up=False,
        model_type="efficientnet",
        left_out=("classifier.",),
    ),
    "small": Encoder(make=lambda _config: SmallEncoder(), channels=192, reduction=16),
}
