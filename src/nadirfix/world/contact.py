"""A contact sheet: the map with every photo's ground outlined, beside the photos themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.image.decode import open_photo
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import View

__all__ = ["contact_sheet"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Colour = tuple[int, int, int]

_PAPER: Colour = (247, 246, 242)
_INK: Colour = (38, 40, 44)
_LOW_MIDDLE_HIGH = np.array([(255, 214, 64), (255, 122, 92), (205, 110, 255)], float)
_MAP_PX, _MARGIN_PX, _GAP_PX, _TITLE_PX, _CAPTION_PX = 1080, 28, 12, 52, 28
_SUBPIXEL_BITS = 4


def contact_sheet(ground: GeoMap, records: Sequence[PhotoRecord], camera: Camera) -> Bytes:
    """One picture (RGB): the map with the footprints of the photos of a list, and the photos themselves."""
    views = [_view(record) for record in records]
    inks = _inks([view.altitude_m for view in views])
    chart = _map_panel(ground, views, camera, inks)
    cards = _photo_panel(records, views, camera, inks)
    width = 3 * _MARGIN_PX + chart.width + cards.width
    sheet = Image.new("RGB", (width, _TITLE_PX + _MAP_PX + _MARGIN_PX), _PAPER)
    sheet.paste(chart, (_MARGIN_PX, _TITLE_PX))
    sheet.paste(cards, (2 * _MARGIN_PX + chart.width, _TITLE_PX))
    middle = (_MARGIN_PX, _TITLE_PX // 2)
    ImageDraw.Draw(sheet).text(middle, _title(ground, views), fill=_INK, font=_font(26), anchor="lm")
    return np.asarray(sheet)


def _view(record: PhotoRecord) -> View:
    """The photo's view; a list without altitude has no footprint to draw, so one metre."""
    tilt = (record.tilt_deg or 0.0, record.tilt_toward_deg or 0.0)
    return View(record.point, record.altitude_m or 1.0, record.heading_deg or 0.0, *tilt)


def _inks(altitudes_m: Sequence[float]) -> list[Colour]:
    """A colour per photo, from low to high."""
    low, high = min(altitudes_m), max(altitudes_m)
    steps = [2.0 * (a - low) / max(high - low, 1e-9) for a in altitudes_m]
    channels = [np.interp(steps, [0, 1, 2], _LOW_MIDDLE_HIGH[:, c]) for c in range(3)]
    return [(round(r), round(g), round(b)) for r, g, b in zip(*channels, strict=True)]


def _title(ground: GeoMap, views: Sequence[View]) -> str:
    west, south, east, north = ground.bounds
    heights = [view.altitude_m for view in views]
    return (
        f"{len(views)} photos over {(east - west) / 1000:.1f} by {(north - south) / 1000:.1f} km of map,"
        f" from {min(heights):.0f} to {max(heights):.0f} m above ground"
    )


def _map_panel(ground: GeoMap, views: Sequence[View], camera: Camera, inks: Sequence[Colour]) -> Image.Image:
    """The whole map in a square, outlines over it, a scale and north."""
    west, south, east, north = ground.bounds
    side_m = max(east - west, north - south)
    square = Camera(_MAP_PX, _MAP_PX, float(_MAP_PX), float(_MAP_PX))
    rendered = ground.render(View(ground.center, side_m), square)
    pixels = np.where(rendered.valid[..., None] > 0, rendered.pixels, np.array(_PAPER, np.uint8))
    outlines = [_outline(view, camera, ground, side_m) for view in views]
    high_to_low = sorted(range(len(views)), key=lambda i: -views[i].altitude_m)
    for i in high_to_low:
        _draw_outline(pixels, outlines[i], inks[i])
    panel = Image.fromarray(pixels)
    for i in high_to_low:
        _tag(panel, i + 1, outlines[i][0], inks[i])
    _scale_and_north(panel, side_m)
    return panel


def _outline(view: View, camera: Camera, ground: GeoMap, side_m: float) -> Floats:
    """The photo's corners on the panel, from its top left clockwise."""
    width, height = camera.width_px, camera.height_px
    u, v = np.array([0.0, width, width, 0.0]), np.array([0.0, 0.0, height, height])
    east, north = project(ground_from_pixel(view, camera, (width, height)), u, v)
    here, middle = view.center.to(ground.epsg), ground.center
    right, up = east + here.east_m - middle.east_m, north + here.north_m - middle.north_m
    return np.column_stack([right, -up]) * _MAP_PX / side_m + _MAP_PX / 2


