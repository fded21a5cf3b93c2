"""Settings of training, with ``options`` the only home of defaults: the run, its pictures, and contrast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["AugmentOptions", "ContrastOptions", "TrainOptions"]


@dataclass(frozen=True, kw_only=True)
class AugmentOptions:
    """What a training view goes through so that another date looks ordinary; 0 switches a step off."""

    colour: float = 0.3  # largest relative change of light, contrast, saturation and each colour
    haze: float = 0.3  # largest share of the light that is haze
    blur: float = 0.5  # largest share of fine detail lost; half as much may be gained
    noise_levels: float = 4.0  # largest deviation of noise, in grey levels
    jpeg: float = 0.5  # how coarse JPEG steps may be: 1 is quality 50
    shadow: float = 0.3  # largest share of light taken by shadows and uneven shading
    tint: float = 0.0  # largest relative change of each colour that differs from part to part
    soften_px: float = 0.0  # largest radius (one deviation) of a blur, as of another lens
    patches: float = 0.1  # share of the picture that may be replaced by something else
    tilt_deg: float = 2.0  # largest tilt of the camera


@dataclass(frozen=True, kw_only=True)
class ContrastOptions:
    """How far two views of one place may lie apart, and what counts as another place."""

    temperature: float = 0.05
    shift_m: float = 35.0  # to the nearest of references 65 m apart it is at most 46 m
    turn_deg: float = 16.0  # to the nearest of twelve headings it is at most 15
    scale: float = 0.2
    tilt_deg: float = 2.0
    centre: bool = False  # compare what is left when the mean of the batch is taken out, as whitening does
    near_m: float = 120.0  # places nearer than this show too much of the same ground to be told apart


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """One training run."""

    schedule: Literal["plateau", "budget"] = "plateau"
    batch: int = 64
    extractor_rate: float = 1e-4
    classifier_rate: float = 1e-2
    patience_epochs: int = 10
    rate_factor: float = 0.1
    stop_rate: float = 1e-6
    steps_per_epoch: int = 0  # 0: once over all views; groups of cells take turns by epochs
    epoch_views: int = 12_000  # altitude: views that count as all, one hundred for each five metres
    altitude_step_m: float = 5.0  # altitude: views come from multiples of this; 0: from any altitude
    valid_share: float = 0.95  # altitude: share of a view that must lie on the map
    imprint_views: int = 0  # place: prototypes start as the mean of so many views of their cell; 0: at random
    budget_steps: int = 0  # budget schedule: whichever of the two comes first
    budget_s: float = 0.0
    warm_up: float = 0.05  # budget schedule: share of the budget over which the rates rise
    clip_norm: float = 1.0
    freeze_norm: bool = False  # normalisation layers keep the statistics they started with
    checkpoint_every_s: float = 30.0
    validation_views: int = 512
    seed: int = 0
