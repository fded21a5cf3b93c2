"""Rendering nadir views of a map: one definition of resampling for maps and textures alike (ADR 7).

A source is a pyramid of pictures. The level is chosen by the ratio of the output's ground sampling distance
to the map's; the picture is then evaluated bilinearly on a grid a few times finer than the output and
averaged by a Gaussian. So what is left of fine detail depends on the output alone, not on the level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.options.map import RenderOptions
from nadirfix.types import View

__all__ = [
    "Rendered",
    "Source",
    "Window",
    "downsampling_kernel",
    "filled",
    "pyramid_level",
    "render",
    "supersample",
]

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Layer = NDArray[np.integer | np.floating]

#: Sub-samples of one band of rows held in memory at a time.
_BAND_SAMPLES = 3_000_000
#: Gaussian that gathers samples, in output pixels: 0.35 is left at Nyquist.
_KERNEL_SIGMA_PX = 0.46


@dataclass(frozen=True, slots=True, eq=False)
class Rendered:
    """A picture of the map, and how much of it the map covers."""

    pixels: Bytes  # (height, width, 3), black where there is no map
    valid: Bytes  # (height, width), 255 on the map and 0 off it
    valid_share: float


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A piece of one pyramid level, and where it lies: level-0 column = col + col_step · window column."""

    pixels: Bytes
    mask: Bytes
    col: float
    row: float
    col_step: float
    row_step: float


class Source(Protocol):
    """A pyramid of pictures that knows which pixel lies at which place."""

    @property
    def gsd_m(self) -> float:
        """Metres of ground per pixel at level 0."""

    @property
    def level_count(self) -> int:
        """How many levels there are, each half as fine as the one before."""

    def pixel_from_ground(self, east_m: Floats, north_m: Floats, epsg: int) -> tuple[Floats, Floats]:
        """Column and row (level 0, pixel corners at whole numbers) of places in a UTM zone."""

    def read(self, level: int, cols: tuple[float, float], rows: tuple[float, float]) -> Window | None:
        """The piece of a level that covers these level-0 columns and rows; None when it is off the map."""


def supersample(ratio: float, options: RenderOptions) -> int:
    """How many samples per output pixel and axis: one when the map is much coarser than the output."""
    return options.supersample if ratio > 0.5 else 1


def pyramid_level(ratio: float, level_count: int, options: RenderOptions) -> int:
    """The coarsest level whose pixels are still no larger than the samples' spacing."""
    wanted = math.floor(math.log2(max(ratio / max(1.0, options.supersample / 2), 1e-9)))
    return min(max(wanted, 0), level_count - 1)


def downsampling_kernel(options: RenderOptions) -> NDArray[np.float32]:
    """The Gaussian that averages sub-samples into a pixel, centred on the pixel's middle."""
    reach = options.supersample
    spread = _KERNEL_SIGMA_PX * options.supersample
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / spread) ** 2)
    return np.asarray(weights / weights.sum(), dtype=np.float32)


def render(
    source: Source, view: View, camera: Camera, size: tuple[int, int], *, options: RenderOptions
) -> Rendered:
    """The picture (width, height) a camera at this view takes of the source."""
    width, height = size
    ground = ground_from_pixel(view, camera, size)
    footprint = camera.footprint_m(view.altitude_m)
    ratio = math.sqrt(footprint[0] / width * footprint[1] / height) / source.gsd_m
    finer = supersample(ratio, options)
    level = pyramid_level(ratio, source.level_count, options)
    mapping = _SourceMapping(source, view, ground, size, options)
    pixels, cover = np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.float32)
    for rows in _bands(width, height, finer):
        band = _render_band(source, level, mapping, rows, finer=finer, options=options)
        if band is not None:
            pixels[rows], cover[rows] = band
    valid = np.where(cover >= 0.5, np.uint8(255), np.uint8(0))
    share = float(np.count_nonzero(valid)) / valid.size
    if share < 1:
        pixels = np.asarray(cv2.bitwise_and(pixels, pixels, mask=valid), np.uint8)
    return Rendered(pixels, valid, share)


