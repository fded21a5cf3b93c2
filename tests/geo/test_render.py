"""Rendering: right geometry, proper filtering, honest edges."""

from __future__ import annotations

import itertools
import math

import cv2
import numpy as np
import pytest

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.geo.texture import Texture
from nadirfix.types import Point, View

EPSG = 32633
WEST, NORTH = 500_000.0, 5_400_000.0


def texture(pixels: np.ndarray, *, gsd_m: float = 0.5, mask: np.ndarray | None = None) -> Texture:
    return Texture.from_array(pixels, mask, affine=(gsd_m, 0.0, WEST, 0.0, -gsd_m, NORTH), epsg=EPSG)


def grey(layer: np.ndarray) -> np.ndarray:
    return np.repeat(np.rint(layer).astype(np.uint8)[..., None], 3, axis=-1)


def at(east_m: float, north_m: float, altitude_m: float, **angles: float) -> View:
    """A view so many metres east and south of the map's corner."""
    return View(Point(WEST + east_m, NORTH - north_m, EPSG), altitude_m, **angles)


def rough(rows: int, cols: int, *, seed: int = 0, smooth_px: float = 2.0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(rows, cols, 3)).astype(np.float32)
    noise = cv2.GaussianBlur(noise, (0, 0), smooth_px)
    return np.clip(127 + 50 * noise / noise.std(), 0, 255).astype(np.uint8)


def test_a_zone_plate_at_an_eighth_has_no_moire():
    side = 4096
    x = np.arange(side) - side / 2 + 0.5
    radius2 = x[None, :] ** 2 + x[:, None] ** 2
    plate = texture(grey(127.5 + 127.5 * np.cos(math.pi * radius2 / side)), gsd_m=0.5)
    camera = Camera(512, 512, 512.0, 512.0)
    rendered = plate.render(at(1024, 1024, 2048.0), camera).pixels[..., 0].astype(float)
    y = np.arange(512) - 255.5
    # local frequency in cycles per output pixel: radius (source px) / side · 8
    frequency = np.hypot(y[None, :], y[:, None]) * 8 / side * 8
    beyond = (frequency > 0.85) & (frequency < 3.9)
    assert rendered[beyond].std() < 1.0  # grey levels, where the plate itself has 90
    assert rendered[frequency < 0.25].std() > 60
    rings = [rendered[(frequency > f) & (frequency < f + 0.1)].std() for f in np.arange(0.1, 0.9, 0.1)]
    assert all(a > b for a, b in itertools.pairwise(rings)), rings


def test_enlarging_adds_no_sharpness():
    step = np.zeros((200, 200))
    step[:, 100:] = 200
    rendered = texture(grey(step)).render(at(50, 50, 100.0), Camera(600, 450, 1200.0, 1200.0)).pixels
    line = rendered[225, :, 0].astype(int)
    assert np.all(np.diff(line) >= 0)  # no ringing on either side
    assert (line.min(), line.max()) == (0, 200)
    rise = np.count_nonzero((line > 10) & (line < 190)) * 100 / 1200
    assert 0.35 < rise < 0.75  # metres: one source pixel, neither sharper nor much softer


def test_sharpness_depends_on_the_output_not_on_the_level():
    ground = texture(rough(3000, 3000, smooth_px=0.7))
    camera = Camera(128, 128, 128.0, 128.0)
    contrast = []
    for altitude_m in np.geomspace(110, 900, 16):  # ratios 1.7 to 14: several changes of level
        rendered = ground.render(at(750, 750, float(altitude_m)), camera).pixels.astype(np.float32)
        fine = rendered - cv2.GaussianBlur(rendered, (0, 0), 1.0)
        contrast.append(fine.std() * altitude_m)  # white noise falls with the area gathered
    steps = np.abs(np.diff(np.log(contrast)))
    assert steps.max() < 0.25, np.round(contrast, 1)


@pytest.mark.parametrize(
    ("heading_deg", "row", "col"), [(0.0, 150, 300), (90.0, 50, 200), (180.0, 150, 100), (270.0, 250, 200)]
)
def test_heading_is_where_the_top_points(heading_deg: float, row: int, col: int):
    picture = np.zeros((400, 400, 3), np.uint8)
    picture[196:204, 296:304] = 255  # 50 m east of the middle: 100 px in the picture
    camera = Camera(400, 300, 200.0, 200.0)
    rendered = texture(picture).render(at(100, 100, 100.0, heading_deg=heading_deg), camera).pixels[..., 0]
    peak = np.unravel_index(np.argmax(cv2.GaussianBlur(rendered, (0, 0), 3)), rendered.shape)
    assert np.abs(np.subtract(peak, (row, col))).max() <= 2


