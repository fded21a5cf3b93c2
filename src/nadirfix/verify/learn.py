"""Learning to find points again: pairs of rendered looks at the same ground, whose geometry is known.

A description must be likest to that of the same point in the other look, among hundreds of others of the same
two pictures. Where in its cell a point lies is learned without being told: both looks must choose the same
spot, whatever it is. And whether a point can be relied on is whether it was found again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nadirfix.nn.augment import Augmenter
from nadirfix.nn.data import batch_index
from nadirfix.nn.ground import fingerprint
from nadirfix.nn.loop import Job
from nadirfix.nn.pairs import PairedGround, Pairs
from nadirfix.nn.points import CELL_PX, PointNetwork
from nadirfix.options_train import AugmentOptions, PairOptions, TrainOptions

__all__ = ["Spots", "agreement_loss", "mapped", "match_loss", "point_job", "settled"]

#: Points nearer to the edge of a picture describe the edge.
_MARGIN_PX = 8.0
#: How much likeness counts, at first and at most.
_SHARP, _SHARPEST = 15.0, 50.0
_FAINT = 1e-4


def point_job(
    network: PointNetwork,
    grounds: Sequence[PairedGround],
    training: TrainOptions,
    augment: AugmentOptions,
    *,
    parts: int,
) -> Job:
    """Training the network on many places; every batch has parts of several, so that none sets the tone."""
    options, device = grounds[0].options, grounds[0].dates[0].device
    changes = Augmenter(augment, seed=training.seed, device=device)

    def batch(step: int, _epoch: int, part: slice) -> tuple[Pairs]:
        index = batch_index(step, training.batch, part)
        drawn = _drawn(grounds, index, parts)
        pictures = torch.cat([drawn.one, drawn.other])
        grey = changes(pictures, np.concatenate([2 * index, 2 * index + 1])).mean(1, keepdim=True)
        one, other = grey.chunk(2)
        return (dataclasses.replace(drawn, one=one, other=other),)

    maps = [fingerprint(date.texture) for ground in grounds for date in ground.dates]
    return Job(
        name="points",
        network=network,
        loss=_Loss(network, options),
        classifier=[],
        batch=batch,
        validate=dict,
        epoch_views=sum(len(ground.places[0]) for ground in grounds),
        details={"maps": maps},
    )


def _drawn(grounds: Sequence[PairedGround], index: np.ndarray[Any, np.dtype[np.int64]], parts: int) -> Pairs:
    """Pairs of several places, each place's turn told by the running number."""
    turn = int(index[0]) // len(index)
    some = np.array_split(index, min(parts, len(index)))
    drawn = [grounds[(turn * len(some) + i) % len(grounds)].draw(rows) for i, rows in enumerate(some)]
    names = [field.name for field in dataclasses.fields(Pairs)]
    return Pairs(*(torch.cat([getattr(pairs, name) for pairs in drawn]) for name in names))


class _Loss(nn.Module):
    """What a batch of pairs teaches: descriptions, places within cells, and reliance."""

    def __init__(self, network: PointNetwork, options: PairOptions) -> None:
        super().__init__()
        self.network, self.options = network, options
        self.sharpness = nn.Parameter(torch.tensor(math.log(_SHARP)))

    def forward(self, pairs: Pairs) -> Tensor:
        o = self.options
        told = [part.float() for part in self.network.parts(torch.cat([pairs.one, pairs.other]))]
        described, placed, relied = (part.chunk(2) for part in told)
        with torch.autocast(pairs.one.device.type, enabled=False):
            one, other = (functional.pixel_shuffle(p.softmax(1), CELL_PX) for p in placed)
            pairs = settled(one, other, pairs, o.settle_px)
            spots = _spots(one.detach(), pairs, o)
            sharp = self.sharpness.clamp(max=math.log(_SHARPEST)).exp()
            alike, again = match_loss(described[0], described[1], spots, sharp, o.near_px)
            apart = agreement_loss(one, other, pairs)
            mistaken = _reliance_loss(relied[0], relied[1], spots, again)
        return alike + o.places_weight * apart + o.reliance_weight * mistaken


