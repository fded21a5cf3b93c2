"""A plain tile scan with local matches: the photo is matched with every tile, and most inliers win.

What most repositories on the web do, with the keypoint network that ships: tiles are the references, so that
headings are covered as well. No retrieval, no refusal.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.errors import BundleError
from nadirfix.evaluation.answer_files import candidates_at
from nadirfix.evaluation.methods.described import join_pieces, pieces_of
from nadirfix.evaluation.methods.ground import CommonGround, ScaledPicture
from nadirfix.files import Progress
from nadirfix.geo.angle import from_heading
from nadirfix.image.crop import Canonical
from nadirfix.offline.describe import ReferenceRenderer, save_array
from nadirfix.options.verify import FeatureOptions
from nadirfix.parallel import cores, one_blas_thread
from nadirfix.photo_list import PhotoRecord
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix, Point
from nadirfix.verify.features import Detector, Features, grey_of
from nadirfix.verify.matching import mutual_matches

__all__ = ["TileMatch", "TileScan", "match_tile", "tile_scan"]


#: Tiles are matched at this size with so many keypoints: a few hundred matches a second and core.
_WIDTH_PX, _KEYPOINTS = 320, 512
_INLIER_PX, _ITERATIONS, _FEWEST = 3.0, 500, 4
_RANKED = 10
#: Where a tile has fewer keypoints than others, the rest of its lines say so.
_NONE = -1.0


@dataclass(frozen=True, slots=True, eq=False)
class TileMatch:
    """A tile's inliers, and where on it the photo's middle lies, how it is turned and scaled."""

    tile: int
    inliers: int
    center_px: tuple[float, float]
    turn_deg: float
    scale: float


@dataclass(frozen=True, eq=False)
class TileScan:
    """Matches every tile."""

    ground: CommonGround
    folder: Path

    @property
    def size_mb(self) -> float:
        """Keypoints and descriptors of all tiles."""
        return self._target.stat().st_size / 1e6

    def prepare(self, progress: Progress) -> None:
        """Detect the keypoints of every tile; pieces an earlier run left are kept."""
        _require_matcher(self.ground)
        if self._target.exists():
            return
        renderer, files = self.ground.renderer(self._size_px), []
        for rows in pieces_of(len(renderer)):
            files.append(self.folder / "pieces" / f"{rows.start:08d}.npy")
            if not files[-1].exists():
                save_array(files[-1], self._tiles(rows, renderer, progress))
        join_pieces(files, self._target)

    def _tiles(self, rows: range, renderer: ReferenceRenderer, progress: Progress) -> NDArray[np.float16]:
        """Keypoints and descriptors of some tiles, as many lines for each."""
        tiles = []
        for row in rows:
            features = self._detector(grey_of(np.moveaxis(renderer.picture(row), 0, -1)))
            tiles.append(_lines(features))
            if row % 16 == 0 or row == rows.stop - 1:
                progress("detecting keypoints of tiles", row + 1, len(renderer))
        return np.stack(tiles)

    @one_blas_thread()
    def locate(self, row: PhotoRecord) -> Fix:
        """The tile with most inliers, and where in it the photo's middle lies."""
        watch = Stopwatch()
        picture = self.ground.picture(row, self._size_px, watch)
        with watch.stage("embed"):
            features = self._detector(grey_of(picture.crop.pixels))
        with watch.stage("retrieve"):
            found = self._scanned(features)
        best = found[0]
        if best.inliers < _FEWEST:
            reason = "no tile has enough matches"
            return Fix(
                photo=str(row.photo), status="no_fix", position=None, reason=reason,
                timings_ms=watch.timings_ms(),
            )  # fmt: skip
        points = [self._point(one) for one in found]
        headings = [self._heading_deg(one) for one in found]
        return Fix(
            photo=str(row.photo),
            status="unverified",
            position=points[0],
            heading_deg=headings[0],
            altitude_m=self._altitude_m(best, picture),
            gsd_m=picture.gsd_m,
            candidates=candidates_at(points, headings, [1.0 / max(one.inliers, 0.5) for one in found]),
            timings_ms=watch.timings_ms(),
        )

    @property
    def _target(self) -> Path:
        return self.folder / "keypoints.npy"

    @cached_property
    def _keypoints(self) -> NDArray[np.float16]:
        return np.asarray(np.load(self._target, mmap_mode="r", allow_pickle=False))

    @cached_property
    def _detector(self) -> Detector:
        return self.ground.bundle.keypoint_detector(FeatureOptions(keypoints=_KEYPOINTS))

    @property
    def _size_px(self) -> tuple[int, int]:
        """Tiles have square pixels on the ground."""
        wide_m, high_m = self.ground.bundle.canonical.footprint_m
        return _WIDTH_PX, round(_WIDTH_PX * high_m / wide_m)

    def _scanned(self, features: Features) -> list[TileMatch]:
        """The tiles with most inliers, of equals the first."""
        with ThreadPoolExecutor(cores()) as pool:
            found = pool.map(lambda tile: self._matched(features, tile), range(len(self._keypoints)))
            return sorted(found, key=lambda one: -one.inliers)[:_RANKED]

    def _matched(self, features: Features, tile: int) -> TileMatch:
        return match_tile(features, _features(self._keypoints[tile]), tile, self._size_px)

    def _tile_gsd_m(self) -> float:
        canonical: Canonical = self.ground.bundle.canonical
        return canonical.footprint_m[0] / _WIDTH_PX

    def _point(self, match: TileMatch) -> Point:
        """Where on the ground the photo's middle lies."""
        references, gsd_m = self.ground.bundle.references, self._tile_gsd_m()
        width, height = self._size_px
        right_m = (match.center_px[0] - width / 2) * gsd_m
        ahead_m = (height / 2 - match.center_px[1]) * gsd_m
        turn_deg = float(references.heading_deg[match.tile])
        east_m, north_m = from_heading(np.array([right_m]), np.array([ahead_m]), turn_deg)
        center = Point(
            float(references.east_m[match.tile]), float(references.north_m[match.tile]), references.epsg
        )
        return center.moved(float(east_m[0]), float(north_m[0]))

    def _heading_deg(self, match: TileMatch) -> float:
        """The tile's heading, and how far the photo is turned against it."""
        return float((self.ground.bundle.references.heading_deg[match.tile] + match.turn_deg) % 360)

    def _altitude_m(self, match: TileMatch, picture: ScaledPicture) -> float | None:
        """From how large the tile's pixels are in the photo; None where its scale was never known."""
        camera: Camera = picture.crop.camera
        return None if picture.gsd_m is None else camera.altitude_m(match.scale * self._tile_gsd_m())