def test_turning_back_a_turned_view_gives_the_straight_one():
    ground = texture(rough(1600, 1600, smooth_px=3))
    camera = Camera(301, 301, 300.0, 300.0)
    straight = ground.render(at(400, 400, 300.0), camera).pixels
    for heading_deg in (17.0, 90.0, 200.0):
        turned = ground.render(at(400, 400, 300.0, heading_deg=heading_deg), camera).pixels
        # top points heading_deg clockwise, so the picture must be turned clockwise to get north up
        matrix = cv2.getRotationMatrix2D((150, 150), -heading_deg, 1.0)
        back = cv2.warpAffine(turned, matrix, (301, 301), flags=cv2.INTER_CUBIC)
        y, x = np.mgrid[:301, :301] - 150
        disk = np.hypot(x, y) < 140
        assert np.abs(back[disk].astype(int) - straight[disk]).mean() < 2.0


def test_two_cameras_see_the_same_footprint():
    ground = texture(rough(1600, 1600))
    wide, long = Camera(2048, 1536, 1200.0, 1200.0), Camera(1000, 750, 900.0, 900.0)
    altitude = 125.0 * (2048 / 1200) / (1000 / 900)
    one = ground.render(at(400, 400, 125.0, heading_deg=33.0), wide, (224, 224)).pixels
    other = ground.render(at(400, 400, altitude, heading_deg=33.0), long, (224, 224)).pixels
    assert wide.footprint_m(125.0) == pytest.approx(long.footprint_m(altitude))
    assert np.abs(one.astype(int) - other).max() <= 1


def test_a_crop_of_a_high_view_is_the_low_view():
    ground = texture(rough(2400, 2400, smooth_px=4))
    camera = Camera(800, 600, 600.0, 600.0)
    high = ground.render(at(600, 600, 400.0), camera).pixels
    low = ground.render(at(600, 600, 200.0), camera, (400, 300)).pixels
    assert np.abs(high[150:450, 200:600].astype(int) - low).mean() < 1.0


def test_tilt_against_rays_traced_one_by_one():
    view = View(Point(WEST, NORTH, EPSG), 300.0, 40.0, tilt_deg=8.0, tilt_toward_deg=110.0)
    camera = DEFAULT_CAMERA
    homography = ground_from_pixel(view, camera, (2048, 1536))
    for u, v in [(0.0, 0.0), (2048.0, 0.0), (512.0, 1300.0), (1024.0, 768.0)]:
        assert np.hypot(*np.subtract(project(homography, u, v), _traced(view, camera, u, v))) < 1e-6


def _traced(view: View, camera: Camera, u: float, v: float) -> np.ndarray:
    """Rotate the viewing ray about the horizontal axis across the tilt, then walk down to the ground."""
    heading, toward, tilt = (math.radians(a) for a in (view.heading_deg, view.tilt_toward_deg, view.tilt_deg))
    x, y = (u - camera.width_px / 2) / camera.fx_px, (v - camera.height_px / 2) / camera.fy_px
    ray = np.array(
        [x * math.cos(heading) - y * math.sin(heading), -x * math.sin(heading) - y * math.cos(heading), -1.0]
    )
    along = np.array([math.sin(toward), math.cos(toward), 0.0])
    across, up = np.cross(along, [0, 0, 1.0]), np.array([0, 0, 1.0])
    a, b, c = ray @ along, ray @ across, ray @ up
    tilted = (
        along * (a * math.cos(tilt) - c * math.sin(tilt))
        + across * b
        + up * (c * math.cos(tilt) + a * math.sin(tilt))
    )
    hit = tilted[:2] * view.altitude_m / -tilted[2]
    return hit - view.altitude_m * math.tan(tilt) * along[:2]


def test_holes_are_black_counted_and_do_not_bleed():
    picture, mask = np.full((800, 800, 3), 200, np.uint8), np.full((800, 800), 255, np.uint8)
    mask[:, :400] = 0
    picture[:, :400] = 17
    rendered = texture(picture, mask=mask).render(at(200, 200, 300.0), Camera(256, 256, 256.0, 256.0))
    assert rendered.valid_share == pytest.approx(0.5, abs=0.01)
    assert set(np.unique(rendered.pixels)) <= {0, 199, 200, 201}
    assert np.array_equal(rendered.pixels.any(-1), rendered.valid > 0)


def test_off_the_map_there_is_nothing():
    ground = texture(rough(400, 400))
    rendered = ground.render(at(5000, 5000, 100.0), Camera(64, 64, 64.0, 64.0))
    assert rendered.valid_share == 0.0
    assert not rendered.pixels.any()
    corner = ground.render(at(0, 0, 100.0), Camera(64, 64, 64.0, 64.0))
    assert corner.valid_share == pytest.approx(0.25, abs=0.02)
