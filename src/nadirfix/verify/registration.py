"""One photo held against the map at a view: which points agree, and the view they speak for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.angle import turn_deg
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.geo.texture import Texture
from nadirfix.options.verify import VerifyOptions
from nadirfix.timing import Stopwatch
from nadirfix.types import Point, View
from nadirfix.verify.features import Detector, Features, grey_of
from nadirfix.verify.matching import Agreement, agreements, mutual_matches
from nadirfix.verify.pose import FittedView, fit_view, misses_m, view_from_homography, view_of_points

__all__ = ["Comparison", "Sighting", "window_camera"]

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

#: Points below which nothing can be fitted.
_FEWEST = 4
#: Windows of the map have sides of a multiple of this.
_SIDE_STEP_PX = 64


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """What the map says about a view: how many points agree, and the view they speak for."""

    asked: View
    matches: int = 0
    fitted: FittedView | None = None  # None: the map does not show the photo there
    photo_share: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # agreeing points, 0 to 1 each way
    places_m: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # the same on the map
    gsd_m: float = 0.0  # metres per pixel at which the two were compared

    @property
    def inliers(self) -> int:
        """How many points agree."""
        return len(self.places_m)

    @property
    def view(self) -> View:
        """The view the points speak for; the one that was asked about where there is none."""
        return self.fitted.view if self.fitted else self.asked


@dataclass(frozen=True, slots=True, eq=False)
class _Picture:
    """A picture with the camera that took it, and its points."""

    camera: Camera
    features: Features


class Comparison:
    """A photo, ready to be held against the map anywhere; its points are looked for once per size."""

    def __init__(
        self,
        pixels: Bytes,
        camera: Camera,
        *,
        texture: Texture,
        detector: Detector,
        options: VerifyOptions,
        watch: Stopwatch | None = None,
    ) -> None:
        self._pixels, self._camera, self._options = pixels, camera, options
        self._texture, self._detect, self._watch = texture, detector, watch or Stopwatch()
        self._seen: dict[int, _Picture] = {}

    def points(self) -> int:
        """How many points the photo offers where it is looked at first."""
        return len(self._photo(self._options.first_width_px).features)

    def first_look(self, view: View) -> Sighting:
        """Whether the map shows the photo near this view, which may be some metres and degrees off."""
        return self._look(view, self._reach_m(view), self._options.first_width_px)

    def first_looks(self, views: Sequence[View]) -> Iterator[Sighting]:
        """The same of several, each when it is asked for: who has seen enough need not see the next."""
        return (self.first_look(view) for view in views)

    def second_look(self, before: Sighting) -> Sighting:
        """Finer, from where the first look led: turned and scaled alike, more points agree."""
        again = self._again(before, self._options.width_px)
        return again if again.inliers >= before.inliers else before

    def coarse_look(self, before: Sighting) -> Sighting:
        """The same from there with coarser pixels: of ground that has changed the large shapes are left."""
        return self._again(before, self._options.coarse_width_px)

    def _again(self, before: Sighting, width_px: int) -> Sighting:
        wide_m, _ = self._camera.footprint_m(before.view.altitude_m)
        return self._look(before.view, self._options.second_reach * wide_m, width_px)

    def _reach_m(self, view: View) -> float:
        """How far around a first look goes: from low above, the usual reach would be thousands of pixels."""
        wide_m, _ = self._camera.footprint_m(view.altitude_m)
        return min(self._options.reach_m, wide_m)

    def _look(self, view: View, reach_m: float, width_px: int) -> Sighting:
        photo = self._photo(self._width_px(view.altitude_m, width_px))
        with self._watch.stage("verify_render"):
            window = window_camera(view, photo.camera, reach_m)
            shown = self._texture.render(view, window)
        nothing = Sighting(view)
        if shown.valid_share < self._options.valid_share:
            return nothing
        with self._watch.stage("verify_map_points"):
            ground = _Picture(window, self._detect(grey_of(shown.pixels), shown.valid))
        with self._watch.stage("verify_match"):
            likeness = self._options.min_likeness
            pairs = mutual_matches(photo.features, ground.features, min_likeness=likeness)
            return _sighting(view, photo, ground, pairs, self._options)

    def _width_px(self, altitude_m: float, wanted_px: int) -> int:
        """How wide the photo is looked at: no finer than the map, in steps so that few sizes are needed."""
        wide_m, _ = self._camera.footprint_m(altitude_m)
        width_px = min(wide_m / (self._texture.gsd_m * self._options.finest_map), wanted_px)
        step = self._options.width_step_px
        return max(int(width_px // step) * step, step)

    def _photo(self, width_px: int) -> _Picture:
        if width_px not in self._seen:
            with self._watch.stage("verify_photo_points"):
                small = _resized(self._fine, self._camera, width_px)
                camera = self._camera.resized(small.shape[1], small.shape[0])
                self._seen[width_px] = _Picture(camera, self._detect(grey_of(small)))
        return self._seen[width_px]

    @cached_property
    def _fine(self) -> Bytes:
        """The photo as fine as it is ever looked at: what is coarser is made from that."""
        wide_px = min(self._options.width_px, self._pixels.shape[1])
        return _resized(self._pixels, self._camera, wide_px)


def window_camera(view: View, photo: Camera, reach_m: float) -> Camera:
    """What would show the map as the photo does from this view, with as much around as the view may err."""
    gsd_m = photo.gsd_m(view.altitude_m)
    sides_px = [(side + 2 * reach_m) / gsd_m for side in photo.footprint_m(view.altitude_m)]
    # Libraries prepare themselves for each new size of picture: a few sizes are enough.
    wide, high = (math.ceil(side / _SIDE_STEP_PX) * _SIDE_STEP_PX for side in sides_px)
    return Camera(wide, high, photo.fx_px, photo.fx_px)


def _resized(pixels: Bytes, camera: Camera, width_px: int) -> Bytes:
    """The photo at this width, its pixels square on the ground."""
    height_px = max(round(width_px * camera.height_px / camera.fy_px / camera.width_px * camera.fx_px), 1)
    how = cv2.INTER_AREA if width_px < pixels.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(pixels, (width_px, height_px), interpolation=how), np.uint8)


def _sighting(
    view: View,
    photo: _Picture,
    ground: _Picture,
    pairs: tuple[Ints, Ints],
    options: VerifyOptions,
    *,
    pool: Executor | None = None,
) -> Sighting:
    """What the matched points say: the view most of them agree with."""
    rows, others = pairs
    photo_px = photo.features.points_px[rows].astype(np.float64)
    map_px = ground.features.points_px[others].astype(np.float64)
    ground_from_map = ground_from_pixel(
        view, ground.camera, (ground.camera.width_px, ground.camera.height_px)
    )
    places_m = np.stack(project(ground_from_map, map_px[:, 0], map_px[:, 1]), axis=1)
    fit = _Fit(photo_px, places_m, view.center, photo.camera, options)
    best = Sighting(view, len(rows))
    for found in agreements(photo_px, map_px, options, pool):
        fitted, agree = _fitted(found, ground_from_map, view, fit)
        if fitted is not None and np.count_nonzero(agree) > best.inliers:
            share = photo_px[agree] / [photo.camera.width_px, photo.camera.height_px]
            gsd_m, there = photo.camera.gsd_m(fitted.view.altitude_m), places_m[agree]
            best = Sighting(view, len(rows), fitted, share, there + _coordinates(view.center), gsd_m)
        if best.inliers >= options.promising_inliers:
            break
    return best


def _fitted(
    found: Agreement, ground_from_map: Floats, asked: View, fit: _Fit
) -> tuple[FittedView | None, Flags]:
    """The view a movement stands for, fitted to what agrees with it; None where it is one nobody meant."""
    start = view_from_homography(ground_from_map @ found.map_from_photo, fit.camera, asked.center)
    if not _believable(start, asked, fit.options):
        return None, found.inliers
    fitted, agree = fit.settled(start, found.inliers)
    if fitted is None or not _believable(fitted.view, asked, fit.options):
        return None, agree
    return fitted, agree


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Matches, and how a view is fitted to those that agree with it."""

    photo_px: Floats
    places_m: Floats
    origin: Point
    camera: Camera
    options: VerifyOptions

    def settled(self, start: View, agree: Flags) -> tuple[FittedView | None, Flags]:
        """Fit to what agrees, see what agrees with that, and again: a homography bends after its points."""
        view = start
        for _ in range(self.options.reselect):
            if np.count_nonzero(agree) < _FEWEST:
                return None, agree
            view = view_of_points(*self._those(agree), camera=self.camera, start=view, options=self.options)
            before, agree = agree, self._near(view)
            if np.array_equal(before, agree):
                break
        if np.count_nonzero(agree) < _FEWEST:
            return None, agree
        return fit_view(*self._those(agree), camera=self.camera, start=view, options=self.options), agree

    def _those(self, agree: Flags) -> tuple[Floats, Floats, Point]:
        return self.photo_px[agree], self.places_m[agree], self.origin

    def _near(self, view: View) -> Flags:
        off_m = misses_m(self.photo_px, self.places_m, self.origin, camera=self.camera, view=view)
        return np.asarray(off_m <= self.options.inlier_px * self.camera.gsd_m(view.altitude_m), np.bool_)


def _coordinates(place: Point) -> Floats:
    return np.array([place.east_m, place.north_m])


def _believable(found: View, asked: View, options: VerifyOptions) -> bool:
    """Whether a view is one that the hypothesis could have meant; a far-fetched movement is chance."""
    ratio = found.altitude_m / asked.altitude_m
    turned_deg = abs(turn_deg(found.heading_deg - asked.heading_deg))
    return 1 / options.max_scale <= ratio <= options.max_scale and turned_deg <= options.max_turn_deg
