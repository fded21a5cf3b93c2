"""Where a photo may lie, from all of its frame: cut, describe, look up, let the lookalikes vote."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.image.crop import Canonical, Picture, Pixels, canonical_sheet
from nadirfix.options_frame import VoteOptions
from nadirfix.retrieval.votes import Votes, hypotheses_from, merged, shares_of
from nadirfix.types import Hypothesis

__all__ = ["Lookup", "Places", "Scale", "hypotheses"]

Floats = NDArray[np.float64]


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
    describe: Callable[[Picture], NDArray[np.float32]]
    nearest: Callable[[NDArray[np.float32], int], tuple[NDArray[np.int64], Floats]]
    places: Places
    epsg: int


def hypotheses(
    pixels: Pixels, camera: Camera, scales: Sequence[Scale], *, lookup: Lookup, options: VoteOptions
) -> list[Hypothesis]:
    """Views the photo may show, the likeliest first.

    The likeliest scale is asked first, with few crops. Where they do not agree, all crops of all scales are;
    and where those agree on another scale than was asked for, the photo is looked at once more from there.
    """

    def ask(asked: Sequence[Scale], crops: int) -> list[Hypothesis]:
        votes = [_votes(pixels, camera, scale, lookup, options, crops=crops) for scale in asked]
        return hypotheses_from(_joined(votes), camera, lookup.epsg, options)

    found = ask(scales[:1], options.first_crops)
    nothing_more = len(scales) == 1 and options.crops <= options.first_crops and options.looks == 0
    if nothing_more or _sure(found, options):
        return found
    found, asked_m = ask(scales, options.crops), [scale.gsd_m for scale in scales]
    for _ in range(options.looks):
        gsd_m = camera.gsd_m(found[0].view.altitude_m)
        if min(abs(math.log(gsd_m / other)) for other in asked_m) < options.scale / 2:
            break
        asked_m.append(gsd_m)
        found = merged(ask([Scale(gsd_m, 1.0)], options.crops), found, options)
    return found


def _sure(found: Sequence[Hypothesis], options: VoteOptions) -> bool:
    """Whether one hypothesis stands far above all others."""
    second = found[1].score if len(found) > 1 else 0.0
    return found[0].score >= options.sure and found[0].score >= 3 * second


def _votes(
    pixels: Pixels, camera: Camera, scale: Scale, lookup: Lookup, options: VoteOptions, *, crops: int
) -> Votes:
    """What references say of each crop at one scale; a crop's voices together weigh its scale's share."""
    width_px, height_px = lookup.crop_px
    sheet = canonical_sheet(
        pixels, camera, scale.gsd_m, lookup.canonical, width_px=width_px, height_px=height_px
    )
    taken, middles = sheet.crops(math.isqrt(crops))
    rows, alike = lookup.nearest(lookup.describe(taken), options.retrieve)
    weight = scale.share * shares_of(alike, options.temperature) / len(taken)
    count, flat = rows.shape[1], rows.ravel()
    right, ahead = np.repeat(middles, count, axis=0).T
    return Votes(
        right_px=right,
        ahead_px=ahead * camera.fx_px / camera.fy_px,  # in pixels of the width's ground
        gsd_m=np.full(flat.size, scale.gsd_m),
        east_m=lookup.places.east_m[flat],
        north_m=lookup.places.north_m[flat],
        heading_deg=lookup.places.heading_deg[flat],
        weight=weight.ravel(),
    )


def _joined(votes: Sequence[Votes]) -> Votes:
    return Votes(*(np.concatenate([getattr(v, name) for v in votes]) for name in Votes.__slots__))
