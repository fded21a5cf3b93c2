"""Pictures with things drawn on them: frames, dots, outlines, and several pictures in one."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from nadirfix.camera import Camera
from nadirfix.geo.render import Rendered
from nadirfix.types import Fix, Point, View

__all__ = [
    "CANDIDATE",
    "DOUBT",
    "GOOD",
    "PANEL_PX",
    "checkerboard",
    "draw_dot",
    "draw_frame",
    "draw_outline",
    "draw_radius",
    "fitted",
    "map_picture",
    "panel_grid",
    "pixel_of",
    "with_lines",
]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Colour = tuple[int, int, int]

#: Width and height of one panel.
PANEL_PX = (760, 570)
#: What is confirmed, what is not, and what was only a candidate.
GOOD, DOUBT, CANDIDATE = (22, 158, 92), (214, 84, 58), (255, 196, 48)
_PAPER, _INK, _SOFT = (247, 246, 242), (38, 40, 44), (112, 114, 118)
_NO_MAP = (214, 212, 206)
_GAP_PX, _HEAD_PX, _CAPTION_PX = 20, 96, 30
_CHECKS = 6
_LINES = 10


def panel_grid(panels: Sequence[tuple[str, Bytes]], title: str, line: str, *, good: bool) -> Image.Image:
    """Two panels by two under a headline."""
    width, height = PANEL_PX
    cell = width + _GAP_PX, height + _CAPTION_PX + _GAP_PX
    canvas = Image.new("RGB", (_GAP_PX + 2 * cell[0], _HEAD_PX + 2 * cell[1]), _PAPER)
    draw = ImageDraw.Draw(canvas)
    draw.text((_GAP_PX, 34), title, fill=GOOD if good else DOUBT, font=_font(30), anchor="lm")
    draw.text((_GAP_PX, 72), line, fill=_SOFT, font=_font(20), anchor="lm")
    for i, (words, pixels) in enumerate(panels):
        x, y = _GAP_PX + i % 2 * cell[0], _HEAD_PX + i // 2 * cell[1]
        draw.text((x, y + _CAPTION_PX / 2), words, fill=_INK, font=_font(19), anchor="lm")
        canvas.paste(Image.fromarray(pixels), (x, y + _CAPTION_PX))
    return canvas


def _font(size_px: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size_px)


def fitted(pixels: Bytes) -> tuple[Bytes, float]:
    """A picture as large as a panel, and how much smaller it became."""
    scale = min(PANEL_PX[0] / pixels.shape[1], PANEL_PX[1] / pixels.shape[0])
    size = round(pixels.shape[1] * scale), round(pixels.shape[0] * scale)
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8), scale


def map_picture(rendered: Rendered, *, dim: float) -> Bytes:
    """The map, darker if that helps what is drawn on it; paper where there is none."""
    paper = np.array(_NO_MAP, np.float64)
    return np.rint(np.where(rendered.valid[..., None] > 0, rendered.pixels * dim, paper)).astype(np.uint8)


def with_lines(pixels: Bytes, lines: Sequence[str], *, height_px: int = PANEL_PX[1]) -> Bytes:
    """A picture with a few lines of text below, as high as a panel by default."""
    canvas = Image.new("RGB", (pixels.shape[1], height_px), _PAPER)
    canvas.paste(Image.fromarray(pixels), (0, 0))
    draw = ImageDraw.Draw(canvas)
    for i, line in enumerate(lines[:_LINES]):
        draw.text((0, pixels.shape[0] + 22 + 27 * i), line, fill=_INK, font=_font(18), anchor="lm")
    return np.asarray(canvas)


def pixel_of(point: Point, view: View, camera: Camera) -> tuple[float, float]:
    """Where a place lies on a picture that is north up."""
    here, gsd_m = point.to(view.center.epsg), camera.gsd_m(view.altitude_m)
    x = camera.width_px / 2 + (here.east_m - view.center.east_m) / gsd_m
    return x, camera.height_px / 2 - (here.north_m - view.center.north_m) / gsd_m


def checkerboard(pixels: Bytes) -> Bytes:
    """Every other square of a picture, with cover as its fourth channel."""
    rows, cols = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
    side = max(pixels.shape[1] / _CHECKS, 1)
    cover = ((rows // side + cols // side) % 2 == 0) * np.uint8(255)
    return np.dstack([pixels, cover.astype(np.uint8)])


def draw_frame(pixels: Bytes, low: Sequence[int], high: Sequence[int]) -> None:
    """A frame between two corners."""
    for ink, thick in ((_INK, 4), (CANDIDATE, 2)):
        cv2.rectangle(pixels, tuple(low), tuple(high), ink, thick, cv2.LINE_AA)


def draw_dot(pixels: Bytes, at: tuple[float, float], words: str, ink: Colour) -> None:
    """A dot with a short word in it."""
    spot = round(at[0]), round(at[1])
    cv2.circle(pixels, spot, 9, _INK, -1, cv2.LINE_AA)
    cv2.circle(pixels, spot, 8, ink, -1, cv2.LINE_AA)
    shift = 4 * len(words)
    cv2.putText(
        pixels, words, (spot[0] - shift, spot[1] + 4), cv2.FONT_HERSHEY_SIMPLEX, 0.4, _INK, 1, cv2.LINE_AA
    )


def draw_outline(pixels: Bytes, corners: Floats, ink: Colour) -> None:
    """A frame with a mark at the photo's top edge."""
    shape = np.rint(corners).astype(np.int32)
    top = np.rint([(corners[0] + corners[1]) / 2, corners.mean(axis=0)]).astype(np.int32)
    for colour, thick in (((255, 255, 255), 5), (ink, 3)):
        cv2.polylines(pixels, [shape], True, colour, thick, cv2.LINE_AA)
        cv2.line(pixels, top[0].tolist(), top[1].tolist(), colour, thick, cv2.LINE_AA)


def draw_radius(pixels: Bytes, fix: Fix | None, gsd_m: float) -> None:
    """The frame centre, and the radius around it."""
    middle = pixels.shape[1] // 2, pixels.shape[0] // 2
    cv2.drawMarker(pixels, middle, (255, 255, 255), cv2.MARKER_CROSS, 22, 4)
    cv2.drawMarker(pixels, middle, GOOD, cv2.MARKER_CROSS, 20, 2)
    if fix is not None and fix.radius95_m is not None:
        cv2.circle(pixels, middle, max(round(fix.radius95_m / gsd_m), 2), (255, 255, 255), 2, cv2.LINE_AA)
