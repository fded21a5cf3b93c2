"""The map with every photo on it: where it was taken, what was answered, and a line between the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.evaluation.metrics import NEAR_M, QueryRecord, error_m
from nadirfix.geo.texture import Texture
from nadirfix.report.html import data_uri, metres
from nadirfix.types import Point, View

__all__ = ["answers_on_map"]

_LONGEST_PX = 1400
_QUALITY = 72
#: The map is shown a little darker, so that dots and lines stand out on any ground.
_DIM = 0.8


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where metres lie on the picture of the map."""

    center: Point
    width_px: int
    height_px: int
    gsd_m: float

    def pixel(self, point: Point) -> tuple[float, float]:
        here = point.to(self.center.epsg)
        x = self.width_px / 2 + (here.east_m - self.center.east_m) / self.gsd_m
        return x, self.height_px / 2 - (here.north_m - self.center.north_m) / self.gsd_m


def answers_on_map(texture: Texture, records: Sequence[QueryRecord]) -> str:
    """The whole map from the bundle, truth and answers over it, as one figure."""
    frame = _frame(texture)
    source = data_uri(_ground(texture, frame), quality=_QUALITY)
    right = sum(error_m(r) < NEAR_M for r in records)
    label = f"Map with {len(records)} photos; {right} answers lie within 100 m of the truth"
    size = f'width="{frame.width_px}" height="{frame.height_px}"'
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {frame.width_px} {frame.height_px}">'
        f'<image href="{source}" {size}/>{_lines(records, frame)}{_dots(records, frame)}{_scale(frame)}</svg>'
    )


def _frame(texture: Texture) -> _Frame:
    west, south, east, north = texture.bounds
    gsd_m = max(east - west, north - south) / _LONGEST_PX
    width, height = round((east - west) / gsd_m), round((north - south) / gsd_m)
    return _Frame(texture.center, max(width, 1), max(height, 1), gsd_m)


def _ground(texture: Texture, frame: _Frame) -> NDArray[np.uint8]:
    camera = Camera(frame.width_px, frame.height_px, 1000.0, 1000.0)
    rendered = texture.render(View(frame.center, camera.altitude_m(frame.gsd_m)), camera)
    return np.where(rendered.valid[..., None] > 0, rendered.pixels * _DIM, 40.0).astype(np.uint8)


def _lines(records: Sequence[QueryRecord], frame: _Frame) -> str:
    drawn = []
    for record in sorted(records, key=error_m, reverse=True):
        position = record.fix.position if record.fix else None
        if position is not None:
            (x1, y1), (x2, y2) = frame.pixel(record.truth), frame.pixel(position)
            kind = "line near" if error_m(record) < NEAR_M else "line"
            drawn.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    return "".join(drawn)


def _dots(records: Sequence[QueryRecord], frame: _Frame) -> str:
    radius = 4.5 if len(records) < 600 else 3.0
    drawn = []
    for record in sorted(records, key=error_m, reverse=True):
        position = record.fix.position if record.fix else None
        truth = "truth" if position is not None else "none"
        if position is not None:
            kind = "answer near" if error_m(record) < NEAR_M else "answer"
            drawn.append(_dot(kind, frame.pixel(position), radius, f"{record.photo}: answer"))
        drawn.append(_dot(truth, frame.pixel(record.truth), radius, _title(record)))
    return "".join(drawn)


def _dot(kind: str, at: tuple[float, float], radius: float, title: str) -> str:
    words = f"<title>{escape(title)}</title>"
    return f'<circle class="{kind}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}">{words}</circle>'


def _title(record: QueryRecord) -> str:
    off = error_m(record)
    height = f" from {record.altitude_m:.0f} m" if record.altitude_m is not None else ""
    return f"{record.photo}{height}: {metres(off) + ' off' if np.isfinite(off) else record.status}"


def _scale(frame: _Frame) -> str:
    """A bar of a round length, at the lower left."""
    wanted_m = frame.width_px * frame.gsd_m / 5
    power = 10.0 ** np.floor(np.log10(wanted_m))
    length_m = max(step * power for step in (1, 2, 5) if step * power <= wanted_m)
    width, base = length_m / frame.gsd_m, frame.height_px - 26
    box = f'<rect class="plate" x="14" y="{base - 34}" width="{width + 28:.0f}" height="50" rx="8"/>'
    bar = f'<rect x="28" y="{base}" width="{width:.0f}" height="4" fill="#fff"/>'
    words = f'<text x="28" y="{base - 10}" fill="#fff" font-size="20">{length_m:.0f} m</text>'
    return box + bar + words
