"""A rectified photo shows flat ground as a camera straight above its frame centre would; in metres."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.image.level import level_camera, levelled
from nadirfix.types import Point, View
from nadirfix.types.gimbal import Gimbal

CAMERA = Camera(1024, 768, 600.0, 610.0)
CENTER = Point(500_000.0, 5_400_000.0, 32633)
ALTITUDE_M, HEADING_DEG = 120.0, 73.0


def ground_m(view: View, camera: Camera, px: np.ndarray) -> np.ndarray:
    size = camera.width_px, camera.height_px
    return np.stack(project(ground_from_pixel(view, camera, size), px[:, 0], px[:, 1]), axis=1)


@pytest.mark.parametrize(
    ("pitch_deg", "roll_deg"), [(-60.0, 0.0), (-35.0, 0.0), (-50.0, 160.0), (-75.0, -35.0), (-120.0, 10.0)]
)
def test_both_pictures_show_the_same_ground(pitch_deg: float, roll_deg: float) -> None:
    gimbal = Gimbal(pitch_deg=pitch_deg, roll_deg=roll_deg)
    _, level, made = levelled(np.zeros((768, 1024, 3), np.uint8), CAMERA, gimbal)
    toward_deg = (HEADING_DEG + gimbal.toward_top_deg) % 360
    tilted = View(CENTER, ALTITUDE_M, HEADING_DEG, gimbal.tilt_deg, toward_deg)
    level_px = np.random.default_rng(0).uniform([0, 0], [level.width_px, level.height_px], (50, 2))
    photo_px = made.photo_px(level_px)
    straight_down = ground_m(View(CENTER, ALTITUDE_M, HEADING_DEG), level, level_px)
    assert np.abs(straight_down - ground_m(tilted, CAMERA, photo_px)).max() < 1e-6
    assert photo_px.min() > -1.0
    assert (photo_px.max(axis=0) < [1025.0, 769.0]).all(), "nothing is made up beyond the photo"


def test_pixels_go_where_the_homography_says() -> None:
    """A ramp to the right in the photo is one in the picture, of the same values, to half a grey level."""
    ramp = np.repeat(np.tile((np.arange(1024) / 4.1).astype(np.float32), (768, 1))[..., None], 3, axis=2)
    new, level, made = levelled(np.rint(ramp).astype(np.uint8), CAMERA, Gimbal(pitch_deg=-55.0))
    columns, rows = np.meshgrid(np.arange(level.width_px) + 0.5, np.arange(level.height_px) + 0.5)
    where = made.photo_px(np.column_stack([columns.ravel(), rows.ravel()]))
    expected = ((where[:, 0] - 0.5) / 4.1).reshape(level.height_px, level.width_px)
    assert np.abs(new[..., 0] - expected).max() < 1.1


def test_a_level_photo_stays_as_it_is_and_a_tilted_one_as_fine_in_its_middle() -> None:
    upright = level_camera(CAMERA, 0.0, 0.0)
    assert (upright.width_px, upright.height_px) == (1024, 768)
    tilted = level_camera(CAMERA, 45.0, 0.0)
    farther = 1 / math.cos(math.radians(45.0))
    assert tilted.gsd_m(100.0) == pytest.approx(farther * CAMERA.gsd_m(100.0))
    assert tilted.footprint_m(100.0)[0] > 0.8 * CAMERA.footprint_m(100.0)[0]


def test_a_smaller_picture_shows_the_same_places_of_a_smaller_photo() -> None:
    _, level, made = levelled(np.zeros((768, 1024, 3), np.uint8), CAMERA, Gimbal(pitch_deg=-50.0))
    small = level.resized(100, 75)
    reduced = made.resized(level, small)
    share = np.random.default_rng(1).uniform(0, 1, (20, 2))
    whole = made.photo_px(share * [level.width_px, level.height_px]) / [1024, 768]
    less = reduced.photo_px(share * [100, 75]) / [reduced.camera.width_px, reduced.camera.height_px]
    assert np.abs(whole - less).max() < 1e-9
