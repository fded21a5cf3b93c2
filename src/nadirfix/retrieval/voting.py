"""Hypotheses from the whole frame: lookalikes of every part of a photo vote for where its middle lies.

A photo is cut into crops at the references' scale, for each altitude it may have been taken from. A reference
that looks like a crop says where that crop lies and where its top points; the crop's place in the photo is
known, so each such reference votes for a view of the whole photo. What many crops vote for is a hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import compass_deg, turn_deg
from nadirfix.options.voting import VoteOptions
from nadirfix.types import Hypothesis, Point, View

__all__ = ["Votes", "hypotheses_from", "merged", "shares_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Squared distance, in deviations, beyond which two votes have nothing to do with each other: one in 10 000.
_UNRELATED = 18.4


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """What references say: a spot of the photo lies at this place, with its top pointing there.

    Spots are in photo pixels from the middle of the frame, right and ahead (up); ``gsd_m`` is the ground
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
        """How far from the frame's middle each spot lies on the ground."""
        return np.asarray(np.hypot(self.right_px, self.ahead_px) * self.gsd_m, np.float64)

    def centers(self) -> tuple[Floats, Floats]:
        """Where each vote has the middle of the frame."""
        turn = np.radians(self.heading_deg)
        right, ahead = self.right_px * self.gsd_m, self.ahead_px * self.gsd_m
        east = self.east_m - right * np.cos(turn) - ahead * np.sin(turn)
        north = self.north_m + right * np.sin(turn) - ahead * np.cos(turn)
        return east, north


def shares_of(similarity: Floats, temperature: float) -> Floats:
    """What each of a crop's lookalikes (along the last axis) counts: all of a crop's together one."""
    sharp = np.exp((similarity - similarity.max(axis=-1, keepdims=True)) / temperature)
    return np.asarray(sharp / sharp.sum(axis=-1, keepdims=True), np.float64)


def hypotheses_from(votes: Votes, camera: Camera, epsg: int, options: VoteOptions) -> list[Hypothesis]:
    """The views most is said for, best first, each found once; a score is the share of all votes."""
    total = float(votes.weight.sum())
    found: list[Hypothesis] = []
    for frame, support in _peaks(votes, options):
        found = merged(found, [Hypothesis(frame.view(camera, epsg), support / total)], options)
        if len(found) == options.hypotheses:
            break
    return found


def merged(
    some: Sequence[Hypothesis], others: Sequence[Hypothesis], options: VoteOptions
) -> list[Hypothesis]:
    """Both lists as one, best first, without those that only repeat a better one."""
    kept: list[Hypothesis] = []
    for one in sorted([*some, *others], key=lambda h: -h.score):
        if not any(_same(one.view, other.view, options) for other in kept):
            kept.append(one)
    return kept[: options.hypotheses]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where the frame lies: its middle, and how far along the ground a pixel to the right reaches.

    A spot (right, ahead) lies at east + right·across + ahead·along, north − right·along + ahead·across.
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

    def misses_m(self, votes: Votes) -> Floats:
        """How far each vote's reference lies from where this frame has its spot."""
        east = self.east_m + votes.right_px * self.across_m + votes.ahead_px * self.along_m
        north = self.north_m - votes.right_px * self.along_m + votes.ahead_px * self.across_m
        return np.asarray(np.hypot(votes.east_m - east, votes.north_m - north), np.float64)


def _peaks(votes: Votes, options: VoteOptions) -> Iterator[tuple[_Frame, float]]:
    """Frames with what is said for each; whoever has spoken for one does not speak for the next."""
    kin = _Kinship.among(votes, options)
    left = np.ones(len(votes), np.bool_)
    while left.any():
        best = kin.middle(np.where(left, votes.weight, 0.0), left)
        near = left & (kin.to(best) > options.kin)
        frame = _fitted(votes.take(near), options)
        agree = near & (frame.misses_m(votes) < 3 * options.place_m)
        agree[best] = True
        yield frame, _support(frame, votes.take(agree), options)
        left &= ~agree


