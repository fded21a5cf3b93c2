"""Hypotheses from the whole frame: the references nearest to every part of a photo vote for its view.

A photo is cut into crops at the references' scale, for each altitude it may have been taken from. A reference
similar to a crop says where that crop lies and where its top points; the crop's position in the photo is
known, so each such reference votes for a view of the whole photo. What many crops vote for is a hypothesis
(ADR 17).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg, wrap_deg
from nadirfix.options.voting import VoteOptions
from nadirfix.types import Hypothesis, Point, View

__all__ = ["Votes", "hypotheses_from", "joined", "merged", "vote_weights"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Squared distance, in deviations, beyond which two votes have nothing to do with each other: one in 10 000.
_UNRELATED = 18.4


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """What references vote for: a crop of the photo lies at this position, with its top pointing there.

    Crops are in photo pixels from the middle of the frame, right and ahead (up); ``gsd_m`` is the ground
    sampling distance the crop was taken at.
    """

    right_px: Floats
    ahead_px: Floats
    gsd_m: Floats
    east_m: Floats
    north_m: Floats
    heading_deg: Floats
    weight: Floats

    def __len__(self) -> int:
        return int(self.weight.size)

    def take(self, rows: NDArray[np.bool_]) -> Votes:
        """Some of the votes."""
        return Votes(*(getattr(self, name)[rows] for name in self.__slots__))

    @property
    def reach_m(self) -> Floats:
        """How far from the frame's middle each crop lies on the ground."""
        return np.asarray(np.hypot(self.right_px, self.ahead_px) * self.gsd_m, np.float64)

    def centers(self) -> tuple[Floats, Floats]:
        """Where each vote has the middle of the frame."""
        turn = np.radians(self.heading_deg)
        right, ahead = self.right_px * self.gsd_m, self.ahead_px * self.gsd_m
        east = self.east_m - right * np.cos(turn) - ahead * np.sin(turn)
        north = self.north_m + right * np.sin(turn) - ahead * np.cos(turn)
        return east, north


def joined(votes: Sequence[Votes]) -> Votes:
    """All votes as one."""
    return Votes(*(np.concatenate([getattr(v, name) for v in votes]) for name in Votes.__slots__))


def vote_weights(similarity: Floats, temperature: float) -> Floats:
    """The weights of a crop's nearest references (along the last axis): a softmax, which adds up to one."""
    weight = np.exp((similarity - similarity.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True), np.float64)


def hypotheses_from(votes: Votes, camera: Camera, epsg: int, options: VoteOptions) -> list[Hypothesis]:
    """The views with most votes, best first, each once; a score is the share of all votes."""
    total = float(votes.weight.sum())
    best_first: list[Hypothesis] = []
    for frame, score in _peaks(votes, options):
        best_first = merged(best_first, [Hypothesis(frame.view(camera, epsg), score / total)], options)
        if len(best_first) == options.hypotheses:
            break
    return best_first


def merged(
    some: Sequence[Hypothesis], others: Sequence[Hypothesis], options: VoteOptions
) -> list[Hypothesis]:
    """Both lists as one, best first, without those that only repeat a better one."""
    kept: list[Hypothesis] = []
    for one in sorted([*some, *others], key=lambda h: -h.score):
        if not any(_duplicates(one.view, other.view, options) for other in kept):
            kept.append(one)
    return kept[: options.hypotheses]


@dataclass(frozen=True, slots=True)
class _FramePose:
    """Where the frame lies: its middle, and how far along the ground a pixel to the right reaches.

    A crop (right, ahead) lies at east + right·across + ahead·along, north − right·along + ahead·across.
    """

    east_m: float
    north_m: float
    across_m: float
    along_m: float

    @property
    def gsd_m(self) -> float:
        return math.hypot(self.across_m, self.along_m)

    def view(self, camera: Camera, epsg: int) -> View:
        """The view of a camera whose photo lies so."""
        heading_deg = compass_deg(math.degrees(math.atan2(self.along_m, self.across_m)))
        return View(Point(self.east_m, self.north_m, epsg), camera.altitude_m(self.gsd_m), heading_deg)

    def ground_residuals_m(self, votes: Votes) -> Floats:
        """How far each vote's reference lies from where this frame has its crop."""
        east = self.east_m + votes.right_px * self.across_m + votes.ahead_px * self.along_m
        north = self.north_m - votes.right_px * self.along_m + votes.ahead_px * self.across_m
        return np.asarray(np.hypot(votes.east_m - east, votes.north_m - north), np.float64)


def _peaks(votes: Votes, options: VoteOptions) -> Iterator[tuple[_FramePose, float]]:
    """Frame poses with the votes for each; a vote for one does not count for the next."""
    affinity = _Affinity.among(votes, options)
    remaining = np.ones(len(votes), np.bool_)
    while remaining.any():
        best = affinity.middle(np.where(remaining, votes.weight, 0.0), remaining)
        near = remaining & (affinity.to(best) > options.affinity)
        frame = _fitted(votes.take(near), options)
        inliers = near & (frame.ground_residuals_m(votes) < 3 * options.position_m)
        inliers[best] = True
        yield frame, _vote_score(frame, votes.take(inliers), options)
        remaining &= ~inliers


