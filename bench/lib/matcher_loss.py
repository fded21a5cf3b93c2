"""What the matcher is taught by: its teacher's descriptors, and which keypoints show the same ground."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from nadirfix.train.models.matcher import CELL, MatcherNetwork
from nadirfix.verify.features import KEYPOINT_THRESHOLD

#: Keypoints of a picture that are compared, at most; and how near their ground must lie to be the same.
KEYPOINTS, SAME_PX = 700, 2.0
#: Cosines are divided by this before they are chances.
TEMPERATURE = 0.06
_MARGIN_PX = 4


class MatcherOutput(NamedTuple):
    """What a network makes of a batch of pictures."""

    descriptors: Tensor  # units
    chance: Tensor  # of a keypoint, for each pixel
    reliability: Tensor


class Losses(NamedTuple):
    """Parts of the loss, and the share of keypoints whose nearest neighbour is the right one."""

    descriptors: Tensor
    reliability: Tensor
    matches: Tensor
    right_share: Tensor


def output_of(network: MatcherNetwork, pictures: Tensor) -> MatcherOutput:
    output = network(pictures)
    chance = functional.pixel_shuffle(output[:, 64 : 64 + CELL**2], CELL)[:, 0]
    return MatcherOutput(output[:, :64], chance, output[:, -1])


def losses(
    pupil: MatcherOutput, teacher: MatcherOutput, map_from_photo: Tensor, draw: torch.Generator
) -> Losses:
    """Photos are the first half of the pictures, the map near each the second."""
    away = 1 - (pupil.descriptors * teacher.descriptors).sum(1)
    reliability = functional.mse_loss(pupil.reliability, teacher.reliability)
    count = len(map_from_photo)
    parts = [
        match_loss(
            described(pupil, i, draw), described(pupil, i + count, draw), map_from_photo[i]
        )
        for i in range(count)
    ]  # fmt: skip
    matches, right = (torch.stack(column).mean() for column in zip(*parts, strict=True))
    return Losses(away.mean(), reliability, matches, right)


def described(output: MatcherOutput, index: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """Keypoints of a picture, corners at whole numbers, and their descriptors as the product takes them."""
    chance = output.chance[index].detach()
    peak = (chance >= functional.max_pool2d(chance[None], 5, 1, 2)[0]) & (chance > KEYPOINT_THRESHOLD)
    inside = torch.zeros_like(peak)
    inside[_MARGIN_PX:-_MARGIN_PX, _MARGIN_PX:-_MARGIN_PX] = True
    rows, cols = torch.nonzero(peak & inside, as_tuple=True)
    chosen = torch.randperm(len(rows), generator=draw)[:KEYPOINTS]
    rows, cols = rows[chosen], cols[chosen]
    height, width = chance.shape
    spots = torch.stack([2.0 * cols / (width - 1) - 1, 2.0 * rows / (height - 1) - 1], dim=1)[None, None]
    units = output.descriptors[index][None]
    taken = functional.grid_sample(units, spots, mode="bicubic", padding_mode="border", align_corners=False)
    places = torch.stack([cols + 0.5, rows + 0.5], dim=1)
    return places, functional.normalize(taken[0, :, 0].T, dim=1)


def match_loss(
    photo: tuple[Tensor, Tensor], ground: tuple[Tensor, Tensor], map_from_photo: Tensor
) -> tuple[Tensor, Tensor]:
    """Cross entropy, both ways, of keypoints that show the same ground among all of the other picture."""
    there = functional.pad(photo[0], (0, 1), value=1.0) @ map_from_photo.T
    distance = torch.cdist(there[:, :2] / there[:, 2:], ground[0])
    same = (
        (distance <= SAME_PX)
        & (distance <= distance.amin(0, keepdim=True))
        & (distance <= distance.amin(1, keepdim=True))
    )
    rows, cols = torch.nonzero(same, as_tuple=True)
    table = photo[1] @ ground[1].T / TEMPERATURE
    if len(rows) == 0:
        return 0 * table.sum(), table.new_zeros(())
    forth = functional.cross_entropy(table[rows], cols)
    back = functional.cross_entropy(table.T[cols], rows)
    return (forth + back) / 2, (table[rows].argmax(1) == cols).float().mean()
