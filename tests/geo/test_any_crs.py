"""The same ground in any coordinate system and transform is the same picture, to a tenth of a metre."""

from __future__ import annotations

import tempfile
from pathlib import Path

import cv2
import numpy as np
import pyproj
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.types import Point, View, utm_epsg
from tests.ground import AnalyticGround

CAMERA = Camera(320, 240, 240.0, 240.0)

# name, system of the file, longitude, latitude, zone in which the view is given (None: the place's own)
SYSTEMS = [
    ("utm north", "EPSG:32633", 15.31, 49.12, None),
    ("utm south", "EPSG:32723", -44.2, -19.9, None),
    ("neighbouring utm zone", "EPSG:32632", 15.31, 49.12, None),
    ("web mercator", "EPSG:3857", 15.31, 49.12, None),
    ("web mercator, far north", "EPSG:3857", 25.7, 70.9, None),
    ("lon lat", "EPSG:4326", 15.31, 49.12, None),
    ("lon lat, south", "EPSG:4326", 172.6, -43.5, None),
    ("lon lat on ETRS89", "EPSG:4258", 10.4, 63.4, None),
    ("polar stereographic north", "EPSG:3413", -51.7, 70.2, None),
    ("polar stereographic south", "EPSG:3031", 12.3, -75.1, None),
    ("arctic polar stereographic", "EPSG:3995", 16.0, 78.2, None),
    ("british national grid", "EPSG:27700", -1.5, 53.4, None),
    ("swiss LV95", "EPSG:2056", 7.44, 46.95, None),
    ("french lambert 93", "EPSG:2154", 2.35, 48.85, None),
    ("european equal area", "EPSG:3035", 15.31, 49.12, None),
    ("czech krovak, axes south and west", "EPSG:5513", 15.31, 49.12, None),
    ("czech krovak, east and north", "EPSG:5514", 15.31, 49.12, None),
    ("swedish SWEREF99 TM", "EPSG:3006", 18.06, 59.33, None),
    ("new zealand TM", "EPSG:2193", 172.6, -43.5, None),
    ("australian MGA 55", "EPSG:28355", 145.0, -37.8, None),
    ("japan plane IX", "EPSG:6677", 139.7, 35.7, None),
    ("new york, US feet", "EPSG:2263", -73.9, 40.7, None),
    ("oregon lambert, feet", "EPSG:2992", -122.7, 45.5, None),
    ("conus albers", "EPSG:5070", -96.1, 39.2, None),
    ("norway, widened zone 32V", "EPSG:25832", 5.32, 60.39, None),
    ("across a zone edge, lon lat", "EPSG:4326", 18.0, 50.0, 32633),
    ("across a zone edge, western zone", "EPSG:32633", 18.0, 50.0, 32634),
    ("across a zone edge, eastern zone", "EPSG:32634", 18.0, 50.0, 32633),
    ("across the equator, north zone", "EPSG:32637", 36.9, 0.0, None),
    ("across the equator, south zone", "EPSG:32737", 36.9, 0.0, 32637),
    ("across the equator, lon lat", "EPSG:4326", 36.9, 0.0, 32737),
    ("across the date line, lon lat", "EPSG:4326", 179.9999, -17.0, None),
    ("fiji grid at the date line", "EPSG:3460", 179.9, -17.0, None),
]
NAMES = [s[0] for s in SYSTEMS]


@pytest.mark.parametrize("system", [s[1:] for s in SYSTEMS], ids=NAMES)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(
    turn_deg=st.sampled_from([0.0, 30.0, -117.0]),
    south_up=st.booleans(),
    heading_deg=st.floats(0.0, 360.0),
    shift_m=st.tuples(st.floats(-20, 20), st.floats(-20, 20)),
)
def test_any_system_gives_the_same_picture(system, turn_deg, south_up, heading_deg, shift_m):
    crs, lon, lat, zone = system
    epsg = zone or utm_epsg(lon, lat)
    ground = AnalyticGround(lon, lat, epsg)
    transform, count = ground.frame(crs, side_m=400, gsd_m=1.0, turn_deg=turn_deg, south_up=south_up)
    view = View(Point.from_lonlat(lon, lat, epsg=epsg).moved(*shift_m), 150.0, heading_deg)
    with tempfile.TemporaryDirectory() as folder:
        path = ground.write(Path(folder) / "map.tif", crs, transform, count, count)
        with GeoMap.open(path) as opened:
            rendered = opened.render(view, CAMERA)
            pixel_error_m = _pixel_error_m(opened, crs, transform, count)
    truth = ground.expected(view, CAMERA, (320, 240))
    assert rendered.valid_share == 1.0
    assert _shift_m(rendered.pixels, truth, gsd_m=CAMERA.gsd_m(150.0)) < 0.1
    assert np.abs(rendered.pixels - truth).mean() < 1.5
    assert pixel_error_m < 0.1


def _shift_m(picture: np.ndarray, truth: np.ndarray, *, gsd_m: float) -> float:
    window = cv2.createHanningWindow((picture.shape[1], picture.shape[0]), cv2.CV_64F)
    grey = [np.ascontiguousarray(p.astype(np.float64).mean(-1)) for p in (picture, truth)]
    (dx, dy), _ = cv2.phaseCorrelate(grey[0], grey[1], window)
    return float(np.hypot(dx, dy) * gsd_m)


def _pixel_error_m(opened: GeoMap, crs: str, transform, count: int) -> float:
    """Where pixels are by PROJ alone (pixel → system → lon/lat) against where the map says they are."""
    col, row = np.meshgrid([3.5, count / 2, count - 3.5], [3.5, count / 2, count - 3.5])
    x = transform.a * col + transform.b * row + transform.c
    y = transform.d * col + transform.e * row + transform.f
    lon, lat = pyproj.Transformer.from_crs(crs, 4326, always_xy=True).transform(x, y)
    errors = []
    for c, r, lo, la in zip(col.flat, row.flat, lon.flat, lat.flat, strict=True):
        place = Point.from_lonlat((lo + 180) % 360 - 180, la)
        fitted = opened.rasters[0].pixel_from_ground(
            np.array([place.east_m]), np.array([place.north_m]), place.epsg
        )
        errors.append(np.hypot(fitted[0][0] - c, fitted[1][0] - r) * opened.gsd_m)
    return float(max(errors))