def _draw_outline(pixels: Bytes, outline: Floats, ink: Colour) -> None:
    """A thin frame that shows on any ground, with an arrowhead on the photo's top edge."""
    shapes = [_fixed(outline), _fixed(_arrowhead(outline))]
    for colour, width in ((_INK, 4), (ink, 2)):
        cv2.polylines(pixels, shapes, True, colour, width, cv2.LINE_AA, _SUBPIXEL_BITS)
    cv2.fillPoly(pixels, shapes[1:], ink, cv2.LINE_AA, _SUBPIXEL_BITS)


def _arrowhead(outline: Floats) -> Floats:
    top = (outline[0] + outline[1]) / 2
    ahead = top - outline.mean(axis=0)
    ahead *= 14.0 / max(float(np.hypot(*ahead)), 1e-9)
    side = np.array([-ahead[1], ahead[0]]) * 0.7
    return np.array([top - side, top + ahead, top + side])


def _fixed(points: Floats) -> NDArray[np.int32]:
    return np.asarray(np.rint((points - 0.5) * 2**_SUBPIXEL_BITS), dtype=np.int32)


def _tag(panel: Image.Image, number: int, at: Floats, ink: Colour) -> None:
    draw = ImageDraw.Draw(panel)
    x, y = float(at[0]), float(at[1])
    draw.rounded_rectangle((x - 17, y - 13, x + 17, y + 13), 7, fill=ink, outline=_INK, width=1)
    draw.text((x, y), str(number), fill=_INK, font=_font(19), anchor="mm")


def _scale_and_north(panel: Image.Image, side_m: float) -> None:
    draw = ImageDraw.Draw(panel)
    length_m = _round_length(side_m / 5)
    end = 24 + length_m * _MAP_PX / side_m
    base = _MAP_PX - 24
    draw.rounded_rectangle((12, base - 44, end + 12, base + 12), 8, fill=_PAPER)
    draw.rectangle((24, base - 6, end, base), fill=_INK)
    draw.text(((24 + end) / 2, base - 12), f"{length_m:.0f} m", fill=_INK, font=_font(20), anchor="mb")
    draw.rounded_rectangle((_MAP_PX - 52, 12, _MAP_PX - 12, 78), 8, fill=_PAPER)
    draw.polygon([(_MAP_PX - 42, 46), (_MAP_PX - 32, 20), (_MAP_PX - 22, 46)], fill=_INK)
    draw.text((_MAP_PX - 32, 62), "N", fill=_INK, font=_font(20), anchor="mm")


def _round_length(wanted_m: float) -> float:
    """The nearest length below that people like to read: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(wanted_m))
    return max(step * power for step in (1, 2, 5) if step * power <= wanted_m)


def _photo_panel(
    records: Sequence[PhotoRecord], views: Sequence[View], camera: Camera, inks: Sequence[Colour]
) -> Image.Image:
    """The photos in reading order, each with its number, altitude and heading."""
    columns = max(1, round(math.sqrt(len(records) * 2 / 3)))
    lines = math.ceil(len(records) / columns)
    height = (_MAP_PX + _GAP_PX) // lines - _GAP_PX
    width = round((height - _CAPTION_PX) * camera.width_px / camera.height_px)
    panel = Image.new("RGB", (columns * (width + _GAP_PX) - _GAP_PX, _MAP_PX), _PAPER)
    for i, (record, view, ink) in enumerate(zip(records, views, inks, strict=True)):
        at = (i % columns * (width + _GAP_PX), i // columns * (height + _GAP_PX))
        panel.paste(_card(record.photo, i + 1, view, ink, (width, height)), at)
    return panel


def _card(photo: Path, number: int, view: View, ink: Colour, size: tuple[int, int]) -> Image.Image:
    width, height = size
    card = Image.new("RGB", size, _PAPER)
    card.paste(_thumbnail(photo, (width, height - _CAPTION_PX)), (0, _CAPTION_PX))
    draw = ImageDraw.Draw(card)
    draw.rounded_rectangle((0, 2, 32, _CAPTION_PX - 4), 6, fill=ink, outline=_INK, width=1)
    draw.text((16, _CAPTION_PX / 2 - 1), str(number), fill=_INK, font=_font(18), anchor="mm")
    caption = f"{view.altitude_m:.0f} m · {view.heading_deg % 360:.0f}°"
    draw.text((40, _CAPTION_PX / 2 - 1), caption, fill=_INK, font=_font(20), anchor="lm")
    return card


def _thumbnail(photo: Path, size: tuple[int, int]) -> Image.Image:
    """The photo at this size; JPEG files are decoded no larger than needed."""
    with open_photo(photo) as picture:
        picture.draft("RGB", (2 * size[0], 2 * size[1]))
        small: Image.Image = picture.convert("RGB").resize(size, Image.Resampling.BOX, reducing_gap=2.0)
        return small


def _font(size_px: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size_px)
