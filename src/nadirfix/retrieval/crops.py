"""The crops of a photo, each described and searched once however often it is needed, and their votes.

Decided in ADR 27.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.image.crop import (
    Canonical,
    Picture,
    Pixels,
    ScaledPhoto,
    canonical_crop,
    crop_window_px,
    scaled_photo,
)
from nadirfix.options.recipe import Enlarge
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.voting import Votes, joined, vote_weights

__all__ = ["Embedded", "Nearest", "PhotoCrops", "ReferenceSearch", "ReferenceViews", "Scale"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

#: Where a crop lies: ground sampling distance, and its middle right of and above the photo's, in its pixels.
_CropKey = tuple[float, float, float]
#: The same whatever the scale: how wide it is, and its middle, in photo pixels.
_Window = tuple[float, float, float]
#: Raw embeddings of pieces of a photo.
Embedded = dict[_Window, Singles]
#: Crops cut before they are described: so many are in memory, however many altitudes are tried.
_AT_ONCE = 48
#: In the place of a crop that has been described already.
_DESCRIBED = np.empty(0, np.float32)
#: References whose similarity speaks for a scale: neighbours of one place, mostly.
_FEW = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """A ground sampling distance the photo may have, and how likely that is."""

    gsd_m: float
    share: float


class ReferenceViews(Protocol):
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


class Nearest(Protocol):
    """Finds the references nearest to descriptors, among all of them or among some rows."""

    def __call__(self, descriptors: Singles, k: int, *, within: Ints | None = None) -> tuple[Ints, Floats]:
        """Rows and cosine similarities of the k nearest to each, the nearest first."""


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceSearch:
    """What a bundle knows: how crops are described, which references are nearest, and where those are.

    ``embed`` takes crops (count, rows, columns, RGB) and gives a raw embedding each, which ``project`` turns
    into descriptors; ``nearest`` takes descriptors and a count and gives so many rows and cosine
    similarities for each, the nearest first.
    """

    canonical: Canonical
    crop_px: tuple[int, int]
    embed: Callable[[Picture], Singles]
    nearest: Nearest
    references: ReferenceViews
    epsg: int
    enlarge: Enlarge = "mean"
    project: Callable[[Singles], Singles] = np.asarray


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """The references nearest to a crop's descriptor, and their cosine similarities."""

    rows: Ints
    cosines: Floats