def filled(rendered: Rendered) -> Bytes:
    """The picture with the mean colour where there is no map, as in training: no black edges."""
    if rendered.valid_share == 1:
        return rendered.pixels
    mean = np.rint(cv2.mean(rendered.pixels, mask=rendered.valid)[:3]).astype(np.uint8)
    return np.where(rendered.valid[..., None] > 0, rendered.pixels, mean)


class _SourceMapping:
    """Source positions of output positions: an exact homography plus a small smooth remainder.

    The remainder (curvature of the map's projection over the footprint) is evaluated on a lattice and
    interpolated; it is zero for a map in the view's own UTM zone.
    """

    def __init__(
        self, source: Source, view: View, ground: Floats, size: tuple[int, int], options: RenderOptions
    ) -> None:
        self.size, self.ground = size, ground
        steps = np.linspace(0.0, 1.0, options.lattice)
        u, v = np.meshgrid(steps * size[0], steps * size[1])
        east, north = project(ground, u, v)
        centre = view.center
        col, row = source.pixel_from_ground(east + centre.east_m, north + centre.north_m, centre.epsg)
        self.visible = bool(np.isfinite(col).all() and np.isfinite(row).all())
        if self.visible:
            self._fit(east, north, col, row)

    def _fit(self, east: Floats, north: Floats, col: Floats, row: Floats) -> None:
        basis = np.column_stack([east.ravel(), north.ravel(), np.ones(east.size)])
        target = np.column_stack([col.ravel(), row.ravel()])
        affine = np.linalg.lstsq(basis, target, rcond=None)[0]
        self.rest = (target - basis @ affine).T.reshape(2, *east.shape)
        self.curvature = float(np.abs(self.rest).max())
        self.source_from_pixel = np.vstack([affine.T, [0.0, 0.0, 1.0]]) @ self.ground

    def extent(self, rows: slice) -> tuple[tuple[float, float], tuple[float, float]]:
        """Source columns and rows that some rows of the picture need, with a little to spare."""
        u = np.array([-1.0, self.size[0] + 1.0] * 2)
        v = np.repeat([rows.start - 1.0, rows.stop + 1.0], 2)
        col, row = project(self.source_from_pixel, u, v)
        spare = 1.0 + self.curvature
        return (col.min() - spare, col.max() + spare), (row.min() - spare, row.max() + spare)

    def remainder(self, u: Floats, v: Floats) -> tuple[Floats, Floats]:
        """What the homography leaves out, on the grid of output columns ``u`` and rows ``v``."""
        across, down = (
            _linear_weights(u / self.size[0], self.rest.shape[2]),
            _linear_weights(v / self.size[1], self.rest.shape[1]),
        )
        return down @ self.rest[0] @ across.T, down @ self.rest[1] @ across.T


def _render_band(
    source: Source, level: int, mapping: _SourceMapping, rows: slice, *, finer: int, options: RenderOptions
) -> tuple[Bytes, NDArray[np.float32]] | None:
    """Some rows of the picture, and how much of each pixel the map covers."""
    window = source.read(level, *mapping.extent(rows)) if mapping.visible else None
    if window is None:
        return None
    reach = finer - 1  # the kernel reaches this many sub-samples past the pixel's own
    u = (np.arange(-reach, mapping.size[0] * finer + reach) + 0.5) / finer
    v = (np.arange(rows.start * finer - reach, rows.stop * finer + reach) + 0.5) / finer
    return _gather(_sample(window, mapping, u, v), finer, options)


def _sample(window: Window, mapping: _SourceMapping, u: Floats, v: Floats) -> Layer:
    """Bilinear samples of light; with cover as a fourth channel unless all is on the map."""
    warp = _warp(window, mapping, u, v)
    if window.mask.all() and _within(window, mapping, u, v):
        return warp(window.pixels)
    cover = np.where(window.mask > 0, np.uint8(255), np.uint8(0))
    light = cv2.bitwise_and(window.pixels, window.pixels, mask=cover)
    both = cv2.cvtColor(light, cv2.COLOR_RGB2RGBA)  # a tenth of what stacking the layers takes
    both[..., 3] = cover
    return warp(both)


