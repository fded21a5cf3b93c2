"""Which keypoints of two images show the same thing, and the homographies most of those matches agree on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.verify.features import Features

__all__ = ["ModelEstimate", "estimate_models", "mutual_matches"]

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows of the table of similarities that are held in memory at a time: 16 MB for 2048 keypoints. Small pieces
#: cost more than they save: each is shared out among threads that must be waited for.
_ROWS = 2048
#: Iterations of MAGSAC++ or RANSAC, at most.
_MAX_ITERATIONS = 5000
#: How sure it must be that no better model was missed, before the iterations are over.
_CONFIDENCE = 0.9999
#: How much farther off a match may lie where the tilt of the camera is left out.
_TILT_TOLERANCE = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class ModelEstimate:
    """The homography most matches agree on, and which ones do."""

    map_from_photo: Floats  # homography, in pixels
    inliers: NDArray[np.bool_]


def mutual_matches(photo: Features, ground: Features, *, min_similarity: float = 0.0) -> tuple[Ints, Ints]:
    """Rows of keypoints that are each other's nearest neighbours, and similar enough (cosine)."""
    if len(photo) == 0 or len(ground) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    nearest, similarity, highest = _nearest(photo.descriptors, ground.descriptors)
    chosen = np.flatnonzero((similarity >= highest[nearest]) & (similarity >= min_similarity))
    # Of keypoints that are equally similar to one, it is the first one's.
    first = np.sort(np.unique(nearest[chosen], return_index=True)[1])
    return chosen[first], nearest[chosen[first]]


def _nearest(a: Singles, b: Singles) -> tuple[Ints, Singles, Singles]:
    """The nearest neighbour of each row of a, how similar they are, and how similar b's are at best.

    Which row of a is nearest to one of b is never looked up: it is the one that is as similar as b's best.
    """
    nearest, similarity = np.zeros(len(a), np.int64), np.zeros(len(a), np.float32)
    highest = np.full(len(b), -np.inf, np.float32)
    for first in range(0, len(a), _ROWS):
        table = a[first : first + _ROWS] @ b.T
        rows = slice(first, first + len(table))
        nearest[rows] = table.argmax(axis=1)
        similarity[rows] = np.take_along_axis(table, nearest[rows, None], axis=1)[:, 0]
        highest = np.maximum(highest, table.max(axis=0))
    return nearest, similarity, highest


def estimate_models(photo_px: Floats, map_px: Floats, *, inlier_px: float) -> Iterator[ModelEstimate]:
    """Models most matches agree on: first any homography, then only shift, turn and scale.

    A homography needs four right matches at once, a similarity two: where one match in ten is right, only
    the second is ever drawn. It is estimated only when the caller asks for it.
    """
    if len(photo_px) < 4:
        return
    for estimate in (_homography, _similarity):
        model, inliers = estimate(photo_px, map_px, inlier_px)
        if model is not None and np.isfinite(model).all():
            yield ModelEstimate(np.asarray(model, np.float64), np.asarray(inliers, np.bool_).ravel())


def _homography(photo_px: Floats, map_px: Floats, inlier_px: float) -> tuple[Any, Any]:
    """A homography and its inliers (MAGSAC++)."""
    return cv2.findHomography(
        photo_px, map_px, cv2.USAC_MAGSAC, inlier_px, maxIters=_MAX_ITERATIONS, confidence=_CONFIDENCE
    )


def _similarity(photo_px: Floats, map_px: Floats, inlier_px: float) -> tuple[Any, Any]:
    """A similarity as a homography, and its inliers; the tilt it leaves out moves keypoints a little."""
    model, inliers = cv2.estimateAffinePartial2D(
        photo_px, map_px, method=cv2.RANSAC, ransacReprojThreshold=_TILT_TOLERANCE * inlier_px,
        maxIters=_MAX_ITERATIONS, confidence=_CONFIDENCE,
    )  # fmt: skip
    return (None if model is None else np.vstack([model, [0.0, 0.0, 1.0]])), inliers
