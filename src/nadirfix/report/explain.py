"""Why an answer is what it is, in one picture: the photo, the candidates on the map, the inliers."""

from __future__ import annotations

import math
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.image.crop import crop_window_px
from nadirfix.image.decode import decode
from nadirfix.image.photo_source import Photo
from nadirfix.image.tags import choose_camera, read_tags
from nadirfix.image.undistort import undistorted
from nadirfix.options.locate import LocateOptions
from nadirfix.report.drawing import (
    CANDIDATE,
    DOUBT,
    GOOD,
    PANEL_PX,
    checkerboard,
    draw_dot,
    draw_frame,
    draw_outline,
    draw_radius,
    fitted,
    map_picture,
    panel_grid,
    pixel_of,
    with_lines,
)
from nadirfix.report.png import write_png
from nadirfix.types import Fix, Point, View
from nadirfix.verify.registration import MatchResult, Registration

__all__ = ["explanation", "write_explanation"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Colour = tuple[int, int, int]

_MATCH_LINES = 30


def write_explanation(
    target: Path, photo: Photo, fix: Fix, *, bundle: Bundle, camera: Camera | None, options: LocateOptions
) -> None:
    """Write the picture as a PNG file."""
    pixels = explanation(photo, fix, bundle=bundle, camera=camera, options=options)
    write_png(target, pixels)


def explanation(
    photo: Photo, fix: Fix, *, bundle: Bundle, camera: Camera | None, options: LocateOptions
) -> Bytes:
    """Photo and crop, candidates on the map, inlier matches, and the photo laid over the map."""
    pixels = decode(photo, max_pixels=options.max_pixels)
    chosen = choose_camera(read_tags(photo), explicit=camera, nominal=bundle.camera).camera
    scene = _Scene(*undistorted(pixels, chosen), fix, bundle, options)
    panels = [scene.photo(), scene.candidates(), scene.matches(), scene.draped()]
    return np.asarray(panel_grid(panels, _headline(fix), _second_line(fix), good=fix.status == "fix"))


class _Scene:
    """Everything the panels need, looked up once."""

    def __init__(
        self, pixels: Bytes, camera: Camera, fix: Fix, bundle: Bundle, options: LocateOptions
    ) -> None:
        self.pixels, self.camera, self.fix = pixels, camera, fix
        self.texture, self.canonical = bundle.texture, bundle.canonical
        self.best = fix if fix.position else next(iter(fix.hypotheses), None)
        self.view = _view_of(self.best)
        self.match: MatchResult | None = None
        if self.view and fix.verified is not None and bundle.matcher_name is not None:
            detector = bundle.keypoint_detector(options.verification.features)
            registration = Registration(
                pixels, camera, texture=self.texture, detector=detector, options=options.verification.match
            )
            self.match = registration.match_finer(MatchResult(self.view))

    def photo(self) -> tuple[str, Bytes]:
        """The photo, and the crop the place network was given."""
        canvas, scale = fitted(self.pixels)
        gsd_m = self._gsd_m()
        if gsd_m is None:
            return "photo", canvas
        (width, height), _ = crop_window_px(self.camera, gsd_m, self.canonical)
        middle = np.array([self.pixels.shape[1], self.pixels.shape[0]]) / 2
        corner = np.array([width, height]) / 2
        low, high = (np.rint((middle + side * corner) * scale).astype(int).tolist() for side in (-1, 1))
        draw_frame(canvas, low, high)
        return "photo, and the crop at the references' scale", canvas

    def _gsd_m(self) -> float | None:
        """The answer's; without an answer, that of the altitude it was searched at."""
        if self.fix.gsd_m is None and self.fix.altitude is not None:
            return self.camera.gsd_m(self.fix.altitude.altitude_m)
        return self.fix.gsd_m

    def candidates(self) -> tuple[str, Bytes]:
        """The whole map with the candidates by rank, and the frame of the answer."""
        west, south, east, north = self.texture.bounds
        gsd_m = max((east - west) / PANEL_PX[0], (north - south) / PANEL_PX[1])
        camera = Camera(round((east - west) / gsd_m), round((north - south) / gsd_m), 1000.0, 1000.0)
        view = View(self.texture.center, camera.altitude_m(gsd_m))
        canvas = map_picture(self.texture.render(view, camera), dim=0.8)
        found = self.fix.candidates
        for rank in reversed(range(len(found) if found else 0)):
            assert found is not None
            draw_dot(canvas, pixel_of(found.point(rank), view, camera), str(rank + 1), CANDIDATE)
        if self.view:
            ink = GOOD if self.fix.position else DOUBT
            draw_outline(canvas, np.array([pixel_of(p, view, camera) for p in self._corners()]), ink)
        return "the map: candidates by rank, and the frame of the answer", canvas

    def matches(self) -> tuple[str, Bytes]:
        """Photo and map beside each other, with lines between inlier matches."""
        half = (PANEL_PX[0] // 2, round(PANEL_PX[0] / 2 * self.camera.height_px / self.camera.width_px))
        left = np.asarray(cv2.resize(self.pixels, half, interpolation=cv2.INTER_AREA), np.uint8)
        if self.view is None:
            return "no view on the map to compare the photo with", left
        right = self.texture.render(self.view, self.camera, half).pixels
        both = np.ascontiguousarray(np.hstack([left, right]))
        count = (self.best.inliers if self.best else None) or 0
        if self.match and self.match.inliers:
            self._lines(both, half)
        words = f"photo and map from the same view: {count} inliers"
        return words, with_lines(both, _hypothesis_lines(self.fix))

    def draped(self) -> tuple[str, Bytes]:
        """The photo in squares over the map: where it is right, edges go on from one to the other."""
        if self.view is None:
            return "no view to lay the photo over the map", np.full((*PANEL_PX[::-1], 3), 225, np.uint8)
        wide_m, high_m = self.camera.footprint_m(self.view.altitude_m)
        reach_m = 1.15 * math.hypot(wide_m, high_m) / PANEL_PX[1]
        camera = Camera(*PANEL_PX, 1000.0, 1000.0)
        view = View(self.view.center, camera.altitude_m(reach_m))
        ground = map_picture(self.texture.render(view, camera), dim=1.0)
        size = self.pixels.shape[1], self.pixels.shape[0]
        onto = np.linalg.inv(ground_from_pixel(view, camera, PANEL_PX)) @ ground_from_pixel(
            self.view, self.camera, size
        )
        laid = cv2.warpPerspective(checkerboard(self.pixels), onto, PANEL_PX, flags=cv2.INTER_AREA)
        canvas = np.ascontiguousarray(np.where(laid[..., 3:] > 127, laid[..., :3], ground))
        corners = np.array([[pixel_of(p, view, camera) for p in self._corners()]])
        cv2.polylines(canvas, np.rint(corners).astype(np.int32), True, (255, 255, 255), 1, cv2.LINE_AA)
        draw_radius(canvas, self.best, reach_m)
        return "the photo in squares over the map, north up", canvas

    def _corners(self) -> list[Point]:
        assert self.view is not None
        size = self.camera.width_px, self.camera.height_px
        u, v = np.array([0.0, size[0], size[0], 0.0]), np.array([0.0, 0.0, size[1], size[1]])
        east, north = project(ground_from_pixel(self.view, self.camera, size), u, v)
        return [self.view.center.moved(float(e), float(n)) for e, n in zip(east, north, strict=True)]

    def _lines(self, both: Bytes, half: tuple[int, int]) -> None:
        """Some of the inlier matches, spread over all of them, joined by lines."""
        assert self.match is not None and self.view is not None
        chosen = np.linspace(0, self.match.inliers - 1, min(_MATCH_LINES, self.match.inliers))
        rows = chosen.astype(int)
        origin = [self.view.center.east_m, self.view.center.north_m]
        away = (self.match.ground_m - origin)[rows]
        back = np.asarray(np.linalg.inv(ground_from_pixel(self.view, self.camera, half)), np.float64)
        x, y = project(back, away[:, 0], away[:, 1])
        starts = self.match.photo_share[rows] * half
        for (x0, y0), x1, y1 in zip(starts, x + half[0], y, strict=True):
            ends = (round(float(x0)), round(float(y0))), (round(float(x1)), round(float(y1)))
            ink = GOOD if self.fix.position else DOUBT
            cv2.line(both, *ends, ink, 1, cv2.LINE_AA)
            for spot in ends:
                cv2.circle(both, spot, 3, ink, -1, cv2.LINE_AA)


def _view_of(fix: Fix | None) -> View | None:
    if fix is None or fix.position is None or fix.altitude_m is None or fix.heading_deg is None:
        return None
    tilt = (fix.tilt_deg or 0.0, fix.tilt_toward_deg or 0.0)
    return View(fix.position, fix.altitude_m, fix.heading_deg, *tilt)


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
    verdicts = {True: "confirmed by the map", False: "not confirmed by the map", None: "not verified"}
    parts.append(verdicts[fix.verified])
    if fix.confidence is not None:
        parts.append(f"confidence {fix.confidence:.3f}")
    return " · ".join(parts)


def _hypothesis_lines(fix: Fix) -> list[str]:
    """Inliers and confidence of every position verified against the map, and the time it took."""
    listed = [fix, *fix.hypotheses] if fix.position else [*fix.hypotheses]
    lines = [f"{i + 1}. {_hypothesis_line(one, fix)}" for i, one in enumerate(listed) if one.inliers]
    if fix.reason:
        lines.append(fix.reason)
    lines += [f"warning: {warning}" for warning in fix.warnings]
    spent = [f"{name.replace('_', ' ')} {ms:.0f}" for name, ms in fix.timings_ms.items()]
    return lines + [f"ms: {', '.join(part)}" for part in (spent[:7], spent[7:]) if part]


def _hypothesis_line(hypothesis: Fix, fix: Fix) -> str:
    assert hypothesis.position is not None
    lon, lat = hypothesis.position.lonlat
    away = "" if fix.position is None else f", {hypothesis.position.distance_m(fix.position):.0f} m away"
    where = "this place" if hypothesis is fix else f"{lat:.6f}, {lon:.6f}{away}"
    return f"{where}: {hypothesis.inliers} inliers, confidence {hypothesis.confidence or 0.0:.3f}"