@dataclass(frozen=True, slots=True, eq=False)
class Spots:
    """Points of the first look, the same in the second, and others of the second; pixels, corner at 0, 0."""

    one: Tensor  # (batch, points, 2)
    other: Tensor
    seen: Tensor  # (batch, points) whether both looks show the point
    strangers: Tensor  # (batch, strangers, 2)


def mapped(points: Tensor, matrix: Tensor) -> Tensor:
    """Points (batch, count, 2) through homographies (batch, 3, 3)."""
    whole = torch.cat([points, torch.ones_like(points[..., :1])], dim=-1) @ matrix.transpose(1, 2)
    return whole[..., :2] / whole[..., 2:]


def agreement_loss(one: Tensor, other: Tensor, pairs: Pairs) -> Tensor:
    """How unlikely it is that both looks choose the same spot of a cell, over cells that both show.

    A spot chosen by its place in the cell is never met again, as the other look is moved; one chosen by what
    the ground looks like is.
    """
    soft = _softened(other)  # so that a miss by a pixel still tells which way to go
    expected = _warped(soft, pairs.other_from_one)
    shown = (_warped(pairs.other_there, pairs.other_from_one) > 0.99).float() * pairs.one_there
    both = functional.avg_pool2d(one * expected, CELL_PX) * CELL_PX**2
    usable = (functional.avg_pool2d(shown, CELL_PX) > 0.99) & pairs.aligned[:, None, None, None]
    weight = usable.float()
    return -(torch.log(both + _FAINT) * weight).sum() / weight.sum().clamp(min=1)


@torch.no_grad()
def settled(one: Tensor, other: Tensor, pairs: Pairs, reach_px: int) -> Pairs:
    """Pairs that lie apart, moved by whole pixels to where most points of both looks fall on each other."""
    if reach_px == 0 or bool(pairs.aligned.all()):
        return pairs
    expected = _softened(_warped(other, pairs.other_from_one))
    around = functional.pad(expected, (reach_px,) * 4)
    rows, columns = one.shape[2:]
    steps = [(y, x) for y in range(2 * reach_px + 1) for x in range(2 * reach_px + 1)]
    met = [(one * around[..., y : y + rows, x : x + columns]).sum((1, 2, 3)) for y, x in steps]
    best = torch.stack(met, dim=1).argmax(1)
    down_right = torch.tensor(steps, device=one.device)[best] - reach_px
    shift = torch.eye(3, device=one.device).repeat(len(one), 1, 1)
    shift[:, 0, 2], shift[:, 1, 2] = down_right[:, 1].to(shift), down_right[:, 0].to(shift)
    better = torch.where(pairs.aligned[:, None, None], pairs.other_from_one, pairs.other_from_one @ shift)
    return dataclasses.replace(pairs, other_from_one=better, aligned=torch.ones_like(pairs.aligned))


def match_loss(
    one: Tensor, other: Tensor, spots: Spots, sharpness: Tensor, near_px: float
) -> tuple[Tensor, Tensor]:
    """How badly points are found among each other, both ways, and (batch, points) which ones were."""
    here, there = _sampled(one, spots.one), _sampled(other, spots.other)
    elsewhere = _sampled(other, spots.strangers)
    forth = here @ torch.cat([there, elsewhere], dim=1).transpose(1, 2) * sharpness
    forth = forth.masked_fill(_ruled_out(spots, near_px), -torch.inf)
    count = here.shape[1]
    back = forth[..., :count].transpose(1, 2)
    truth = torch.arange(count, device=one.device).expand(len(here), -1)
    lost = [functional.cross_entropy(t.transpose(1, 2), truth, reduction="none") for t in (forth, back)]
    again = (forth.argmax(2) == truth) & (back.argmax(2) == truth)
    weight = spots.seen.float()
    total = ((lost[0] + lost[1]) / 2 * weight).sum() / weight.sum().clamp(min=1)
    return total, again


def _ruled_out(spots: Spots, near_px: float) -> Tensor:
    """Which comparisons do not count: points that one look lacks, and others that are nearly the same."""
    count = spots.one.shape[1]
    others = torch.cat([spots.other, spots.strangers], dim=1)
    near = torch.cdist(spots.other, others) < near_px
    unseen = torch.zeros_like(near)
    unseen[..., :count] = ~spots.seen[:, None, :]
    own = torch.zeros_like(near)
    own[..., :count] = torch.eye(count, dtype=torch.bool, device=near.device)
    return (near | unseen) & ~own


