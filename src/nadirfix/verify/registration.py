"""Registering one photo against the map at a view: keypoint matches, inliers, and the view they speak for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.geo.texture import Texture
from nadirfix.image.level import Levelling
from nadirfix.options.map import RenderOptions
from nadirfix.options.verify import MatchOptions
from nadirfix.timing import Stopwatch
from nadirfix.types import Point, View
from nadirfix.verify.features import Detector, Features, grey_of
from nadirfix.verify.fitting import Matches, fitted_view
from nadirfix.verify.matching import estimate_models, mutual_matches
from nadirfix.verify.pose import FittedView
from nadirfix.verify.tilt import TiltPrior

__all__ = [
    "FIRST_WIDTH_PX",
    "MAP_SAMPLING",
    "PROMISING_INLIERS",
    "ImageFeatures",
    "MatchResult",
    "Registration",
    "match_result",
    "window_camera",
]

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

#: The photo is matched this wide at first, which is enough where it leaves no doubt.
FIRST_WIDTH_PX = 448
#: And this wide where a finer match leaves some: large shapes outlast small ones.
_COARSE_WIDTH_PX = 384
_WIDTH_STEP_PX = 64
#: The photo is matched no finer than this many map pixels.
_FINEST_MAP = 0.75
#: One sample of the map per pixel and axis: three cost as much as all matching.
MAP_SAMPLING = RenderOptions(supersample=1)
#: How much of the map is matched around a view found before, as a share of the photo's width.
_REMATCH_REACH = 0.04
#: Share of the view that must lie on the map.
_VALID_SHARE = 0.25
#: From so many inliers another match at another resolution is worth its time.
PROMISING_INLIERS = 8
#: Windows of the map have sides of a multiple of this.
_SIDE_STEP_PX = 64


@dataclass(frozen=True, slots=True, eq=False)
class MatchResult:
    """What matching at one view gave: how many matches, the inliers among them, and the view they fit."""

    hypothesis: View  # the view the map was rendered from
    matches: int = 0
    fitted: FittedView | None = None  # None: the map does not show the photo there
    photo_share: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # inliers, 0 to 1 each way
    ground_m: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # the same on the map
    gsd_m: float = 0.0  # metres per pixel at which photo and map were matched

    @property
    def inliers(self) -> int:
        """How many matches agree with the fitted view."""
        return len(self.ground_m)

    @property
    def view(self) -> View:
        """The view the inliers speak for; the hypothesis where there is none."""
        return self.fitted.view if self.fitted else self.hypothesis


@dataclass(frozen=True, slots=True, eq=False)
class ImageFeatures:
    """The keypoints of an image, the camera that took it, and how it was rectified, if it was."""

    camera: Camera
    features: Features
    levelling: Levelling | None = None

    def as_taken(self, keypoints_px: Floats) -> tuple[Floats, Camera]:
        """Where keypoints are in the picture as it was taken, and the camera that took it."""
        if self.levelling is None:
            return keypoints_px, self.camera
        return self.levelling.photo_px(keypoints_px), self.levelling.camera


class Registration:
    """A photo, ready to be registered against the map anywhere; keypoints are detected once per size.

    Of a rectified photo ``levelling`` says how it was taken, and of any ``tilt`` what is known of that.
    """

    def __init__(
        self,
        pixels: Bytes,
        camera: Camera,
        *,
        texture: Texture,
        detector: Detector,
        options: MatchOptions,
        watch: Stopwatch | None = None,
        levelling: Levelling | None = None,
        tilt: TiltPrior | None = None,
    ) -> None:
        self._pixels, self._camera, self._options = pixels, camera, options
        self._texture, self._detect, self._watch = texture, detector, watch or Stopwatch()
        self._levelling, self._tilt = levelling, tilt
        self._by_width: dict[int, ImageFeatures] = {}

    def keypoint_count(self) -> int:
        """How many keypoints the photo has at the resolution it is matched at first."""
        return len(self._photo(FIRST_WIDTH_PX).features)

    def match(self, view: View) -> MatchResult:
        """Whether the map shows the photo near this view, which may be some metres and degrees off."""
        return self._match(view, self._reach_m(view), FIRST_WIDTH_PX)

    def match_all(self, views: Sequence[View]) -> Iterator[MatchResult]:
        """The same at several views, each when it comes to it: the caller may stop early."""
        return (self.match(view) for view in views)

    def match_finer(self, before: MatchResult) -> MatchResult:
        """At a finer resolution, from the view found before: turned and scaled alike, more matches agree."""
        finer = self._rematch(before, self._options.width_px)
        return finer if finer.inliers >= before.inliers else before

    def match_coarser(self, before: MatchResult) -> MatchResult:
        """The same at a coarser resolution: of ground that has changed the large shapes are left."""
        return self._rematch(before, _COARSE_WIDTH_PX)

    def _rematch(self, before: MatchResult, width_px: int) -> MatchResult:
        wide_m, _ = self._camera.footprint_m(before.view.altitude_m)
        return self._match(before.view, _REMATCH_REACH * wide_m, width_px)

    def _reach_m(self, view: View) -> float:
        """How far around a first match goes: from low above, the usual reach would be thousands of pixels."""
        wide_m, _ = self._camera.footprint_m(view.altitude_m)
        return min(self._options.reach_m, wide_m)

    def _match(self, view: View, reach_m: float, width_px: int) -> MatchResult:
        photo = self._photo(self._width_px(view.altitude_m, width_px))
        level = view if self._levelling is None else replace(view, tilt_deg=0.0)
        with self._watch.stage("verify_render"):
            window = window_camera(level, photo.camera, reach_m)
            rendered = self._texture.render(level, window)
        if rendered.valid_share < _VALID_SHARE:
            return MatchResult(view)
        with self._watch.stage("verify_map_points"):
            ground = ImageFeatures(window, self._detect(grey_of(rendered.pixels), rendered.valid))
        with self._watch.stage("verify_match"):
            pairs = mutual_matches(photo.features, ground.features)
            return match_result(level, photo, ground, pairs, self._options, tilt=self._tilt)

    def _width_px(self, altitude_m: float, wanted_px: int) -> int:
        """How wide the photo is matched: no finer than the map, in steps so that few sizes are needed."""
        wide_m, _ = self._camera.footprint_m(altitude_m)
        width_px = min(wide_m / (self._texture.gsd_m * _FINEST_MAP), wanted_px)
        return max(int(width_px // _WIDTH_STEP_PX) * _WIDTH_STEP_PX, _WIDTH_STEP_PX)

    def _photo(self, width_px: int) -> ImageFeatures:
        if width_px not in self._by_width:
            with self._watch.stage("verify_photo_points"):
                small = _resized(self._finest, self._camera, width_px)
                camera = self._camera.resized(small.shape[1], small.shape[0])
                made = self._levelling and self._levelling.resized(self._camera, camera)
                self._by_width[width_px] = ImageFeatures(camera, self._detect(grey_of(small)), made)
        return self._by_width[width_px]

    @cached_property
    def _finest(self) -> Bytes:
        """The photo as fine as it is ever matched: what is coarser is made from that."""
        wide_px = min(self._options.width_px, self._pixels.shape[1])
        return _resized(self._pixels, self._camera, wide_px)


def window_camera(view: View, photo: Camera, reach_m: float) -> Camera:
    """What would show the map as the photo does from this view, with as much around as the view may err."""
    gsd_m = photo.gsd_m(view.altitude_m)
    sides_px = [(side + 2 * reach_m) / gsd_m for side in photo.footprint_m(view.altitude_m)]
    # Libraries prepare themselves for each new size of image: a few sizes are enough.
    wide, high = (math.ceil(side / _SIDE_STEP_PX) * _SIDE_STEP_PX for side in sides_px)
    return Camera(wide, high, photo.fx_px, photo.fx_px)


def _resized(pixels: Bytes, camera: Camera, width_px: int) -> Bytes:
    """The photo at this width, its pixels square on the ground."""
    height_px = max(round(width_px * camera.height_px / camera.fy_px / camera.width_px * camera.fx_px), 1)
    method = cv2.INTER_AREA if width_px < pixels.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(pixels, (width_px, height_px), interpolation=method), np.uint8)


def match_result(
    view: View, photo: ImageFeatures, ground: ImageFeatures, pairs: tuple[Ints, Ints], options: MatchOptions,
    *, tilt: TiltPrior | None = None,
) -> MatchResult:  # fmt: skip
    """What matched keypoints say: the view with the most inliers among them."""
    rows, others = pairs
    photo_px = photo.features.keypoints_px[rows].astype(np.float64)
    map_px = ground.features.keypoints_px[others].astype(np.float64)
    ground_from_map = ground_from_pixel(
        view, ground.camera, (ground.camera.width_px, ground.camera.height_px)
    )
    ground_m = np.stack(project(ground_from_map, map_px[:, 0], map_px[:, 1]), axis=1)
    taken_px, taken_by = photo.as_taken(photo_px)
    matches = Matches(
        taken_px, ground_m, view.center, taken_by, photo.camera.gsd_m(1.0), options, tilt,
        photo.levelling.level_from_photo if photo.levelling else None,
    )  # fmt: skip
    best = MatchResult(view, len(rows))
    for model in estimate_models(photo_px, map_px, inlier_px=options.inlier_px):
        fitted, inliers = fitted_view(model, ground_from_map, view, photo.camera, matches)
        if fitted is not None and np.count_nonzero(inliers) > best.inliers:
            share = photo_px[inliers] / [photo.camera.width_px, photo.camera.height_px]
            gsd_m, there = photo.camera.gsd_m(fitted.view.altitude_m), ground_m[inliers]
            best = MatchResult(view, len(rows), fitted, share, there + _coordinates(view.center), gsd_m)
        if best.inliers >= PROMISING_INLIERS:
            break
    return best


def _coordinates(point: Point) -> Floats:
    return np.array([point.east_m, point.north_m])
