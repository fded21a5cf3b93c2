"""A canvas over a piece of ground: reflectance and height, addressed in metres.

x runs east and y runs south, both from the world's north-west corner, so that rows of pixels run downwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nadirfix.world.noise import Floats, Noise

__all__ = ["Tile", "Window", "covered", "mix"]


@dataclass(frozen=True, eq=False)
class Window:
    """A rectangle of a tile: where it lies in the arrays and the coordinates of its pixel centres."""

    rows: slice
    cols: slice
    x_m: Floats  # (1, width)
    y_m: Floats  # (height, 1)

    @property
    def at(self) -> tuple[slice, slice]:
        """The window as an index."""
        return self.rows, self.cols


@dataclass(frozen=True, eq=False)
class Tile:
    """Ground to be painted at one date (0 old, 1 new)."""

    x0_m: float
    y0_m: float
    gsd_m: float
    width_px: int
    height_px: int
    date: int
    noise: Noise

    @cached_property
    def albedo(self) -> Floats:
        """Reflectance, red green blue."""
        return np.zeros((self.height_px, self.width_px, 3), np.float32)

    @cached_property
    def height(self) -> Floats:
        """Metres above the ground."""
        return np.zeros((self.height_px, self.width_px), np.float32)

    @cached_property
    def x_m(self) -> Floats:
        """East of every column."""
        return (self.x0_m + (np.arange(self.width_px) + 0.5) * self.gsd_m).astype(np.float32)

    @cached_property
    def y_m(self) -> Floats:
        """South of every row."""
        return (self.y0_m + (np.arange(self.height_px) + 0.5) * self.gsd_m).astype(np.float32)

    @cached_property
    def grain(self) -> Floats:
        """Texture of the ground from a few metres down to the pixel, of spread about one."""
        return np.asarray(
            self.noise.fbm(self.x_m, self.y_m, coarsest_m=6.4, finest_m=0.2, salt=3, gain=1.0) / 1.9,
            np.float32,
        )

    @cached_property
    def patches(self) -> Floats:
        """Patchiness of growth, from a hundred metres down to a few, of spread about one."""
        return np.asarray(
            self.noise.fbm(self.x_m, self.y_m, coarsest_m=120, finest_m=3, salt=5, gain=0.75) / 1.6,
            np.float32,
        )

    @cached_property
    def lumps(self) -> Floats:
        """Branches and leaf clumps: one to three metres."""
        coarse = self.noise.grid(self.x_m, self.y_m, 2.6, 11)
        fine = self.noise.grid(self.x_m, self.y_m, max(1.1, self.gsd_m), 12)
        return np.asarray(0.6 * coarse + 0.5 * fine, np.float32)

    @cached_property
    def damp(self) -> Floats:
        """Soil moisture and stones: the same at every date."""
        return np.asarray(
            self.noise.fbm(self.x_m, self.y_m, coarsest_m=160, finest_m=9, salt=23, gain=0.7) / 1.5,
            np.float32,
        )

    @cached_property
    def bow(self) -> Floats:
        """Rows are never quite straight: metres of slow sideways drift."""
        return np.asarray(2.2 * self.noise.grid(self.x_m, self.y_m, 150.0, 21), np.float32)

    @cached_property
    def relief(self) -> Floats:
        """Hills and hollows, metres; they only show as light and shade."""
        return self.noise.fbm(
            self.x_m, self.y_m, coarsest_m=420, finest_m=40, salt=25, gain=0.42
        ) * np.float32(9)

    @cached_property
    def trails(self) -> Floats:
        """How far each pixel lies from a footpath or game trail, metres: the level lines of a slow noise."""
        level = self.noise.grid(self.x_m, self.y_m, 120.0, 27) + 0.15 * self.noise.grid(
            self.x_m, self.y_m, 30.0, 28
        )
        slope = np.hypot(np.gradient(level, axis=0), np.gradient(level, axis=1)) / np.float32(self.gsd_m)
        return np.asarray(np.abs(level - 0.35) / np.maximum(slope, 0.004), np.float32)

    def window(self, x_m: float, y_m: float, reach_x_m: float, reach_y_m: float) -> Window | None:
        """The pixels within reach of a point, or nothing when there are none."""
        left = max(int((x_m - reach_x_m - self.x0_m) / self.gsd_m), 0)
        right = min(int((x_m + reach_x_m - self.x0_m) / self.gsd_m) + 2, self.width_px)
        top = max(int((y_m - reach_y_m - self.y0_m) / self.gsd_m), 0)
        bottom = min(int((y_m + reach_y_m - self.y0_m) / self.gsd_m) + 2, self.height_px)
        if right <= left or bottom <= top:
            return None
        return Window(
            slice(top, bottom), slice(left, right), self.x_m[None, left:right], self.y_m[top:bottom, None]
        )

    def near(self, x_m: NDArray[np.floating], y_m: NDArray[np.floating], reach_m: float) -> NDArray[np.intp]:
        """Which of these points lie on the tile or within reach of it."""
        inside_x = (x_m > self.x0_m - reach_m) & (x_m < self.x0_m + self.width_px * self.gsd_m + reach_m)
        inside_y = (y_m > self.y0_m - reach_m) & (y_m < self.y0_m + self.height_px * self.gsd_m + reach_m)
        return np.flatnonzero(inside_x & inside_y)


def mix(under: Floats, cover: Floats, rgb: Floats) -> None:
    """Paint a colour over an area, as much as it is covered; changes ``under``."""
    under += cover[..., None] * (rgb - under)


def covered(inside_m: Floats, gsd_m: float) -> Floats:
    """How much of a pixel is covered whose centre lies this far inside an edge."""
    return np.asarray(np.clip(inside_m / np.float32(gsd_m) + np.float32(0.5), 0, 1), np.float32)