def _reliance_loss(one: Tensor, other: Tensor, spots: Spots, again: Tensor) -> Tensor:
    """How wrong the network was about which points would be found again."""
    weight, truth, total = spots.seen.float(), again.float(), one.new_zeros(())
    for told, at in ((one, spots.one), (other, spots.other)):
        said = functional.grid_sample(told, _shares(at, told, CELL_PX)[:, :, None], align_corners=False)
        wrong = functional.binary_cross_entropy_with_logits(said[:, 0, :, 0], truth, reduction="none")
        total = total + (wrong * weight).sum() / weight.sum().clamp(min=1)
    return total / 2


@torch.no_grad()
def _spots(chance: Tensor, pairs: Pairs, options: PairOptions) -> Spots:
    """Points to learn from: half where the network would choose them, half anywhere."""
    batch, _, rows, columns = chance.shape
    size = torch.tensor([columns, rows], device=chance.device, dtype=chance.dtype)
    chosen = torch.multinomial(chance.flatten(1) * pairs.one_there.flatten(1) + 1e-9, options.points // 2)
    found = torch.stack([chosen % columns, chosen // columns], dim=-1).to(chance.dtype) + 0.5
    anywhere = torch.rand((batch, options.points - found.shape[1], 2), device=chance.device) * size
    one = torch.cat([found, anywhere], dim=1)
    exact = mapped(one, pairs.other_from_one)
    seen = _inside(one, size) & _inside(exact, size)
    seen &= _shown(one, pairs.one_there) & _shown(exact, pairs.other_there)
    other = exact + options.jitter_px * torch.randn_like(exact)
    strangers = torch.rand((batch, options.strangers, 2), device=chance.device) * size
    return Spots(one, other, seen, strangers)


def _inside(points: Tensor, size: Tensor) -> Tensor:
    return ((points >= _MARGIN_PX) & (points <= size - _MARGIN_PX)).all(-1)


def _shown(points: Tensor, there: Tensor) -> Tensor:
    grid = _shares(points, there)[:, :, None]
    found = functional.grid_sample(there, grid, mode="nearest", align_corners=False)
    return found[:, 0, :, 0] > 0.5


def _sampled(maps: Tensor, points: Tensor) -> Tensor:
    """Unit descriptions (batch, points, length) between cells, as they are read when photos are placed."""
    grid = _shares(points, maps, CELL_PX)[:, :, None]
    taken = functional.grid_sample(maps, grid, mode="bicubic", padding_mode="border", align_corners=False)
    return functional.normalize(taken[..., 0].transpose(1, 2), dim=-1)


def _shares(points: Tensor, maps: Tensor, step_px: int = 1) -> Tensor:
    """Pixels as shares of a picture from -1 to 1, of which maps have one value for each step."""
    size = torch.tensor([maps.shape[3], maps.shape[2]], device=points.device, dtype=points.dtype) * step_px
    return 2 * points / size - 1


def _warped(maps: Tensor, moved: Tensor) -> Tensor:
    """What the other look has where each pixel of the first one lies in it; nothing beyond its edge."""
    batch, _, rows, columns = maps.shape
    there = mapped(_centres(rows, columns, maps.device).expand(batch, -1, -1), moved)
    grid = _shares(there, maps).view(batch, rows, columns, 2)
    return functional.grid_sample(maps, grid, mode="bilinear", align_corners=False)


def _centres(rows: int, columns: int, device: torch.device) -> Tensor:
    down, across = torch.meshgrid(
        torch.arange(rows, device=device) + 0.5, torch.arange(columns, device=device) + 0.5, indexing="ij"
    )
    return torch.stack([across.flatten(), down.flatten()], dim=-1)[None]


def _softened(chance: Tensor) -> Tensor:
    """Each pixel's chance shared with its neighbours: a quarter, a half, a quarter along both axes."""
    taps = torch.tensor([0.25, 0.5, 0.25], device=chance.device, dtype=chance.dtype)
    down = functional.conv2d(chance, taps.view(1, 1, 3, 1), padding=(1, 0))
    return functional.conv2d(down, taps.view(1, 1, 1, 3), padding=(0, 1))
