"""The outline of a frame on the ground, against the homography of the view it was taken from."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.serialise import footprint_of
from nadirfix.types import Fix, Point, View

CAMERA = Camera(1024, 768, 600.0, 600.0)
CENTER = Point(452_000.0, 5_411_000.0, 32633)


def fix(view: View) -> Fix:
    return Fix(
        photo="a.jpg", status="fix", position=view.center, verified=True, altitude_m=view.altitude_m,
        heading_deg=view.heading_deg, footprint_m=CAMERA.footprint_m(view.altitude_m),
        tilt_deg=view.tilt_deg, tilt_toward_deg=view.tilt_toward_deg,
    )  # fmt: skip


def metres(ring: list[list[float]]) -> np.ndarray:
    places = [Point.from_lonlat(lon, lat, epsg=32633) for lon, lat in ring]
    return np.array([[p.east_m - CENTER.east_m, p.north_m - CENTER.north_m] for p in places])


@pytest.mark.parametrize("tilt", [(0.0, 0.0), (8.5, 200.0), (30.0, 75.0), (40.0, 310.0)])
def test_corners_are_where_the_view_sees_them(tilt: tuple[float, float]) -> None:
    view = View(CENTER, 120.0, 40.0, *tilt)
    u, v = np.array([0.0, 0, 1024, 1024]), np.array([0.0, 768, 768, 0])
    expected = np.stack(project(ground_from_pixel(view, CAMERA, (1024, 768)), u, v), axis=1)
    ring = footprint_of(fix(view))
    assert ring is not None
    assert np.abs(metres(ring) - expected).max() < 0.01


def test_a_frame_that_sees_the_horizon_is_cut_off_before_it() -> None:
    view = View(CENTER, 100.0, 0.0, 58.0, 0.0)
    ring = footprint_of(fix(view))
    assert ring is not None
    found = metres(ring)
    away_m = np.hypot(found[:, 0], found[:, 1] + 100.0 * np.tan(np.radians(58.0)))
    farthest_m = 100.0 * np.tan(np.radians(85.0))
    assert len(ring) == 4
    assert away_m.max() == pytest.approx(farthest_m, abs=0.1)
    assert (away_m > farthest_m - 0.1).sum() == 2, "both upper corners"


def test_one_corner_beyond_the_horizon_leaves_five() -> None:
    rings = [footprint_of(fix(View(CENTER, 100.0, 0.0, tilt_deg, 53.0))) for tilt_deg in (36.0, 40.0)]
    assert [len(ring or ()) for ring in rings] == [4, 5]