def tile_scan(ground: CommonGround, _weights: Path | None, folder: Path) -> TileScan:
    """Every tile matched with the keypoint network that ships."""
    return TileScan(ground, folder)


def _require_matcher(ground: CommonGround) -> None:
    if ground.bundle.matcher_name is None:
        raise BundleError(
            "bundle.no_matcher",
            "tiles cannot be matched without a matcher",
            seen=f"recipe {ground.bundle.recipe.name}, matcher none",
            do="leave tile-scan out, or name a recipe with a matcher",
        )


def match_tile(photo: Features, tile: Features, number: int, size_px: tuple[int, int]) -> TileMatch:
    """How many keypoints of photo and tile agree with one shift, turn and scale."""
    rows, others = mutual_matches(photo, tile)
    center = (size_px[0] / 2, size_px[1] / 2)
    nothing = TileMatch(number, 0, center, 0.0, 1.0)
    if len(rows) < _FEWEST:
        return nothing
    model, inliers = cv2.estimateAffinePartial2D(
        photo.keypoints_px[rows], tile.keypoints_px[others], method=cv2.RANSAC,
        ransacReprojThreshold=_INLIER_PX, maxIters=_ITERATIONS,
    )  # fmt: skip
    if model is None or not np.isfinite(model).all():
        return nothing
    x, y = (model @ np.array([*center, 1.0])).tolist()
    turn_deg = float(np.degrees(np.arctan2(model[1, 0], model[0, 0])))
    return TileMatch(number, int(inliers.sum()), (x, y), turn_deg, float(np.hypot(model[0, 0], model[1, 0])))


def _lines(features: Features) -> NDArray[np.float16]:
    """Keypoints and descriptors of a tile as lines of equal number."""
    lines = np.full((_KEYPOINTS, 2 + features.descriptors.shape[1]), _NONE, np.float16)
    lines[: len(features), :2], lines[: len(features), 2:] = features.keypoints_px, features.descriptors
    return lines


def _features(lines: NDArray[np.float16]) -> Features:
    """The same read back."""
    known = lines[lines[:, 0] >= 0].astype(np.float32)
    return Features(np.ascontiguousarray(known[:, :2]), np.ascontiguousarray(known[:, 2:]))
