"""Why an answer is what it is, in one picture: the photo, the places that were thought of, what agreed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.image.crop import crop_window_px
from nadirfix.image.decode import Photo, decode
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.options import LocateOptions
from nadirfix.output import atomic_file
from nadirfix.types import Fix, Point, View
from nadirfix.verify.compare import Comparison, Sighting

__all__ = ["explanation", "write_explanation"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Colour = tuple[int, int, int]

_PAPER, _INK, _SOFT = (247, 246, 242), (38, 40, 44), (112, 114, 118)
_GOOD, _DOUBT, _THOUGHT = (22, 158, 92), (214, 84, 58), (255, 196, 48)
_PANEL_PX, _GAP_PX, _HEAD_PX, _CAPTION_PX = (760, 570), 20, 96, 30
_SHOWN_MATCHES = 60
_CHECKS = 6


def write_explanation(
    target: Path, photo: Photo, fix: Fix, *, bundle: Bundle, camera: Camera | None, options: LocateOptions
) -> None:
    """Write the picture as a PNG file."""
    pixels = explanation(photo, fix, bundle=bundle, camera=camera, options=options)
    with atomic_file(target) as scratch:
        Image.fromarray(pixels).save(scratch, format="PNG")


def explanation(
    photo: Photo, fix: Fix, *, bundle: Bundle, camera: Camera | None, options: LocateOptions
) -> Bytes:
    """Photo and crop, candidates on the map, agreeing points, and the photo laid over the map."""
    pixels = decode(photo, max_pixels=options.max_pixels)
    chosen = choose_camera(read_tags(photo), explicit=camera, nominal=bundle.camera).camera
    scene = _Scene(pixels, chosen, fix, bundle, options)
    panels = [scene.photo(), scene.places(), scene.matches(), scene.draped()]
    return np.asarray(_sheet(panels, _headline(fix), _second_line(fix), good=fix.status == "fix"))


class _Scene:
    """Everything the panels need, looked up once."""

    def __init__(
        self, pixels: Bytes, camera: Camera, fix: Fix, bundle: Bundle, options: LocateOptions
    ) -> None:
        self.pixels, self.camera, self.fix = pixels, camera, fix
        self.texture, self.canonical = bundle.texture, bundle.canonical
        self.told = fix if fix.position else next(iter(fix.hypotheses), None)  # the best there is to show
        self.view = _view_of(self.told)
        detector = bundle.matcher(options.verification.features) if options.verify else None
        self.sighting: Sighting | None = None
        if detector and self.view and fix.verified is not None:
            asked = options.verification
            compare = Comparison(pixels, camera, texture=self.texture, detector=detector, options=asked)
            self.sighting = compare.second_look(Sighting(self.view))

    def photo(self) -> tuple[str, Bytes]:
        """The photo, and the part of it the place network looked at."""
        shown, scale = _fitted(self.pixels)
        if self.fix.gsd_m is None:
            return "photo", shown
        (width, height), _ = crop_window_px(self.camera, self.fix.gsd_m, self.canonical)
        middle = np.array([self.pixels.shape[1], self.pixels.shape[0]]) / 2
        corner = np.array([width, height]) / 2
        low, high = (np.rint((middle + side * corner) * scale).astype(int).tolist() for side in (-1, 1))
        _frame(shown, low, high)
        return "photo, and the crop at the references' scale", shown

    def places(self) -> tuple[str, Bytes]:
        """The whole map with the candidates by rank, and the frame of the answer."""
        west, south, east, north = self.texture.bounds
        gsd_m = max((east - west) / _PANEL_PX[0], (north - south) / _PANEL_PX[1])
        camera = Camera(round((east - west) / gsd_m), round((north - south) / gsd_m), 1000.0, 1000.0)
        view = View(self.texture.center, camera.altitude_m(gsd_m))
        shown = _rendered(self.texture.render(view, camera).pixels, dim=0.8)
        found = self.fix.candidates
        for rank in reversed(range(len(found) if found else 0)):
            assert found is not None
            _dot(shown, _pixel_of(found.point(rank), view, camera), str(rank + 1), _THOUGHT)
        if self.view:
            ink = _GOOD if self.fix.position else _DOUBT
            _outline(shown, np.array([_pixel_of(p, view, camera) for p in self._corners()]), ink)
        return "the map: candidates by rank, and the frame of the answer", shown

    def matches(self) -> tuple[str, Bytes]:
        """Photo and map beside each other, with lines between points that agree."""
        half = (_PANEL_PX[0] // 2, round(_PANEL_PX[0] / 2 * self.camera.height_px / self.camera.width_px))
        left = np.asarray(cv2.resize(self.pixels, half, interpolation=cv2.INTER_AREA), np.uint8)
        if self.view is None:
            return "nothing on the map to hold the photo against", left
        right = self.texture.render(self.view, self.camera, half).pixels
        both = np.ascontiguousarray(np.hstack([left, right]))
        count = self.sighting.inliers if self.sighting else 0
        if self.sighting and count:
            self._lines(both, half)
        return f"photo and map from the same view: {count} points agree", both

    def draped(self) -> tuple[str, Bytes]:
        """The photo in squares over the map: where it is right, edges go on from one to the other."""
        if self.view is None:
            return "no view to lay the photo over the map", np.full((*_PANEL_PX[::-1], 3), 225, np.uint8)
        wide_m, high_m = self.camera.footprint_m(self.view.altitude_m)
        reach_m = 1.15 * math.hypot(wide_m, high_m) / _PANEL_PX[1]
        camera = Camera(*_PANEL_PX, 1000.0, 1000.0)
        view = View(self.view.center, camera.altitude_m(reach_m))
        ground = _rendered(self.texture.render(view, camera).pixels, dim=1.0)
        size = self.pixels.shape[1], self.pixels.shape[0]
        onto = np.linalg.inv(ground_from_pixel(view, camera, _PANEL_PX)) @ ground_from_pixel(
            self.view, self.camera, size
        )
        laid = cv2.warpPerspective(_checked(self.pixels), onto, _PANEL_PX, flags=cv2.INTER_AREA)
        shown = np.where(laid[..., 3:] > 127, laid[..., :3], ground)
        _circle(shown, self.told, reach_m)
        return "the photo in squares over the map, north up", np.ascontiguousarray(shown)

    def _corners(self) -> list[Point]:
        assert self.view is not None
        size = self.camera.width_px, self.camera.height_px
        u, v = np.array([0.0, size[0], size[0], 0.0]), np.array([0.0, 0.0, size[1], size[1]])
        east, north = project(ground_from_pixel(self.view, self.camera, size), u, v)
        return [self.view.center.moved(float(e), float(n)) for e, n in zip(east, north, strict=True)]

    def _lines(self, both: Bytes, half: tuple[int, int]) -> None:
        """Some of the agreeing points, spread over all of them, joined."""
        assert self.sighting is not None and self.view is not None
        chosen = np.linspace(0, self.sighting.inliers - 1, min(_SHOWN_MATCHES, self.sighting.inliers))
        rows = chosen.astype(int)
        origin = [self.view.center.east_m, self.view.center.north_m]
        away = (self.sighting.places_m - origin)[rows]
        back = np.asarray(np.linalg.inv(ground_from_pixel(self.view, self.camera, half)), np.float64)
        x, y = project(back, away[:, 0], away[:, 1])
        starts = self.sighting.photo_share[rows] * half
        for (x0, y0), x1, y1 in zip(starts, x + half[0], y, strict=True):
            ends = (round(float(x0)), round(float(y0))), (round(float(x1)), round(float(y1)))
            cv2.line(both, *ends, _GOOD if self.fix.position else _DOUBT, 1, cv2.LINE_AA)


def _view_of(told: Fix | None) -> View | None:
    if told is None or told.position is None or told.altitude_m is None or told.heading_deg is None:
        return None
    lean = (told.tilt_deg or 0.0, told.tilt_toward_deg or 0.0)
    return View(told.position, told.altitude_m, told.heading_deg, *lean)


def _headline(fix: Fix) -> str:
    if fix.position is None:
        return f"no fix: {fix.reason}"
    lon, lat = fix.position.lonlat
    radius = "" if fix.radius95_m is None else f" ± {fix.radius95_m:.1f} m (95 %)"
    return f"{lat:.6f}, {lon:.6f}{radius}"


def _second_line(fix: Fix) -> str:
    parts = [Path(fix.photo).name] if fix.photo else []
    if fix.position is not None and fix.altitude_m is not None:
        parts.append(f"{fix.altitude_m:.1f} m above ground, {fix.gsd_m or 0:.3f} m per pixel")
    if fix.heading_deg is not None:
        parts.append(f"heading {fix.heading_deg:.1f}°")
    asked = {True: "confirmed by the map", False: "not confirmed by the map", None: "not verified"}
    parts.append(asked[fix.verified])
    if fix.confidence is not None:
        parts.append(f"confidence {fix.confidence:.3f}")
    return " · ".join(parts)


def _sheet(panels: Sequence[tuple[str, Bytes]], title: str, line: str, *, good: bool) -> Image.Image:
    """Two panels by two under a headline."""
    width, height = _PANEL_PX
    cell = width + _GAP_PX, height + _CAPTION_PX + _GAP_PX
    sheet = Image.new("RGB", (_GAP_PX + 2 * cell[0], _HEAD_PX + 2 * cell[1]), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((_GAP_PX, 34), title, fill=_GOOD if good else _DOUBT, font=_font(30), anchor="lm")
    draw.text((_GAP_PX, 72), line, fill=_SOFT, font=_font(20), anchor="lm")
    for i, (words, pixels) in enumerate(panels):
        x, y = _GAP_PX + i % 2 * cell[0], _HEAD_PX + i // 2 * cell[1]
        draw.text((x, y + _CAPTION_PX / 2), words, fill=_INK, font=_font(19), anchor="lm")
        sheet.paste(Image.fromarray(pixels), (x, y + _CAPTION_PX))
    return sheet


def _font(size_px: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size_px)


def _fitted(pixels: Bytes) -> tuple[Bytes, float]:
    scale = min(_PANEL_PX[0] / pixels.shape[1], _PANEL_PX[1] / pixels.shape[0])
    size = round(pixels.shape[1] * scale), round(pixels.shape[0] * scale)
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8), scale


def _rendered(pixels: Bytes, *, dim: float) -> Bytes:
    return np.ascontiguousarray(np.rint(pixels * dim).astype(np.uint8))


def _pixel_of(place: Point, view: View, camera: Camera) -> tuple[float, float]:
    """Where a place lies on a picture that is north up."""
    here, gsd_m = place.to(view.center.epsg), camera.gsd_m(view.altitude_m)
    x = camera.width_px / 2 + (here.east_m - view.center.east_m) / gsd_m
    return x, camera.height_px / 2 - (here.north_m - view.center.north_m) / gsd_m


def _checked(pixels: Bytes) -> Bytes:
    """Every other square of a picture, with cover as its fourth channel."""
    rows, cols = np.ogrid[: pixels.shape[0], : pixels.shape[1]]
    side = max(pixels.shape[1] / _CHECKS, 1)
    cover = ((rows // side + cols // side) % 2 == 0) * np.uint8(255)
    return np.dstack([pixels, cover.astype(np.uint8)])


def _frame(pixels: Bytes, low: Sequence[int], high: Sequence[int]) -> None:
    for ink, thick in ((_INK, 4), (_THOUGHT, 2)):
        cv2.rectangle(pixels, tuple(low), tuple(high), ink, thick, cv2.LINE_AA)


def _dot(pixels: Bytes, at: tuple[float, float], words: str, ink: Colour) -> None:
    spot = round(at[0]), round(at[1])
    cv2.circle(pixels, spot, 9, _INK, -1, cv2.LINE_AA)
    cv2.circle(pixels, spot, 8, ink, -1, cv2.LINE_AA)
    shift = 4 * len(words)
    cv2.putText(
        pixels, words, (spot[0] - shift, spot[1] + 4), cv2.FONT_HERSHEY_SIMPLEX, 0.4, _INK, 1, cv2.LINE_AA
    )


def _outline(pixels: Bytes, corners: Floats, ink: Colour) -> None:
    """A frame with a mark at the photo's top edge."""
    shape = np.rint(corners).astype(np.int32)
    top = np.rint([(corners[0] + corners[1]) / 2, corners.mean(axis=0)]).astype(np.int32)
    for colour, thick in (((255, 255, 255), 5), (ink, 3)):
        cv2.polylines(pixels, [shape], True, colour, thick, cv2.LINE_AA)
        cv2.line(pixels, top[0].tolist(), top[1].tolist(), colour, thick, cv2.LINE_AA)


def _circle(pixels: Bytes, told: Fix | None, gsd_m: float) -> None:
    """The frame centre, and the radius around it."""
    middle = pixels.shape[1] // 2, pixels.shape[0] // 2
    cv2.drawMarker(pixels, middle, (255, 255, 255), cv2.MARKER_CROSS, 22, 4)
    cv2.drawMarker(pixels, middle, _GOOD, cv2.MARKER_CROSS, 20, 2)
    if told is not None and told.radius95_m is not None:
        cv2.circle(pixels, middle, max(round(told.radius95_m / gsd_m), 2), (255, 255, 255), 2, cv2.LINE_AA)
