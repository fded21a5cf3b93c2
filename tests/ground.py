"""An analytic piece of ground that tests can write in any coordinate system and look at from anywhere."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyproj
import rasterio
from rasterio.transform import Affine


class AnalyticGround:
    """Smooth waves over UTM metres: the colour of every point is known exactly."""

    def __init__(self, lon: float, lat: float, epsg: int, *, seed: int = 0, shortest_m: float = 12.0) -> None:
        rng = np.random.default_rng(seed)
        self.epsg = epsg
        self.lonlat = (lon, lat)
        self.center = pyproj.Transformer.from_crs(4326, epsg, always_xy=True).transform(lon, lat)
        lengths = rng.uniform(shortest_m, 80.0, (3, 8))
        angles = rng.uniform(0, 2 * math.pi, (3, 8))
        self.kx, self.ky = np.cos(angles) * 2 * math.pi / lengths, np.sin(angles) * 2 * math.pi / lengths
        self.phase = rng.uniform(0, 2 * math.pi, (3, 8))

    def colour(self, east: np.ndarray, north: np.ndarray) -> np.ndarray:
        x, y = np.asarray(east) - self.center[0], np.asarray(north) - self.center[1]
        bands = [
            sum(np.cos(kx * x + ky * y + p) for kx, ky, p in zip(*wave, strict=True))
            for wave in zip(self.kx, self.ky, self.phase, strict=True)
        ]
        return np.clip(127.5 + 32.0 * np.stack(bands, -1), 0, 255)

    def write(
        self, path: Path, crs: str, transform: Affine, width: int, height: int, **profile: object
    ) -> Path:
        """The ground as a GeoTIFF in any system: every pixel centre is transformed on its own."""
        col, row = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        x = transform.a * col + transform.b * row + transform.c
        y = transform.d * col + transform.e * row + transform.f
        east, north = pyproj.Transformer.from_crs(crs, self.epsg, always_xy=True).transform(x, y)
        pixels = np.rint(self.colour(east, north)).astype(np.uint8)
        settings = {"driver": "GTiff", "dtype": "uint8", "count": 3, "crs": crs, "transform": transform}
        with rasterio.open(path, "w", width=width, height=height, **{**settings, **profile}) as out:
            out.write(np.moveaxis(pixels, -1, 0))
        return path

    def frame(self, crs: str, *, side_m: float, gsd_m: float, turn_deg: float = 0.0, south_up: bool = False):
        """A transform in any system that covers a square around the centre at about this resolution."""
        to = pyproj.Transformer.from_crs(4326, crs, always_xy=True)
        lon, lat = self.lonlat
        x0, y0 = to.transform(lon, lat)
        geod = pyproj.Geod(ellps="WGS84")
        step = 10.0
        ex, ey = to.transform(*geod.fwd(lon, lat, 90, step)[:2])
        nx, ny = to.transform(*geod.fwd(lon, lat, 0, step)[:2])
        per_m = math.hypot(ex - x0, ey - y0) / step, math.hypot(nx - x0, ny - y0) / step
        count = round(side_m / gsd_m)
        flip = 1.0 if south_up else -1.0
        unit = Affine.scale(*per_m) @ Affine.rotation(turn_deg) @ Affine.scale(gsd_m, flip * gsd_m)
        middle = Affine.translation(x0, y0) @ unit
        return middle @ Affine.translation(-count / 2, -count / 2), count

    def expected(self, view, camera, size) -> np.ndarray:
        """What a nadir camera sees, pixel by pixel, without any resampling: the oracle."""
        width, height = size
        u, v = np.meshgrid((np.arange(width) + 0.5) / width - 0.5, (np.arange(height) + 0.5) / height - 0.5)
        right = u * camera.width_px / camera.fx_px * view.altitude_m
        ahead = -v * camera.height_px / camera.fy_px * view.altitude_m
        turn = math.radians(view.heading_deg)
        east = view.center.east_m + right * math.cos(turn) + ahead * math.sin(turn)
        north = view.center.north_m - right * math.sin(turn) + ahead * math.cos(turn)
        return self.colour(east, north)
