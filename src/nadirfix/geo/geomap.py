"""The map: any georeferenced raster, or several as one, in metres.

Works in the UTM zone of the map's centre. Headings are counted from grid north of the view's own zone. The
ground is taken to be flat.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nadirfix.camera import Camera
from nadirfix.errors import MapError
from nadirfix.geo.crs import transform, working_epsg
from nadirfix.geo.raster import Raster
from nadirfix.geo.render import Rendered, render
from nadirfix.options.map import MapOptions, RenderOptions
from nadirfix.types import Point, View

__all__ = ["GeoMap"]

Bounds = tuple[float, float, float, float]


class GeoMap:
    """A map on disk that renders what a camera above it would see."""

    def __init__(self, rasters: Sequence[Raster], *, options: RenderOptions) -> None:
        self.rasters, self.options = tuple(rasters), options
        self.epsg = _working_zone(self.rasters)
        self._bounds = [_bounds(r, self.epsg) for r in self.rasters]
        self._sources = [
            _Source(r, _gsd_m(r, b, self.epsg)) for r, b in zip(self.rasters, self._bounds, strict=True)
        ]
        self.gsd_m = min(source.gsd_m for source in self._sources)

    @classmethod
    def open(
        cls,
        paths: str | Path | Sequence[str | Path],
        *,
        options: RenderOptions | None = None,
        opening: MapOptions | None = None,
    ) -> GeoMap:
        """Open one raster, or several as one map; where they overlap the first one wins."""
        names = [paths] if isinstance(paths, str | Path) else list(paths)
        if not names:
            raise MapError("map.missing", "no map was named", seen="nothing", do="name a raster file")
        options = options or RenderOptions()
        opening = opening or MapOptions()
        return cls([Raster(str(name), opening) for name in names], options=options)

    def __enter__(self) -> GeoMap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for raster in self.rasters:
            raster.close()

    @property
    def bounds(self) -> Bounds:
        """West, south, east and north of the map in its working zone, in metres."""
        west, south, east, north = zip(*self._bounds, strict=True)
        return min(west), min(south), max(east), max(north)

    @property
    def center(self) -> Point:
        """The middle of the map."""
        west, south, east, north = self.bounds
        return Point((west + east) / 2, (south + north) / 2, self.epsg)

    def require_room(self, width_m: float, height_m: float) -> None:
        """Refuse a map on which a footprint of this size does not fit."""
        west, south, east, north = self.bounds
        sides, needed = sorted((east - west, north - south)), sorted((width_m, height_m))
        if sides[0] < needed[0] or sides[1] < needed[1]:
            raise MapError(
                "map.too_small",
                "the map is smaller than one view",
                seen=f"{sides[1]:.0f} x {sides[0]:.0f} m, a view takes {needed[1]:.0f} x {needed[0]:.0f} m",
                do="take a larger map, a lower altitude or a camera with a longer focal length",
            )

    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Rendered:
        """The picture a camera at this view takes, as (width, height) pixels; the camera's own by default."""
        size = size or (camera.width_px, camera.height_px)
        pieces = (render(source, view, camera, size, options=self.options) for source in self._sources)
        rendered = next(pieces)
        while rendered.valid_share < 1.0 and (piece := next(pieces, None)) is not None:
            rendered = _filled_from(rendered, piece)
        return rendered


class _Source:
    """A raster with its ground sampling distance: a source of pictures."""

    def __init__(self, raster: Raster, gsd_m: float) -> None:
        self.gsd_m, self.level_count = gsd_m, raster.level_count
        self.pixel_from_ground, self.read = raster.pixel_from_ground, raster.read


def _filled_from(top: Rendered, below: Rendered) -> Rendered:
    """One picture filled from another where it has no map."""
    hole = (top.valid == 0)[..., None]
    valid = np.maximum(top.valid, below.valid)
    share = float(np.count_nonzero(valid)) / valid.size
    return Rendered(np.where(hole, below.pixels, top.pixels), valid, share)


def _working_zone(rasters: Sequence[Raster]) -> int:
    """The UTM zone of the middle of all files together."""
    first = rasters[0]
    zone = working_epsg(first.wkt, *first.center(), path=first.path)
    west, south, east, north = zip(*(_bounds(r, zone) for r in rasters), strict=True)
    middle = (min(west) + max(east)) / 2, (min(south) + max(north)) / 2
    return working_epsg(f"EPSG:{zone}", *middle, path=first.path) if len(rasters) > 1 else zone


def _bounds(raster: Raster, epsg: int) -> Bounds:
    east, north = transform(raster.wkt, f"EPSG:{epsg}", *raster.border())
    if not (np.isfinite(east).all() and np.isfinite(north).all()):
        raise MapError(
            "map.outside_utm",
            "the map reaches where its coordinates cannot be turned into metres",
            seen=f"{raster.path}: {raster.width} x {raster.height} px",
            do="cut out the part you need, or check its coordinate system",
        )
    return float(east.min()), float(north.min()), float(east.max()), float(north.max())


def _gsd_m(raster: Raster, bounds: Bounds, epsg: int) -> float:
    """Metres per pixel in the middle of a file, the geometric mean of both directions."""
    middle = np.array([(bounds[0] + bounds[2]) / 2] * 3), np.array([(bounds[1] + bounds[3]) / 2] * 3)
    step = 10.0
    east, north = middle[0] + np.array([0.0, step, 0.0]), middle[1] + np.array([0.0, 0.0, step])
    col, row = raster.pixel_from_ground(east, north, epsg)
    area = (col[1] - col[0]) * (row[2] - row[0]) - (col[2] - col[0]) * (row[1] - row[0])
    return float(step / np.sqrt(abs(area)))
