"""Template correlation: the photo's middle, slid over the whole map at every heading. Nothing is learned.

The floor of every table: the normalised correlation coefficient of grey levels, at a coarse resolution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.evaluation.answer_files import candidates_at
from nadirfix.evaluation.methods.ground import CommonGround
from nadirfix.files import Progress
from nadirfix.geo.render import filled
from nadirfix.geo.texture import Texture
from nadirfix.image.resampling import Picture
from nadirfix.photo_list import PhotoRecord
from nadirfix.timing import Stopwatch
from nadirfix.types import Fix, Point, View
from nadirfix.verify.features import grey_of

__all__ = ["TemplateMethod", "template_method"]

Singles = NDArray[np.float32]

#: Correlated at so many metres a pixel, and at so many headings: finer ones find no more and take longer.
_GSD_M, _HEADINGS = 3.0, 36
#: Peaks nearer to a higher one than this are the same place.
_APART_M, _RANKED = 50.0, 5
#: A view that only scales: what it is called is no matter.
_FOCAL_PX = 1000.0


@dataclass(frozen=True, eq=False)
class TemplateMethod:
    """Slides the photo over the map."""

    ground: CommonGround

    @property
    def size_mb(self) -> float:
        """The map in grey at the resolution it is searched at."""
        return self._map.nbytes / 1e6

    def prepare(self, progress: Progress) -> None:
        """Render the map once."""
        progress("rendering the map", 0, 1)
        _ = self._map
        progress("rendering the map", 1, 1)

    def locate(self, row: PhotoRecord) -> Fix:
        """The place and heading at which photo and map correlate most."""
        watch, (wide_m, high_m) = Stopwatch(), self.ground.bundle.canonical.footprint_m
        size_px = round(wide_m / _GSD_M), round(high_m / _GSD_M)
        picture = self.ground.picture(row, size_px, watch)
        with watch.stage("retrieve"):
            found = self._peaks(grey_of(picture.crop.pixels))
        points = [self._point(col, row_px) for _, _, col, row_px in found]
        return Fix(
            photo=str(row.photo),
            status="unverified",
            position=points[0],
            heading_deg=found[0][1],
            gsd_m=picture.gsd_m,
            candidates=candidates_at(points, [turn for _, turn, *_ in found], [1 - s for s, *_ in found]),
            timings_ms=watch.timings_ms(),
        )

    @cached_property
    def _map(self) -> Singles:
        texture: Texture = self.ground.bundle.texture
        west, south, east, north = texture.bounds
        camera = Camera(
            max(round((east - west) / _GSD_M), 1), max(round((north - south) / _GSD_M), 1),
            _FOCAL_PX, _FOCAL_PX,
        )  # fmt: skip
        rendered = texture.render(View(texture.center, camera.altitude_m(_GSD_M)), camera)
        return grey_of(filled(rendered))

    def _point(self, col: float, row_px: float) -> Point:
        """The place of a pixel of the rendered map."""
        center, (height, width) = self.ground.bundle.texture.center, self._map.shape
        return center.moved((col - width / 2) * _GSD_M, (height / 2 - row_px) * _GSD_M)

    def _peaks(self, grey: Singles) -> list[tuple[float, float, float, float]]:
        """The highest scores at places of their own: score, heading, column and row of the middle."""
        best, heading = _correlated(self._map, grey)
        peaks, half_px = [], _side_px(grey) / 2
        radius_px = max(round(_APART_M / _GSD_M), 1)
        for _ in range(_RANKED):
            _, score, _, (col, row) = cv2.minMaxLoc(best)
            if score < -1:
                break
            peaks.append((float(score), float(heading[row, col]), col + half_px, row + half_px))
            cv2.circle(best, (col, row), radius_px, -2.0, -1)
        return peaks


def template_method(ground: CommonGround, _weights: Path | None, _folder: Path) -> TemplateMethod:
    """The floor of every table."""
    return TemplateMethod(ground)


def _correlated(ground: Singles, grey: Singles) -> tuple[Singles, Singles]:
    """The highest coefficient at every place, over all headings, and the heading it has there."""
    best: Singles | None = None
    heading = np.zeros((1, 1), np.float32)
    for turn_deg, template in _templates(grey):
        score = np.asarray(cv2.matchTemplate(ground, template, cv2.TM_CCOEFF_NORMED), np.float32)
        score = np.where(np.isfinite(score) & (np.abs(score) <= 1.001), score, np.float32(-1))
        if best is None:
            best, heading = score, np.full_like(score, turn_deg)
        else:
            heading = np.where(score > best, np.float32(turn_deg), heading)
            best = np.maximum(best, score)
    assert best is not None
    return np.ascontiguousarray(best), heading


def _templates(grey: Picture) -> Iterator[tuple[float, Singles]]:
    """The photo's middle north up, for every heading: the square that stays inside it however it turns."""
    side_px, (height, width) = _side_px(grey), grey.shape
    for turn_deg in np.arange(_HEADINGS) * (360.0 / _HEADINGS):
        turned = cv2.getRotationMatrix2D((width / 2 - 0.5, height / 2 - 0.5), -float(turn_deg), 1.0)
        turned[:, 2] += side_px / 2 - width / 2, side_px / 2 - height / 2
        template = cv2.warpAffine(grey, turned, (side_px, side_px), flags=cv2.INTER_LINEAR)
        yield float(turn_deg), np.asarray(template, np.float32)


def _side_px(grey: Singles) -> int:
    """The side of the largest square inside the photo's middle at every heading."""
    return max(int(min(grey.shape) / np.sqrt(2)), 8)
