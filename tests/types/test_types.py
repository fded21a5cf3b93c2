"""The nouns: checked once when they are made, and true in metres."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nadirfix.errors import InputError
from nadirfix.types import AltitudeEstimate, Candidates, Fix, Point, View, is_utm, utm_epsg

HERE = Point(500_000.0, 4_649_776.0, 32633)


@given(st.floats(-179.9, 179.9), st.floats(-79.9, 83.9))
def test_lonlat_to_utm_and_back_within_a_millimetre(lon_deg: float, lat_deg: float) -> None:
    lon_back, lat_back = Point.from_lonlat(lon_deg, lat_deg).lonlat
    # A millimetre on the ground is 9e-9 degrees of latitude.
    assert abs(lat_back - lat_deg) < 9e-9
    assert abs(lon_back - lon_deg) * math.cos(math.radians(lat_deg)) < 9e-9


@pytest.mark.parametrize(
    ("lon_deg", "lat_deg", "epsg"),
    [
        (15, 42, 32633), (15, -1, 32733), (-180, 0, 32601), (180, 0, 32660), (5, 60, 32632), (2.9, 60, 32631),
        (8, 75, 32631), (9, 75, 32633), (21, 75, 32635), (33, 75, 32637), (12, 63.9, 32633),
    ],
)  # fmt: skip
def test_zones_with_norway_and_svalbard(lon_deg: float, lat_deg: float, epsg: int) -> None:
    assert utm_epsg(lon_deg, lat_deg) == epsg
    assert is_utm(epsg)


def test_the_same_place_in_the_next_zone() -> None:
    there = HERE.to(32634)
    assert there.epsg == 32634
    assert there.distance_m(HERE) < 1e-3
    assert there.to(32633).distance_m(HERE) < 1e-3


def test_projected_coordinates_of_another_system() -> None:
    assert Point.from_projected(HERE.east_m, HERE.north_m, 32633) == HERE
    # 15° E, 42° N in Web Mercator: R·π/12 and R·ln tan 66°.
    radius_m = 6378137.0
    x_m, y_m = radius_m * math.pi / 12, radius_m * math.log(math.tan(math.radians(66)))
    assert Point.from_projected(x_m, y_m, 3857).distance_m(Point.from_lonlat(15, 42)) < 1e-3


def test_moving_is_in_metres() -> None:
    assert HERE.distance_m(HERE.moved(3, -4)) == pytest.approx(5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Point(math.nan, 0, 32633),
        lambda: Point(0, math.inf, 32633),
        lambda: Point(0, 0, 4326),
        lambda: Point.from_lonlat(181, 0),
        lambda: Point.from_lonlat(0, 85),
        lambda: Point.from_lonlat(math.nan, 0),
        lambda: Point.from_projected(0, 0, 999_999),
    ],
)
def test_no_place(make) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.code == "point.invalid"


@pytest.mark.parametrize("altitude_m", [0, -1, math.nan, math.inf])
def test_view_needs_a_positive_altitude(altitude_m: float) -> None:
    with pytest.raises(InputError) as caught:
        View(HERE, altitude_m)
    assert caught.value.code == "altitude.invalid"


@pytest.mark.parametrize("angles", [(math.nan, 0, 0), (0, -1, 0), (0, 60, 0), (0, 0, math.inf)])
def test_view_needs_sane_angles(angles: tuple[float, float, float]) -> None:
    with pytest.raises(InputError) as caught:
        View(HERE, 100, *angles)
    assert caught.value.code == "options.invalid"


def candidates(*distances: float) -> Candidates:
    n = len(distances)
    place = np.full(n, HERE.east_m), np.full(n, HERE.north_m)
    cells = np.tile([5000, 46497], (n, 1))
    return Candidates(np.arange(n), *place, np.zeros(n), np.array(distances), cells, 32633)


def test_candidates_come_nearest_first() -> None:
    nearest = candidates(0.1, 0.2, 0.2)
    assert len(nearest) == 3
    assert nearest.point(0) == HERE
    with pytest.raises(ValueError, match="nearest first"):
        candidates(0.2, 0.1)


def test_candidate_arrays_must_be_parallel() -> None:
    with pytest.raises(ValueError, match="parallel"):
        Candidates(
            np.arange(2),
            np.zeros(2),
            np.zeros(1),
            np.zeros(2),
            np.zeros(2),
            np.zeros((2, 2), np.int64),
            32633,
        )


def test_altitude_needs_one_probability_per_class() -> None:
    with pytest.raises(ValueError, match="one probability"):
        AltitudeEstimate(125.0, np.ones(2), np.ones(3))


def test_fix_as_json_has_every_field_and_no_nan() -> None:
    fix = Fix(
        photo="a.jpg", status="unverified", position=HERE, candidates=candidates(0.1), weights=np.array([1.0])
    )
    line = json.loads(json.dumps(fix.to_dict(), allow_nan=False))
    assert (line["easting_m"], line["northing_m"], line["epsg"]) == (HERE.east_m, HERE.north_m, 32633)
    assert line["lon"] == pytest.approx(15, abs=1e-6)
    assert line["candidates"][0] | {"lon": 0, "lat": 0} == {
        "rank": 1, "reference": 0, "lon": 0, "lat": 0, "easting_m": HERE.east_m, "northing_m": HERE.north_m,
        "heading_deg": 0.0, "distance": 0.1, "weight": 1.0, "cell": [5000, 46497],
    }  # fmt: skip
    nothing = Fix(photo="a.jpg", status="no_fix", position=None, reason="too dark").to_dict()
    assert set(nothing) == set(line)
    assert nothing["lon"] is None
    assert nothing["candidates"] == []


def test_altitude_classes_are_there_where_the_altitude_was_estimated() -> None:
    height = AltitudeEstimate(125.0, np.array([0.25, 0.75]), np.array([75.0, 125.0]))
    line = Fix(photo="a.jpg", status="unverified", position=HERE, altitude=height).to_dict()
    assert line["altitude_classes"] == {"altitude_m": [75.0, 125.0], "probability": [0.25, 0.75]}
    assert Fix(photo="a.jpg", status="unverified", position=HERE).to_dict()["altitude_classes"] is None


@pytest.mark.parametrize(
    ("status", "position", "verified", "reason"),
    [
        ("fix", None, None, None),
        ("fix", None, True, None),
        ("fix", HERE, None, None),
        ("fix", HERE, False, None),
        ("unverified", HERE, True, None),
        ("unverified", None, None, "why"),
        ("no_fix", HERE, None, "why"),
        ("no_fix", None, None, None),
    ],
)
def test_fix_that_contradicts_itself(status, position, verified, reason) -> None:
    with pytest.raises(ValueError, match="fix"):
        Fix(photo="a.jpg", status=status, position=position, verified=verified, reason=reason)