def _warp(window: Window, mapping: _SourceMapping, u: Floats, v: Floats) -> Callable[[Layer], Layer]:
    """How to take bilinear samples of a window's layers; beyond the window there is nothing."""
    from_pixel = _window_from_source(window) @ mapping.source_from_pixel
    if mapping.curvature < 1e-3:
        step = u[1] - u[0]
        from_sub = from_pixel @ np.array([[step, 0, u[0]], [0, step, v[0]], [0, 0, 1]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return lambda layer: cv2.warpPerspective(layer, from_sub, (len(u), len(v)), flags=flags)
    x, y = project(from_pixel, u[None, :], v[:, None])
    more_x, more_y = mapping.remainder(u, v)
    x = (x + more_x / window.col_step).astype(np.float32)
    y = (y + more_y / window.row_step).astype(np.float32)
    return lambda layer: cv2.remap(layer, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)


def _window_from_source(window: Window) -> Floats:
    """From level-0 pixels (corners at whole numbers) to the window's (centres at whole numbers)."""
    return np.array(
        [
            [1 / window.col_step, 0.0, -window.col / window.col_step - 0.5],
            [0.0, 1 / window.row_step, -window.row / window.row_step - 0.5],
            [0.0, 0.0, 1.0],
        ]
    )


def _within(window: Window, mapping: _SourceMapping, u: Floats, v: Floats) -> bool:
    """Whether every sample lies between pixel centres of the window."""
    corners = np.array([u[0], u[-1]] * 2), np.repeat([v[0], v[-1]], 2)
    x, y = project(_window_from_source(window) @ mapping.source_from_pixel, *corners)
    spare = mapping.curvature / min(window.col_step, window.row_step)
    height, width = window.mask.shape
    inside_x = x.min() - spare >= 0 and x.max() + spare <= width - 1
    return bool(inside_x and y.min() - spare >= 0 and y.max() + spare <= height - 1)


def _gather(samples: Layer, finer: int, options: RenderOptions) -> tuple[Bytes, NDArray[np.float32]]:
    """Sub-samples into pixels, and how much of each pixel is covered."""
    if finer > 1:
        samples = _gather_layer(samples, finer, options)
    if samples.shape[2] == 3:
        return np.asarray(samples, np.uint8), np.ones(samples.shape[:2], np.float32)
    share = np.asarray(samples[..., 3], np.float32) / np.float32(255)
    pixels = np.asarray(samples[..., :3], np.uint8, order="C")
    partly = (share > 0) & (share < 1)  # few: most pixels are on the map or off it
    light = samples[..., :3][partly].astype(np.float32) / share[partly][:, None]
    pixels[partly] = np.rint(np.clip(light, 0, 255)).astype(np.uint8)
    return pixels, share


def _gather_layer(layer: Layer, finer: int, options: RenderOptions) -> Layer:
    weights, reach = downsampling_kernel(options), finer - 1
    smooth = cv2.sepFilter2D(layer, -1, weights, weights, borderType=cv2.BORDER_REFLECT_101)
    first = reach + finer // 2
    stop = (layer.shape[0] - reach, layer.shape[1] - reach)
    return np.ascontiguousarray(smooth[first : stop[0] : finer, first : stop[1] : finer])


def _bands(width: int, height: int, finer: int) -> Iterator[slice]:
    rows = max(1, _BAND_SAMPLES // (width * finer * finer))
    for start in range(0, height, rows):
        yield slice(start, min(start + rows, height))


def _linear_weights(position: Floats, knots: int) -> Floats:
    """Weights of linear interpolation between equally spaced knots on [0, 1]; goes on straight beyond."""
    at = np.clip(np.floor(position * (knots - 1)), 0, knots - 2).astype(int)
    part = position * (knots - 1) - at
    weights = np.zeros((len(position), knots))
    rows = np.arange(len(position))
    weights[rows, at], weights[rows, at + 1] = 1 - part, part
    return weights
