"""Where simulated photos are taken: random views that lie on the map, or a given list of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.errors import InputError, MapError
from nadirfix.files import Progress
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.options.map import SimulateOptions
from nadirfix.types import Point, View

__all__ = ["PhotoMap", "Picture", "check_views", "plan_views"]

#: Small enough to render in no time, large enough to tell 98 % from 99 %.
_PROBE_PX = (64, 48)
_ATTEMPTS = 200
_VIEW_STREAM, _TILT_STREAM = 1, 3
#: How far down, over how far into the picture, a ray must point at least.
_STEEPEST = 0.02
_DIGITS = 3  # a photo list keeps four, so that its views can be rendered again exactly


class Picture(Protocol):
    """A rendered view: pixels, and the share of them that is on the map."""

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The picture, (height, width, 3)."""
        ...

    @property
    def valid_share(self) -> float:
        """The share of the picture that lies on the map."""
        ...


class PhotoMap(Protocol):
    """What simulating photos needs of a map."""

    @property
    def epsg(self) -> int:
        """The UTM zone the map is worked in."""
        ...

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north edge in metres of that zone."""
        ...

    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Picture:
        """What the camera sees; ``size`` is width and height, the camera's own if left out."""
        ...


def plan_views(
    photo_map: PhotoMap, camera: Camera, options: SimulateOptions, progress: Progress
) -> list[View]:
    """Random views on the map: altitudes spread evenly over the range, any heading, any place."""
    _check_options(options)
    altitudes_m = _altitudes_m(options)
    _check_fits(photo_map, camera, max(altitudes_m))
    views = []
    for index, altitude_m in enumerate(altitudes_m):
        progress("choosing views", index, len(altitudes_m))
        views.append(_random_view(photo_map, camera, options, index, altitude_m))
    progress("choosing views", len(views), len(views))
    return views


def check_views(
    photo_map: PhotoMap, camera: Camera, options: SimulateOptions, views: Sequence[View]
) -> list[View]:
    """The given views, tilted if asked; one that does not cover any of the map is an error that names it."""
    _check_options(options)
    tilted = [_tilted(view, options, index) for index, view in enumerate(views)]
    for number, view in enumerate(tilted, start=1):
        if _sees_horizon(view, camera):
            raise InputError(
                "manifest.invalid",
                "a view sees the horizon",
                seen=f"view {number} of {len(tilted)}, tilted by {view.tilt_deg:.1f}°, camera {camera.spec}",
                do="give a smaller --tilt, or a camera with a longer focal length",
            )
        if photo_map.render(view, camera, _PROBE_PX).valid_share == 0:
            raise InputError(
                "manifest.invalid",
                "a view sees nothing of the map",
                seen=f"view {number} of {len(tilted)}, {view.center}; the map is {_extent(photo_map)}",
                do="take the view out of the list, or use the map it was made for",
            )
    return tilted


def _altitudes_m(options: SimulateOptions) -> list[float]:
    """One altitude out of each of ``count`` equal slices of the range, in random order."""
    stream = np.random.default_rng([options.seed])
    slices = (stream.permutation(options.count) + stream.random(options.count)) / options.count
    low_m, high_m = options.altitude_min_m, options.altitude_max_m
    # Rounded down: the upper end is outside the range, and rounding must not reach it.
    step = 10.0**_DIGITS
    return [max(low_m, math.floor((low_m + (high_m - low_m) * s) * step) / step) for s in slices]


def _random_view(
    photo_map: PhotoMap, camera: Camera, options: SimulateOptions, index: int, altitude_m: float
) -> View:
    stream = np.random.default_rng([options.seed, _VIEW_STREAM, index])
    for _ in range(_ATTEMPTS):
        view = _sampled(stream, photo_map, camera, options, altitude_m)
        if view and photo_map.render(view, camera, _PROBE_PX).valid_share >= options.valid_share:
            return view
    raise MapError(
        "map.too_small",
        f"no place was found where {options.valid_share:.0%} of a photo lies on the map",
        seen=f"{_covers(camera, altitude_m)}; the map is {_extent(photo_map)} with holes or slanted edges",
        do="lower --altitude, or use a map with fewer holes",
    )


