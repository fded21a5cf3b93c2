"""A photo ready to vote: each of its crops is described and looked up once, however often it is asked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.image.crop import Canonical, Picture, Pixels, Sheet, canonical_crop, canonical_sheet
from nadirfix.options.recipe import Enlarge
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.voting import Votes, shares_of

__all__ = ["Frame", "Lookup", "Places", "Scale"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

#: Where a crop lies: ground sampling distance, and its middle right of and above the photo's, in its pixels.
_Spot = tuple[float, float, float]
#: Crops cut before they are described: so many pictures are in memory, however many altitudes are asked.
_AT_ONCE = 48
#: References whose likeness speaks for a scale: neighbours of one place, mostly.
_FEW = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """A ground sampling distance the photo may have, and how likely that is."""

    gsd_m: float
    share: float


class Places(Protocol):
    """Where reference views look from."""

    @property
    def east_m(self) -> Floats:
        """Metres east of each."""

    @property
    def north_m(self) -> Floats:
        """Metres north of each."""

    @property
    def heading_deg(self) -> Floats:
        """Where the top of each points."""


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """What a bundle knows: how crops are described, which references look like them, and where those are.

    ``describe`` takes crops (count, rows, columns, RGB) and gives a descriptor each; ``nearest`` takes
    descriptors and a count and gives so many rows and cosines for each, the likest first.
    """

    canonical: Canonical
    crop_px: tuple[int, int]
    describe: Callable[[Picture], Singles]
    nearest: Callable[[Singles, int], tuple[Ints, Floats]]
    places: Places
    epsg: int
    enlarge: Enlarge = "mean"


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """References that look like a crop, and how much."""

    rows: Ints
    cosines: Floats


class Frame:
    """A photo, its camera and what the bundle knows; remembers what its crops look like."""

    def __init__(self, pixels: Pixels, camera: Camera, lookup: Lookup) -> None:
        self.camera, self.lookup = camera, lookup
        self._pixels = pixels
        self._described: dict[_Spot, Singles] = {}
        self._alike: dict[tuple[_Spot, int], _Alike] = {}
        self._sheet: tuple[float, Sheet] | None = None

    def remember_middle(self, gsd_m: float, descriptor: Singles) -> None:
        """The middle of the photo at this scale has been described already."""
        self._described[_spot(gsd_m, np.zeros(2))] = descriptor

    def votes_of_middle(self, scale: Scale, options: VoteOptions) -> Votes:
        """What references say of the middle of the photo alone, which must have been described."""
        return self._votes([(scale, [_spot(scale.gsd_m, np.zeros(2))])], options)

    def likeness_of_middle(self, scales: Sequence[Scale], options: VoteOptions) -> Floats:
        """How much the photo's middle looks like the few references it looks most like, at each scale."""
        self.votes(scales, options, crops=1)
        spots = [_spot(scale.gsd_m, np.zeros(2)) for scale in scales]
        alike = np.stack([self._alike[spot, options.retrieve].cosines[:_FEW] for spot in spots])
        return np.asarray(alike.mean(axis=1), np.float64)

    def votes(self, scales: Sequence[Scale], options: VoteOptions, *, crops: int) -> Votes:
        """What references say of each crop; a crop's voices together weigh its scale's share."""
        asked: list[tuple[Scale, list[_Spot]]] = []
        pending: dict[_Spot, Picture] = {}
        for scale in scales:
            cut = self._cut(scale, math.isqrt(crops))
            asked.append((scale, list(cut)))
            pending |= {spot: taken for spot, taken in cut.items() if spot not in self._described}
            if len(pending) >= _AT_ONCE:
                pending = self._describe(pending)
        self._describe(pending)
        return self._votes(asked, options)

    def _cut(self, scale: Scale, per_side: int) -> dict[_Spot, Picture]:
        """Crops at one scale, by where they lie."""
        if per_side == 1:
            return self._cut_middle(scale.gsd_m)
        sheet = self._at(scale.gsd_m)
        taken, middles = sheet.crops(per_side)
        # A sheet is cut between whole pixels: its middle crop may lie half of one off, and is the middle.
        aside = np.any(np.abs(middles) > sheet.step_px, axis=1, keepdims=True)
        spots = [_spot(scale.gsd_m, middle) for middle in np.where(aside, middles, 0.0)]
        return dict(zip(spots, taken, strict=True))

    def _cut_middle(self, gsd_m: float) -> dict[_Spot, Picture]:
        """The middle alone: the rest of the photo need not be resampled for it."""
        spot = _spot(gsd_m, np.zeros(2))
        if spot in self._described:
            return {spot: np.empty(0, np.float32)}
        width_px, height_px = self.lookup.crop_px
        taken = canonical_crop(
            self._pixels, self.camera, gsd_m, self.lookup.canonical,
            width_px=width_px, height_px=height_px, enlarge=self.lookup.enlarge,
        )  # fmt: skip
        return {spot: taken.pixels}

    def _at(self, gsd_m: float) -> Sheet:
        """The whole photo at the references' scale; the last one is kept, as it is often asked for again."""
        if self._sheet is None or self._sheet[0] != gsd_m:
            width_px, height_px = self.lookup.crop_px
            size = {"width_px": width_px, "height_px": height_px}
            made = canonical_sheet(self._pixels, self.camera, gsd_m, self.lookup.canonical, **size)
            self._sheet = gsd_m, made
        return self._sheet[1]

    def _describe(self, pending: dict[_Spot, Picture]) -> dict[_Spot, Picture]:
        """Describe these crops together; nothing is pending any more."""
        if pending:
            told = self.lookup.describe(np.stack(list(pending.values())))
            self._described |= dict(zip(pending, told, strict=True))
        return {}

    def _votes(self, asked: Sequence[tuple[Scale, Sequence[_Spot]]], options: VoteOptions) -> Votes:
        self._look_up([spot for _, spots in asked for spot in spots], options.retrieve)
        return _joined([self._said(scale, spots, options) for scale, spots in asked])

    def _look_up(self, spots: Sequence[_Spot], count: int) -> None:
        """Find the references that look like these crops, in one pass over all of them."""
        unknown = [spot for spot in dict.fromkeys(spots) if (spot, count) not in self._alike]
        if unknown:
            rows, cosines = self.lookup.nearest(np.stack([self._described[s] for s in unknown]), count)
            for i, spot in enumerate(unknown):
                self._alike[spot, count] = _Alike(rows[i], cosines[i])

    def _said(self, scale: Scale, spots: Sequence[_Spot], options: VoteOptions) -> Votes:
        found = [self._alike[spot, options.retrieve] for spot in spots]
        rows, cosines = np.stack([f.rows for f in found]), np.stack([f.cosines for f in found])
        weight = scale.share * shares_of(cosines, options.temperature) / len(spots)
        count, flat = rows.shape[1], rows.ravel()
        right, ahead = np.repeat(np.array([spot[1:] for spot in spots]), count, axis=0).T
        places = self.lookup.places
        return Votes(
            right_px=right,
            ahead_px=ahead * self.camera.fx_px / self.camera.fy_px,  # in pixels of the width's ground
            gsd_m=np.full(flat.size, scale.gsd_m),
            east_m=places.east_m[flat],
            north_m=places.north_m[flat],
            heading_deg=places.heading_deg[flat],
            weight=weight.ravel(),
        )


def _spot(gsd_m: float, middle_px: Floats) -> _Spot:
    """Rounded, so that the same crop asked for in two ways is the same."""
    return round(gsd_m, 9), round(float(middle_px[0]), 3) + 0.0, round(float(middle_px[1]), 3) + 0.0


def _joined(votes: Sequence[Votes]) -> Votes:
    return Votes(*(np.concatenate([getattr(v, name) for v in votes]) for name in Votes.__slots__))