class PhotoCrops:
    """The crops of a photo at the references' scale; keeps their descriptors and nearest references."""

    def __init__(
        self, pixels: Pixels, camera: Camera, search: ReferenceSearch, *, embedded: Embedded | None = None
    ) -> None:
        self.camera, self.search = camera, search
        self._pixels = pixels
        self._embedded: Embedded = {} if embedded is None else embedded
        self._described: dict[_CropKey, Singles] = {}
        self._neighbours: dict[tuple[_CropKey, int], _Neighbours] = {}
        self._scaled: tuple[float, ScaledPhoto] | None = None
        self._swept: list[_CropKey] = []
        self._reuse = 0.0

    def sharing(self, search: ReferenceSearch) -> PhotoCrops:
        """The same photo looked up among other references; a crop that both need is embedded once."""
        return PhotoCrops(self._pixels, self.camera, search, embedded=self._embedded)

    def sweep(self, gsd_m: Floats, options: SweepOptions, *, count: int, lower: float = 1.0) -> Votes:
        """The votes of the photo's middle at each of these scales, as heavy as they are similar.

        The first crop is the whole frame, which also speaks for a share ``lower`` of its scale. Votes of the
        middle at scales nearby use the same crops from now on, and as many references.
        """
        cut = [self._cut_middle(gsd) for gsd in gsd_m.tolist()]
        new = {key: crop for one in cut for key, crop in one.items() if key not in self._described}
        self._describe(new)
        self._swept, self._reuse = [key for one in cut for key in one], options.reuse
        self._look_up(self._swept, count)
        pairs = [*zip(gsd_m.tolist(), self._swept, strict=True)]
        if lower < 1:
            pairs.append((lower * pairs[0][0], pairs[0][1]))
        return joined([self._swept_votes(gsd, key, options, count) for gsd, key in pairs])

    def cache_middle(self, gsd_m: float, embedding: Singles) -> None:
        """The middle of the photo at this scale has been embedded already."""
        key = _crop_key(gsd_m, np.zeros(2))
        self._embedded[self._window(key)] = embedding
        self._described[key] = self.search.project(embedding[None])[0]

    def votes_of_middle(self, scale: Scale, options: VoteOptions) -> Votes:
        """The votes of the middle of the photo alone, which must have been described."""
        return self._votes([(scale, [_crop_key(scale.gsd_m, np.zeros(2))])], options)

    def similarity_of_middle(self, scales: Sequence[Scale], options: VoteOptions) -> Floats:
        """The mean cosine similarity of the photo's middle to its few nearest references, at each scale."""
        self.votes(scales, options, crops=1)
        keys = [self._swept_near(scale.gsd_m) or _crop_key(scale.gsd_m, np.zeros(2)) for scale in scales]
        similarity = np.stack([self._neighbours[key, options.retrieve].cosines[:_FEW] for key in keys])
        return np.asarray(similarity.mean(axis=1), np.float64)

    def votes(self, scales: Sequence[Scale], options: VoteOptions, *, crops: int) -> Votes:
        """The votes of each crop's nearest references; a crop's together weigh its scale's share."""
        crops_by_scale: list[tuple[Scale, list[_CropKey]]] = []
        pending: dict[_CropKey, Picture] = {}
        for scale in scales:
            crops_by_key = self._cut(scale, math.isqrt(crops))
            crops_by_scale.append((scale, list(crops_by_key)))
            pending |= {key: crop for key, crop in crops_by_key.items() if key not in self._described}
            if len(pending) >= _AT_ONCE:
                pending = self._describe(pending)
        self._describe(pending)
        return self._votes(crops_by_scale, options)

    def _cut(self, scale: Scale, per_side: int) -> dict[_CropKey, Picture]:
        """Crops at one scale, by where they lie."""
        if per_side == 1:
            near = self._swept_near(scale.gsd_m)
            return {near: _DESCRIBED} if near else self._cut_middle(scale.gsd_m)
        scaled = self._scaled_photo(scale.gsd_m)
        crops, middles = scaled.crops(per_side)
        # Crops are cut between whole pixels: the middle one may lie half of one off, and is the middle.
        off_middle = np.any(np.abs(middles) > scaled.step_px, axis=1, keepdims=True)
        keys = [_crop_key(scale.gsd_m, middle) for middle in np.where(off_middle, middles, 0.0)]
        return dict(zip(keys, crops, strict=True))

    def _swept_near(self, gsd_m: float) -> _CropKey | None:
        """The middle at the nearest scale that was swept, where that is as good as this one."""
        nearest = min(self._swept, key=lambda key: abs(math.log(key[0] / gsd_m)), default=None)
        near = nearest is not None and abs(math.log(nearest[0] / gsd_m)) <= self._reuse
        return nearest if near else None

    def _cut_middle(self, gsd_m: float) -> dict[_CropKey, Picture]:
        """The middle alone: the rest of the photo need not be resampled for it."""
        key = _crop_key(gsd_m, np.zeros(2))
        if key in self._described:
            return {key: _DESCRIBED}
        width_px, height_px = self.search.crop_px
        crop = canonical_crop(
            self._pixels, self.camera, gsd_m, self.search.canonical,
            width_px=width_px, height_px=height_px, enlarge=self.search.enlarge,
        )  # fmt: skip
        return {key: crop.pixels}

    def _scaled_photo(self, gsd_m: float) -> ScaledPhoto:
        """The whole photo at the references' scale; the last one is kept, as it is often needed again."""
        if self._scaled is None or self._scaled[0] != gsd_m:
            width_px, height_px = self.search.crop_px
            size = {"width_px": width_px, "height_px": height_px}
            photo = scaled_photo(self._pixels, self.camera, gsd_m, self.search.canonical, **size)
            self._scaled = gsd_m, photo
        return self._scaled[1]

    def _describe(self, pending: dict[_CropKey, Picture]) -> dict[_CropKey, Picture]:
        """Describe these crops together; nothing is pending any more."""
        new = {key: crop for key, crop in pending.items() if self._window(key) not in self._embedded}
        if new:
            embeddings = self.search.embed(np.stack(list(new.values())))
            self._embedded |= {self._window(key): one for key, one in zip(new, embeddings, strict=True)}
        if pending:
            raw = np.stack([self._embedded[self._window(key)] for key in pending])
            self._described |= dict(zip(pending, self.search.project(raw), strict=True))
        return {}

    def _window(self, key: _CropKey) -> _Window:
        """Which piece of the photo a crop shows, whatever references it is compared with."""
        (width, _), _ = crop_window_px(self.camera, key[0], self.search.canonical)
        return round(width, 3), key[1], key[2]

    def _votes(
        self, crops_by_scale: Sequence[tuple[Scale, Sequence[_CropKey]]], options: VoteOptions
    ) -> Votes:
        self._look_up([key for _, keys in crops_by_scale for key in keys], options.retrieve)
        return joined([self._votes_at(scale, keys, options) for scale, keys in crops_by_scale])

    def _look_up(self, keys: Sequence[_CropKey], count: int) -> None:
        """Find the references nearest to these crops, in one pass over all of them."""
        missing = [key for key in dict.fromkeys(keys) if (key, count) not in self._neighbours]
        if missing:
            rows, cosines = self.search.nearest(np.stack([self._described[key] for key in missing]), count)
            for i, key in enumerate(missing):
                self._neighbours[key, count] = _Neighbours(rows[i], cosines[i])

    def _swept_votes(self, gsd_m: float, key: _CropKey, options: SweepOptions, count: int) -> Votes:
        """A crop's votes for the frame's middle: of all scales the most similar references count most."""
        near, references = self._neighbours[key, count], self.search.references
        none = np.zeros(near.rows.size)
        return Votes(
            right_px=none, ahead_px=none, gsd_m=np.full(none.size, gsd_m),
            east_m=references.east_m[near.rows], north_m=references.north_m[near.rows],
            heading_deg=references.heading_deg[near.rows],
            weight=np.exp(near.cosines / options.temperature),
        )  # fmt: skip

    def _votes_at(self, scale: Scale, keys: Sequence[_CropKey], options: VoteOptions) -> Votes:
        neighbours = [self._neighbours[key, options.retrieve] for key in keys]
        rows, cosines = np.stack([n.rows for n in neighbours]), np.stack([n.cosines for n in neighbours])
        weight = scale.share * vote_weights(cosines, options.temperature) / len(keys)
        count, flat = rows.shape[1], rows.ravel()
        right_px, ahead_px = np.repeat(np.array([key[1:] for key in keys]), count, axis=0).T
        references = self.search.references
        return Votes(
            right_px=right_px,
            ahead_px=ahead_px * self.camera.fx_px / self.camera.fy_px,  # in pixels of the width's ground
            gsd_m=np.full(flat.size, scale.gsd_m),
            east_m=references.east_m[flat],
            north_m=references.north_m[flat],
            heading_deg=references.heading_deg[flat],
            weight=weight.ravel(),
        )


def _crop_key(gsd_m: float, middle_px: Floats) -> _CropKey:
    """Rounded, so that the same crop reached in two ways is the same."""
    return round(gsd_m, 9), round(float(middle_px[0]), 3) + 0.0, round(float(middle_px[1]), 3) + 0.0