@dataclass(frozen=True, slots=True, eq=False)
class _Kinship:
    """How far pairs of votes mean the same view: 1 for the very same, 0 for quite another.

    Worked out once for all, and kept for those pairs only that are anywhere near each other: few are.
    """

    count: int
    one: Ints
    other: Ints
    alike: Floats

    @classmethod
    def among(cls, votes: Votes, options: VoteOptions) -> _Kinship:
        """A reference's heading is one of a few: the farther out its spot, the farther the middle moves."""
        east, north = votes.centers()
        spread = options.place_m**2 + (votes.reach_m * math.radians(options.turn_deg)) ** 2
        away = _between(east) ** 2 + _between(north) ** 2
        away /= spread[:, None] + spread[None, :]
        one, other = np.nonzero(away < _UNRELATED)
        turn = turn_deg(votes.heading_deg[one] - votes.heading_deg[other]) / (2 * options.turn_deg)
        scale = np.log(votes.gsd_m[one] / votes.gsd_m[other]) / options.scale
        alike = np.exp(-0.5 * (away[one, other] + turn**2 + scale**2))
        return cls(len(votes), one, other, np.asarray(alike, np.float64))

    def middle(self, weight: Floats, allowed: NDArray[np.bool_]) -> int:
        """The vote, of those allowed, that most is said for by its kin."""
        said = np.bincount(self.one, self.alike * weight[self.other], minlength=self.count)
        return int(np.argmax(np.where(allowed, said, -1.0)))

    def to(self, row: int) -> Floats:
        """How near of kin every vote is to one of them."""
        near = slice(*np.searchsorted(self.one, [row, row + 1]))
        kin = np.zeros(self.count)
        kin[self.other[near]] = self.alike[near]
        return kin


def _fitted(votes: Votes, options: VoteOptions) -> _Frame:
    """The frame these votes agree on best: a similarity between spots and places, by least squares.

    Heading and scale start as what the votes mean on average and are held to that as firmly as votes are
    usually right; spots far apart overrule it. Votes that miss by far count less, in three rounds.
    """
    start = _average(votes)
    frame = start
    for _ in range(3):
        miss = frame.misses_m(votes) / options.place_m
        frame = _least_squares(votes, votes.weight / (1 + miss**2), start, options)
    return frame


def _average(votes: Votes) -> _Frame:
    share = votes.weight / votes.weight.sum()
    turn = np.radians(votes.heading_deg)
    along, across = float(share @ np.sin(turn)), float(share @ np.cos(turn))
    gsd_m = math.exp(float(share @ np.log(votes.gsd_m))) / max(math.hypot(along, across), 1e-9)
    east, north = votes.centers()
    return _Frame(
        float(votes.east_m[0] + share @ (east - votes.east_m[0])),
        float(votes.north_m[0] + share @ (north - votes.north_m[0])),
        across * gsd_m,
        along * gsd_m,
    )


def _least_squares(votes: Votes, weight: Floats, held: _Frame, options: VoteOptions) -> _Frame:
    """Both coordinates of every spot, and the held heading and scale, as rows of one linear problem."""
    share = np.sqrt(weight / weight.sum() * len(votes))
    one, none = np.ones(len(votes)), np.zeros(len(votes))
    firm = options.place_m / (held.gsd_m * options.scale)
    east = np.column_stack([one, none, votes.right_px, votes.ahead_px]) * share[:, None]
    north = np.column_stack([none, one, votes.ahead_px, -votes.right_px]) * share[:, None]
    stay = np.array([[0.0, 0.0, firm, 0.0], [0.0, 0.0, 0.0, firm]])
    wanted = np.concatenate([
        (votes.east_m - held.east_m) * share,
        (votes.north_m - held.north_m) * share,
        [firm * held.across_m, firm * held.along_m],
    ])  # fmt: skip
    solved = np.linalg.lstsq(np.concatenate([east, north, stay]), wanted, rcond=None)[0]
    return _Frame(held.east_m + solved[0], held.north_m + solved[1], float(solved[2]), float(solved[3]))


def _support(frame: _Frame, votes: Votes, options: VoteOptions) -> float:
    return float(votes.weight @ np.exp(-0.5 * (frame.misses_m(votes) / options.place_m) ** 2))


def _same(one: View, other: View, options: VoteOptions) -> bool:
    """Whether two views would be looked at as one: close, turned alike, from about as high."""
    apart_m = one.center.distance_m(other.center)
    turned = abs(turn_deg(one.heading_deg - other.heading_deg))
    scaled = abs(math.log(one.altitude_m / other.altitude_m))
    return apart_m < options.place_m and turned < options.turn_deg and scaled < options.scale


def _between(values: Floats) -> Floats:
    return np.asarray(values[:, None] - values[None, :], np.float64)
