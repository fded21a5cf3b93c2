"""Which points of two pictures show the same thing, and which of those agree on one movement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.options.verify import VerifyOptions
from nadirfix.verify.features import Features

__all__ = ["Agreement", "agreements", "mutual_matches"]

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rows of the table of likenesses that are held in memory at a time: 16 MB for 2048 points. Small pieces cost
#: more than they save: each is shared out among threads that must be waited for.
_ROWS = 2048
#: How sure it must be that no better movement was missed, before the rounds are over.
_SURE = 0.9999
#: How much farther off a point may lie where the lean of the camera is left out.
_LEANING = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """The movement most matches agree on, and which ones do."""

    map_from_photo: Floats  # homography, in pixels
    inliers: NDArray[np.bool_]


def mutual_matches(photo: Features, ground: Features, *, min_likeness: float) -> tuple[Ints, Ints]:
    """Rows of points that are each other's likeliest counterpart, and alike enough."""
    if len(photo) == 0 or len(ground) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    forth, likeness, highest = _nearest(photo.descriptions, ground.descriptions)
    chosen = np.flatnonzero((likeness >= highest[forth]) & (likeness >= min_likeness))
    # Of points that are equally like one counterpart, it is the first one's.
    first = np.sort(np.unique(forth[chosen], return_index=True)[1])
    return chosen[first], forth[chosen[first]]


def _nearest(a: Singles, b: Singles) -> tuple[Ints, Singles, Singles]:
    """The likeliest counterpart of each row of a, how alike they are, and how alike b's are at best.

    Which row of a is likest to one of b is never looked up: it is the one that is as alike as b's best.
    """
    forth, likeness = np.zeros(len(a), np.int64), np.zeros(len(a), np.float32)
    highest = np.full(len(b), -np.inf, np.float32)
    for first in range(0, len(a), _ROWS):
        table = a[first : first + _ROWS] @ b.T
        rows = slice(first, first + len(table))
        forth[rows] = table.argmax(axis=1)
        likeness[rows] = np.take_along_axis(table, forth[rows, None], axis=1)[:, 0]
        highest = np.maximum(highest, table.max(axis=0))
    return forth, likeness, highest


def agreements(
    photo_px: Floats, map_px: Floats, options: VerifyOptions, pool: Executor | None = None
) -> Iterator[Agreement]:
    """Movements most matches agree on: first any perspective, then only shift, turn and scale.

    A perspective needs four right matches at once, a similarity two: where one match in ten is right, only
    the second is ever drawn. It is asked for when somebody wants it, or, with a pool, beside the first.
    """
    if len(photo_px) < 4:
        return
    asked: list[Callable[[], tuple[Any, Any]]] = [
        partial(movement, photo_px, map_px, options) for movement in (_perspective, _similarity)
    ]
    if pool is not None:
        asked = [pool.submit(ask).result for ask in asked]
    for ask in asked:
        found, agree = ask()
        if found is not None and np.isfinite(found).all():
            yield Agreement(np.asarray(found, np.float64), np.asarray(agree, np.bool_).ravel())


def _perspective(photo_px: Floats, map_px: Floats, options: VerifyOptions) -> tuple[Any, Any]:
    """A homography, and who agrees with it."""
    return cv2.findHomography(
        photo_px, map_px, cv2.USAC_MAGSAC, options.inlier_px, maxIters=options.rounds, confidence=_SURE
    )


def _similarity(photo_px: Floats, map_px: Floats, options: VerifyOptions) -> tuple[Any, Any]:
    """A similarity as a homography, and who agrees with it; the lean it leaves out moves points a little."""
    found, agree = cv2.estimateAffinePartial2D(
        photo_px, map_px, method=cv2.RANSAC, ransacReprojThreshold=_LEANING * options.inlier_px,
        maxIters=options.rounds, confidence=_SURE,
    )  # fmt: skip
    return (None if found is None else np.vstack([found, [0.0, 0.0, 1.0]])), agree
