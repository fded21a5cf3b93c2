"""From views to batches: pictures rendered from the map and augmented as if taken on another day.

Views are sampled in ``altitude_views`` and ``place_views``; both follow from the seed and an index alone, so
that a run can be stopped, resumed and shared among processes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nadirfix.camera import Camera
from nadirfix.errors import TrainingError
from nadirfix.geo.views import Views
from nadirfix.options.training import AugmentOptions
from nadirfix.train.data.augment import Augmenter
from nadirfix.train.data.cpu_renderer import BatchRenderer

__all__ = ["Pictures", "Sampling", "batch_index", "no_views"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What all views of a training run have in common."""

    camera: Camera
    seed: int
    valid_share: float
    tilt_deg: float


class Pictures:
    """Renders training views at a network's size, and augments them."""

    def __init__(
        self,
        renderer: BatchRenderer,
        camera: Camera,
        size: tuple[int, int],
        augment: AugmentOptions,
        *,
        seed: int,
    ) -> None:
        self.renderer, self.camera, self.size = renderer, camera, size
        self.augment = Augmenter(augment, seed=seed, device=renderer.device)

    def rendered(self, views: Views) -> Tensor:
        """The views as the map shows them (batch, RGB, rows, columns; 0-255).

        The little that lies off the map takes the mean colour of the rest: a black edge would give away the
        size of the footprint.
        """
        pixels, cover = self.renderer.render_reduced(views, self.camera, self.size)
        covered = (cover >= 0.5).float()
        mean = (pixels * covered).sum((2, 3), keepdim=True) / covered.sum((2, 3), keepdim=True).clamp(min=1)
        return torch.where(covered > 0, pixels, mean)

    def augmented(self, views: Views, index: Ints) -> Tensor:
        """The views as another day might show them."""
        return self.augment(self.rendered(views), index)


def batch_index(step: int, batch: int, part: slice) -> Ints:
    """The running numbers of the views of this step that fall to this process."""
    return np.arange(step * batch + part.start, step * batch + part.stop, dtype=np.int64)


def no_views(kind: str, which: str, valid_share: float) -> TrainingError:
    """The error for a class without training views."""
    return TrainingError(
        "training.empty_class",
        f"the {kind} network has classes without training views",
        seen=f"{which}: no view with {valid_share:.0%} of it on the map",
        do="use a larger map, narrow the recipe's altitude range, or lower valid_share in its training",
    )
