"""Labels on the map: an arrow from each to where its photo was taken, and what cannot be said."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.report.drawing import DOUBT, GOOD, map_picture, pixel_of, with_lines
from nadirfix.types import Point, View

__all__ = ["labels_picture"]

Bytes = NDArray[np.uint8]

_WIDE_PX = 1200
_LONGEST = 0.12  # the longest arrow is drawn as this share of the picture, if that makes it longer
_LINE_PX = 27


def labels_picture(
    texture: Texture, moves: Sequence[tuple[Point, tuple[float, float] | None]], lines: Sequence[str]
) -> Bytes:
    """The map with an arrow for each label that is off by so many metres east and north; a dot where none is.

    Arrows are drawn longer than the map's scale where they would be too short to see; the picture says so.
    """
    west, south, east, north = texture.bounds
    gsd_m = max(east - west, north - south) / _WIDE_PX
    camera = Camera(max(round((east - west) / gsd_m), 1), max(round((north - south) / gsd_m), 1), 1e3, 1e3)
    view = View(texture.center, camera.altitude_m(gsd_m))
    canvas = map_picture(texture.render(view, camera), dim=0.7)
    times = _enlarged([off for _, off in moves if off], gsd_m)
    for label, off_m in moves:
        at = pixel_of(label, view, camera)
        if all(abs(px) < 2 * _WIDE_PX for px in at):  # labels far off the map are only counted
            _draw(canvas, at, off_m, times / gsd_m)
    scale = "arrows from label to photo, " + ("to scale" if times == 1 else f"{times} times as long")
    return with_lines(canvas, [scale, *lines], height_px=canvas.shape[0] + _LINE_PX * (len(lines) + 2))


def _enlarged(offsets: Sequence[tuple[float, float]], gsd_m: float) -> int:
    """How many times longer arrows are drawn than they are."""
    longest_m = max((math.hypot(*off) for off in offsets), default=0.0)
    return max(1, math.floor(_LONGEST * _WIDE_PX * gsd_m / longest_m)) if longest_m > 0 else 1


def _draw(canvas: Bytes, at: tuple[float, float], off_m: tuple[float, float] | None, px_per_m: float) -> None:
    start = round(at[0]), round(at[1])
    if off_m is None:
        cv2.circle(canvas, start, 4, DOUBT, -1, cv2.LINE_AA)
        return
    end = round(at[0] + off_m[0] * px_per_m), round(at[1] - off_m[1] * px_per_m)
    for ink, thick in (((255, 255, 255), 4), (GOOD, 2)):
        cv2.arrowedLine(canvas, start, end, ink, thick, cv2.LINE_AA, tipLength=0.25)
