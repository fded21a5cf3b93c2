"""Many views at once: where each camera is, as parallel arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.pose import Poses, ground_from_pixels
from nadirfix.types import Point, View

__all__ = ["Views", "ground_from_pixel", "half_extent_m"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """A batch of views in the map's own UTM zone: the fields of View, one array each."""

    east_m: Floats
    north_m: Floats
    altitude_m: Floats
    heading_deg: Floats
    tilt_deg: Floats
    tilt_toward_deg: Floats

    @classmethod
    def of(cls, views: Sequence[View], epsg: int) -> Views:
        """The same views as arrays, in this zone."""
        centers = [v.center.to(epsg) for v in views]
        columns = (
            [c.east_m for c in centers],
            [c.north_m for c in centers],
            [v.altitude_m for v in views],
            [v.heading_deg for v in views],
            [v.tilt_deg for v in views],
            [v.tilt_toward_deg for v in views],
        )
        return cls(*(np.asarray(c, dtype=np.float64) for c in columns))

    @classmethod
    def level(cls, east_m: Floats, north_m: Floats, altitude_m: Floats, heading_deg: Floats) -> Views:
        """Views that look straight down."""
        flat = np.zeros_like(east_m)
        return cls(east_m, north_m, altitude_m, heading_deg, flat, flat)

    def __len__(self) -> int:
        return int(self.east_m.size)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Views:
        """Some of the views."""
        return Views(*(getattr(self, f.name)[which] for f in fields(self)))

    def replaced(self, which: NDArray[np.bool_], others: Views) -> Views:
        """The views, with others in the marked places."""
        columns = [getattr(self, f.name).copy() for f in fields(self)]
        for column, f in zip(columns, fields(self), strict=True):
            column[which] = getattr(others, f.name)
        return Views(*columns)

    def view(self, index: int, epsg: int) -> View:
        """One of them as a View."""
        place = Point(float(self.east_m[index]), float(self.north_m[index]), epsg)
        rest = (self.altitude_m, self.heading_deg, self.tilt_deg, self.tilt_toward_deg)
        return View(place, *(float(column[index]) for column in rest))


def ground_from_pixel(views: Views, camera: Camera, size: tuple[int, int]) -> Floats:
    """For each view, the homography from output pixels to metres east and north of the frame centre."""
    poses = Poses(views.altitude_m, views.heading_deg, views.tilt_deg, views.tilt_toward_deg)
    return ground_from_pixels(poses, camera, size)


def half_extent_m(camera: Camera, altitude_m: Floats, heading_deg: Floats) -> tuple[Floats, Floats]:
    """How far a straight-down photo reaches east and north of its centre."""
    across, along = (0.5 * n * altitude_m for n in camera.footprint_m(1.0))
    cos, sin = np.abs(np.cos(np.radians(heading_deg))), np.abs(np.sin(np.radians(heading_deg)))
    return across * cos + along * sin, across * sin + along * cos