def _sampled(
    stream: np.random.Generator,
    photo_map: PhotoMap,
    camera: Camera,
    options: SimulateOptions,
    altitude_m: float,
) -> View | None:
    """A view drawn at random, or None where a photo with its heading is wider than the map."""
    heading_deg, toward_deg = (round(v, _DIGITS) % 360 for v in stream.uniform(0, 360, 2))
    tilt_deg = round(stream.uniform(0, 1) * options.tilt_max_deg, _DIGITS)
    share_east, share_north = stream.uniform(0, 1, 2)
    west, south, east, north = photo_map.bounds
    view = View(Point(west, south, photo_map.epsg), altitude_m, heading_deg, tilt_deg, toward_deg)
    low_e, high_e, low_n, high_n = _reach_m(view, camera)
    room_e, room_n = east - west - (high_e - low_e), north - south - (high_n - low_n)
    if room_e < 0 or room_n < 0 or _sees_horizon(view, camera):
        return None
    center = Point(
        round(west - low_e + share_east * room_e, _DIGITS),
        round(south - low_n + share_north * room_n, _DIGITS),
        photo_map.epsg,
    )
    return View(center, altitude_m, heading_deg, tilt_deg, toward_deg)


def _tilted(view: View, options: SimulateOptions, index: int) -> View:
    """The view tilted by a random angle, unless it is tilted already or no tilt is asked for."""
    if options.tilt_max_deg == 0 or view.tilt_deg > 0:
        return view
    stream = np.random.default_rng([options.seed, _TILT_STREAM, index])
    tilt_deg = round(stream.uniform(0, 1) * options.tilt_max_deg, _DIGITS)
    toward_deg = round(stream.uniform(0, 360), _DIGITS) % 360
    return View(view.center, view.altitude_m, view.heading_deg, tilt_deg, toward_deg)


def _sees_horizon(view: View, camera: Camera) -> bool:
    """Whether a corner of the frame looks so far ahead that there is no ground to render."""
    size = (camera.width_px, camera.height_px)
    corners = np.array([[0.0, size[0], size[0], 0.0], [0.0, 0.0, size[1], size[1]], [1.0] * 4])
    return bool((ground_from_pixel(view, camera, size)[2] @ corners < _STEEPEST).any())


def _reach_m(view: View, camera: Camera) -> tuple[float, float, float, float]:
    """How far the photo reaches west, east, south and north of its middle (west and south are negative)."""
    size = (camera.width_px, camera.height_px)
    u, v = np.array([0.0, size[0], size[0], 0.0]), np.array([0.0, 0.0, size[1], size[1]])
    east_m, north_m = project(ground_from_pixel(view, camera, size), u, v)
    return float(east_m.min()), float(east_m.max()), float(north_m.min()), float(north_m.max())


def _check_fits(photo_map: PhotoMap, camera: Camera, altitude_m: float) -> None:
    """A photo that fits with no heading at all is refused before any work is done."""
    west, south, east, north = photo_map.bounds
    origin = Point(west, south, photo_map.epsg)
    for heading_deg in range(0, 180, 5):
        low_e, high_e, low_n, high_n = _reach_m(View(origin, altitude_m, heading_deg), camera)
        if high_e - low_e <= east - west and high_n - low_n <= north - south:
            return
    raise MapError(
        "map.too_small",
        "a photo from this high does not fit on the map",
        seen=f"{_covers(camera, altitude_m)}; the map is {_extent(photo_map)}",
        do="lower the upper end of --altitude, or use a larger map",
    )


def _covers(camera: Camera, altitude_m: float) -> str:
    width_m, height_m = camera.footprint_m(altitude_m)
    return f"from {altitude_m:.0f} m a photo covers {width_m:.0f} × {height_m:.0f} m"


def _extent(photo_map: PhotoMap) -> str:
    west, south, east, north = photo_map.bounds
    return f"{east - west:.0f} × {north - south:.0f} m"


def _check_options(options: SimulateOptions) -> None:
    """Settings outside their range are named before any work is done."""
    numbers = [v for v in astuple(options) if isinstance(v, int | float)]
    rules = {
        "every number must be finite": all(math.isfinite(v) for v in numbers),
        "count must be 1 or more": options.count >= 1,
        "altitudes must be positive and rise": 0 < options.altitude_min_m <= options.altitude_max_m,
        "noise must be 0 or more grey levels": options.noise_levels >= 0,
        "JPEG quality must be 1 to 100": 1 <= options.jpeg_quality <= 100,
        "tilt must be 0 or more and at most 55 degrees": 0 <= options.tilt_max_deg <= 55,
        "the share on the map must be 0 to 1": 0 <= options.valid_share <= 1,
        "the seed must be 0 or more": options.seed >= 0,
    }
    broken = [rule for rule, holds in rules.items() if not holds]
    if broken:
        settings = ", ".join(f"{k} = {v}" for k, v in vars(options).items())
        raise InputError("options.invalid", "; ".join(broken), seen=settings, do="change the named setting")
