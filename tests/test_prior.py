"""What is known beforehand as people write it, and what is no such thing."""

from __future__ import annotations

import math

import pytest

from nadirfix.altitude.prior import parse_altitude_prior
from nadirfix.errors import InputError
from nadirfix.prior import Prior, parse_heading, parse_near
from nadirfix.types import Point

HERE = Point(500_000.0, 5_400_000.0, 32633)


@pytest.mark.parametrize("sign", ["+-", "±", "+/-", " ± "])
def test_a_place_as_people_write_it(sign: str) -> None:
    known = parse_near(f"14.35,-48.86{sign}50")
    assert known.near is not None
    assert known.near.lonlat == pytest.approx((14.35, -48.86), abs=1e-9)
    assert known.near_sigma_m == 50.0


def test_a_place_west_and_south_without_a_deviation() -> None:
    known = parse_near(" -70.5, -33.25 ")
    assert known.near is not None
    assert known.near.lonlat == pytest.approx((-70.5, -33.25), abs=1e-9)
    assert known.near_sigma_m is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "14.35",
        "14.35,48.86,50",
        "14,48+-",
        "14,48+-0",
        "14,48+--5",
        "14,48±x",
        "200,48±5",
        "14,88±5",
        "nan,48±5",
    ],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_near(text)
    assert caught.value.code == "prior.invalid"
    assert repr(text) in caught.value.seen and "14.35,48.86+-50" in caught.value.do


def test_a_heading_as_people_write_it() -> None:
    assert parse_heading("270+-10") == Prior(heading_deg=270.0, heading_sigma_deg=10.0)
    assert parse_heading("-90") == Prior(heading_deg=-90.0)


@pytest.mark.parametrize("text", ["", "north", "361", "-361", "90+-0", "90±-3", "nan", "90±nan", "90±inf"])
def test_what_is_no_heading_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_heading(text)
    assert caught.value.code == "prior.invalid"
    assert "270+-10" in caught.value.do


def test_an_altitude_says_what_it_counts_from() -> None:
    assert parse_altitude_prior("300+-20") == Prior(altitude_m=300.0, altitude_sigma_m=20.0)
    assert parse_altitude_prior("300 @ground").altitude_above == "ground"
    sea = Prior(altitude_m=-20.0, altitude_sigma_m=5.0, altitude_above="sea")
    assert parse_altitude_prior("-20±5@Sea") == sea
    assert parse_altitude_prior("80@takeoff") == Prior(altitude_m=80.0, altitude_above="takeoff")


@pytest.mark.parametrize(
    "text", ["", "@sea", "300@", "300@moon", "-20", "-20@ground", "300±-1@sea", "nan@sea"]
)
def test_what_is_no_altitude_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_altitude_prior(text)
    assert caught.value.code == "altitude.invalid"


@pytest.mark.parametrize(
    "fields",
    [
        {"near_sigma_m": 5.0},
        {"near": HERE, "near_sigma_m": 0.0},
        {"near": HERE, "near_sigma_m": math.nan},
        {"heading_sigma_deg": 5.0},
        {"heading_deg": math.inf},
        {"altitude_m": 0.0},
        {"altitude_sigma_m": 5.0},
        {"altitude_m": 100.0, "altitude_sigma_m": math.nan},
        {"altitude_m": 100.0, "altitude_above": "roof"},
    ],
)
def test_a_prior_is_checked_when_made(fields: dict) -> None:
    with pytest.raises(InputError):
        Prior(**fields)


def test_what_is_known_of_a_photo_goes_over_what_is_known_of_all() -> None:
    one = Prior(heading_deg=10.0, altitude_m=90.0, altitude_above="sea")
    every = Prior(near=HERE, near_sigma_m=9.0, heading_deg=20.0, heading_sigma_deg=1.0, altitude_m=50.0)
    assert one.over(every) == Prior(
        near=HERE, near_sigma_m=9.0, heading_deg=10.0, altitude_m=90.0, altitude_above="sea"
    )
    assert Prior().over(every) == every
    assert Prior().is_empty and not every.is_empty
    assert not Prior(altitude_m=90.0).narrows and Prior(heading_deg=0.0).narrows


def test_what_is_known_is_given_up_step_by_step() -> None:
    height = Prior(altitude_m=90.0, altitude_sigma_m=5.0, altitude_above="sea")
    assert list(Prior(near=HERE, heading_deg=3.0).over(height).loosened()) == [height, Prior()]
    assert list(height.loosened()) == [Prior()]
    assert list(Prior(near=HERE).loosened()) == [Prior()]
    assert list(Prior().loosened()) == []