@dataclass(frozen=True, slots=True, eq=False)
class _Affinity:
    """How far pairs of votes mean the same view: 1 for the very same, 0 for quite another.

    Computed once for all, and kept for those pairs only that are anywhere near each other: few are.
    """

    count: int
    one: Ints
    other: Ints
    weights: Floats

    @classmethod
    def among(cls, votes: Votes, options: VoteOptions) -> _Affinity:
        """A reference's heading is one of a few: the farther out its crop, the farther the middle moves."""
        east, north = votes.centers()
        spread = options.position_m**2 + (votes.reach_m * math.radians(options.turn_deg)) ** 2
        distance = _differences(east) ** 2 + _differences(north) ** 2
        distance /= spread[:, None] + spread[None, :]
        one, other = np.nonzero(distance < _UNRELATED)
        turn = wrap_deg(votes.heading_deg[one] - votes.heading_deg[other]) / (2 * options.turn_deg)
        scale = np.log(votes.gsd_m[one] / votes.gsd_m[other]) / options.scale
        weights = np.exp(-0.5 * (distance[one, other] + turn**2 + scale**2))
        return cls(len(votes), one, other, np.asarray(weights, np.float64))

    def middle(self, weight: Floats, allowed: NDArray[np.bool_]) -> int:
        """The vote, of those allowed, with the largest weight of votes akin to it: the mode."""
        score = np.bincount(self.one, self.weights * weight[self.other], minlength=self.count)
        return int(np.argmax(np.where(allowed, score, -1.0)))

    def to(self, row: int) -> Floats:
        """The affinity of every vote to one of them."""
        near = slice(*np.searchsorted(self.one, [row, row + 1]))
        affinity = np.zeros(self.count)
        affinity[self.other[near]] = self.weights[near]
        return affinity


def _fitted(votes: Votes, options: VoteOptions) -> _FramePose:
    """The pose these votes agree on best: a similarity from crops to references, by least squares.

    Heading and scale start as the average of the votes and have that as their prior, as firm as votes are
    usually right; crops far apart overrule it. Votes with large residuals count less, in three iterations.
    """
    start = _average(votes)
    frame = start
    for _ in range(3):
        residuals = frame.ground_residuals_m(votes) / options.position_m
        frame = _least_squares(votes, votes.weight / (1 + residuals**2), start, options)
    return frame


def _average(votes: Votes) -> _FramePose:
    share = votes.weight / votes.weight.sum()
    turn = np.radians(votes.heading_deg)
    along, across = float(share @ np.sin(turn)), float(share @ np.cos(turn))
    gsd_m = math.exp(float(share @ np.log(votes.gsd_m))) / max(math.hypot(along, across), 1e-9)
    east, north = votes.centers()
    return _FramePose(
        float(votes.east_m[0] + share @ (east - votes.east_m[0])),
        float(votes.north_m[0] + share @ (north - votes.north_m[0])),
        across * gsd_m,
        along * gsd_m,
    )


def _least_squares(votes: Votes, weight: Floats, prior: _FramePose, options: VoteOptions) -> _FramePose:
    """Both coordinates of every crop, and the prior of heading and scale, as rows of one linear problem."""
    share = np.sqrt(weight / weight.sum() * len(votes))
    one, none = np.ones(len(votes)), np.zeros(len(votes))
    firmness = options.position_m / (prior.gsd_m * options.scale)
    east = np.column_stack([one, none, votes.right_px, votes.ahead_px]) * share[:, None]
    north = np.column_stack([none, one, votes.ahead_px, -votes.right_px]) * share[:, None]
    prior_rows = np.array([[0.0, 0.0, firmness, 0.0], [0.0, 0.0, 0.0, firmness]])
    targets = np.concatenate([
        (votes.east_m - prior.east_m) * share,
        (votes.north_m - prior.north_m) * share,
        [firmness * prior.across_m, firmness * prior.along_m],
    ])  # fmt: skip
    solution = np.linalg.lstsq(np.concatenate([east, north, prior_rows]), targets, rcond=None)[0]
    return _FramePose(
        prior.east_m + solution[0], prior.north_m + solution[1], float(solution[2]), float(solution[3])
    )


def _vote_score(frame: _FramePose, votes: Votes, options: VoteOptions) -> float:
    return float(votes.weight @ np.exp(-0.5 * (frame.ground_residuals_m(votes) / options.position_m) ** 2))


def _duplicates(one: View, other: View, options: VoteOptions) -> bool:
    """Whether two views count as one: close, turned alike, from about as high."""
    apart_m = one.center.distance_m(other.center)
    turned_deg = abs(wrap_deg(one.heading_deg - other.heading_deg))
    scale_log = abs(math.log(one.altitude_m / other.altitude_m))
    return apart_m < options.position_m and turned_deg < options.turn_deg and scale_log < options.scale


def _differences(values: Floats) -> Floats:
    return np.asarray(values[:, None] - values[None, :], np.float64)
