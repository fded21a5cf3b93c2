"""Which references come into question, against the distances and angles written out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from nadirfix.prior import Prior
from nadirfix.retrieval.search_area import rows_within
from nadirfix.types import Point

HERE = Point(500_000.0, 5_400_000.0, 32633)
EAST_M, NORTH_M = (axis.ravel() for axis in np.meshgrid(np.arange(0, 500, 50.0), np.arange(0, 500, 50.0)))
POSES = SimpleNamespace(
    east_m=HERE.east_m + np.repeat(EAST_M, 12),
    north_m=HERE.north_m + np.repeat(NORTH_M, 12),
    heading_deg=np.tile(np.arange(12) * 30.0, 100),
)
REACH = {"epsg": 32633, "reach_m": 40.0, "deviations": 3.0}


def test_nothing_known_narrows_nothing() -> None:
    assert rows_within(POSES, Prior(altitude_m=100.0), **REACH) is None


def test_a_place_leaves_those_within_three_deviations_and_the_reach() -> None:
    rows = rows_within(POSES, Prior(near=HERE.moved(200.0, 100.0), near_sigma_m=20.0), **REACH)
    inside = np.repeat(np.hypot(EAST_M - 200.0, NORTH_M - 100.0) <= 100.0, 12)
    assert rows is not None and rows.tolist() == np.flatnonzero(inside).tolist()


def test_a_place_said_in_the_zone_beside_is_the_same() -> None:
    place = HERE.moved(200.0, 100.0)
    rows = [rows_within(POSES, Prior(near=p, near_sigma_m=21.0), **REACH) for p in (place, place.to(32632))]
    assert rows[0] is not None and rows[0].tolist() == rows[1].tolist()


def test_a_heading_leaves_those_within_three_deviations_and_a_step() -> None:
    rows = rows_within(POSES, Prior(heading_deg=-5.0, heading_sigma_deg=10.0), **REACH)
    assert rows is not None
    assert set(POSES.heading_deg[rows]) == {300.0, 330.0, 0.0, 30.0}  # 60° about 355°: 295° to 55°


def test_on_the_other_side_of_the_earth_there_are_none() -> None:
    rows = rows_within(POSES, Prior(near=Point.from_lonlat(-165.0, -40.0), near_sigma_m=9.0), **REACH)
    assert rows is not None and rows.size == 0
