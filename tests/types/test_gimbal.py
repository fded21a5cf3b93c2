"""Gimbals as people type them and as drones write them, as tilts of the picture they took."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nadirfix.errors import InputError
from nadirfix.prior import Prior, parse_gimbal_prior
from nadirfix.types.gimbal import Gimbal, level_from_camera, parse_gimbal
from nadirfix.types.point import Point


@pytest.mark.parametrize(
    ("text", "angles"),
    [("-60", (-60.0, 0.0, None)), ("-60,5", (-60.0, 5.0, None)), (" -90, -3.5 ,270", (-90.0, -3.5, 270.0))],
)
def test_a_gimbal_as_people_type_it(text: str, angles: tuple[float, float, float | None]) -> None:
    gimbal = parse_gimbal(text)
    assert (gimbal.pitch_deg, gimbal.roll_deg, gimbal.yaw_deg) == angles
    assert parse_gimbal_prior(text) == Prior(gimbal=gimbal)


@pytest.mark.parametrize("text", ["", "down", "-60,0,270,1", "nan", "-60,inf", "-200", "91", "-60,200"])
def test_what_is_no_gimbal_is_refused_with_what_to_do(text: str) -> None:
    with pytest.raises(InputError, match="not how a gimbal") as caught:
        parse_gimbal(text)
    assert caught.value.code == "prior.invalid"
    assert "-60,0,270" in caught.value.do


@pytest.mark.parametrize(
    ("pitch_deg", "roll_deg", "tilt_deg", "toward_top_deg"),
    [(-90, 0, 0, 0), (-60, 0, 30, 0), (-100, 0, 10, 180), (-60, 90, 30, 270), (-60, -20, 30, 20)],
)
def test_pitch_and_roll_say_how_far_and_to_which_side(
    pitch_deg: float, roll_deg: float, tilt_deg: float, toward_top_deg: float
) -> None:
    gimbal = Gimbal(pitch_deg=pitch_deg, roll_deg=roll_deg)
    assert gimbal.tilt_deg == pytest.approx(tilt_deg)
    assert gimbal.toward_top_deg == pytest.approx(toward_top_deg)


def axes(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """North, east, down of ahead, right and below of what is yawed, then pitched, then rolled (textbook)."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    return about_z @ about_y @ about_x


@pytest.mark.parametrize("angles", [(-60.0, 0.0, 0.0), (-40.0, 25.0, 130.0), (-110.0, -170.0, 300.0)])
def test_the_tilt_is_that_of_yaw_pitch_and_roll_in_turn(angles: tuple[float, float, float]) -> None:
    """The directions of the picture's right, bottom and depth, by the textbook and by tilt and heading."""
    gimbal = Gimbal(pitch_deg=angles[0], roll_deg=angles[1], yaw_deg=angles[2])
    ahead, right, below = axes(*(math.radians(a) for a in (angles[1], angles[0], angles[2]))).T
    assert gimbal.heading_deg is not None
    heading = math.radians(gimbal.heading_deg)
    sin, cos = math.sin(heading), math.cos(heading)
    level = np.array([[-sin, -cos, 0], [cos, -sin, 0], [0, 0, 1.0]])  # right, down, depth: north, east, down
    rotation = level @ level_from_camera(*(math.radians(a) for a in (gimbal.tilt_deg, gimbal.toward_top_deg)))
    np.testing.assert_allclose(rotation, np.stack([right, below, ahead], axis=1), atol=1e-12)


def test_what_is_dropped_first_when_the_map_confirms_nothing() -> None:
    tilted, down = Gimbal(pitch_deg=-60.0), Gimbal(pitch_deg=-90.0, source="tags")
    near = Prior(near=Point(500_000.0, 5_400_000.0, 32633))
    height = Prior(altitude_m=120.0)
    everything = Prior(gimbal=tilted).over(near).over(height)
    assert list(everything.loosened()) == [
        Prior(gimbal=tilted).over(height), Prior(gimbal=tilted), Prior()
    ]  # fmt: skip
    assert list(Prior(gimbal=tilted).loosened()) == [Prior()]
    assert list(Prior(gimbal=down).loosened()) == []
    assert list(Prior(gimbal=down).over(height).loosened()) == [Prior(gimbal=down)]
    assert Prior(gimbal=down).is_empty and not Prior(gimbal=tilted).is_empty
