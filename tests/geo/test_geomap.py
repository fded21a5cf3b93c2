"""Maps: whatever bands, masks and layouts a file has, the ground is the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp
from rasterio.transform import Affine

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.types import View
from tests.geo.test_render import rough

CAMERA = Camera(200, 150, 200.0, 200.0)
PLACE = {"crs": "EPSG:32633", "transform": Affine(0.5, 0, 500_000, 0, -0.5, 5_400_000)}


def write(path, bands: np.ndarray, *, mask=None, colours=None, palette=None, **extra):
    settings = {"driver": "GTiff", "dtype": bands.dtype.name, "count": len(bands), **PLACE, **extra}
    with rasterio.open(path, "w", height=bands.shape[1], width=bands.shape[2], **settings) as out:
        if colours:
            out.colorinterp = colours
        if palette:
            out.write_colormap(1, palette)
        out.write(bands)
        if mask is not None:
            out.write_mask(mask)
    return path


def rendered(path, **angles):
    with GeoMap.open(path) as opened:
        return opened.render(View(opened.center, 150.0, **angles), CAMERA)


@pytest.fixture(scope="module")
def rgb() -> np.ndarray:
    return np.moveaxis(rough(700, 700), -1, 0)


@pytest.fixture(scope="module")
def plain(rgb, tmp_path_factory):
    return rendered(write(tmp_path_factory.mktemp("m") / "rgb.tif", rgb)).pixels.astype(int)


def test_alpha_is_a_mask(rgb, plain, tmp_path):
    alpha = np.full((1, 700, 700), 255, np.uint8)
    alpha[:, :, :350] = 0
    bands = np.concatenate([rgb, alpha])
    picture = rendered(write(tmp_path / "a.tif", bands, photometric="RGB", alpha="YES"))
    assert picture.valid_share == pytest.approx(0.5, abs=0.01)
    assert np.abs(picture.pixels - plain)[:, 110:].max() <= 1


def test_nodata_is_a_mask(rgb, plain, tmp_path):
    bands = rgb.copy()
    bands[:, :350] = 0
    bands[:, 350:] = np.maximum(bands[:, 350:], 1)
    picture = rendered(write(tmp_path / "n.tif", bands, nodata=0))
    assert picture.valid_share == pytest.approx(0.5, abs=0.01)
    assert np.abs(picture.pixels - plain)[80:].mean() < 0.1


def test_internal_mask(rgb, plain, tmp_path):
    mask = np.full((700, 700), 255, np.uint8)
    mask[:350] = 0
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        path = write(tmp_path / "m.tif", rgb, mask=mask)
    picture = rendered(path)
    assert picture.valid_share == pytest.approx(0.5, abs=0.01)
    assert np.abs(picture.pixels - plain)[80:].max() <= 1


def test_grey_becomes_three_equal_channels(rgb, plain, tmp_path):
    picture = rendered(write(tmp_path / "g.tif", rgb[:1])).pixels
    assert np.abs(picture[..., 0] - plain[..., 0]).max() <= 1
    assert np.array_equal(picture[..., 0], picture[..., 2])


def test_named_bands_beat_their_order(rgb, plain, tmp_path):
    bgr = [ColorInterp.blue, ColorInterp.green, ColorInterp.red]
    picture = rendered(write(tmp_path / "b.tif", rgb[::-1].copy(), colours=bgr, photometric="MINISBLACK"))
    assert np.abs(picture.pixels - plain).max() <= 1


def test_palette_is_applied_before_resampling(tmp_path):
    index = np.zeros((1, 700, 700), np.uint8)
    index[:, :, 350:] = 200
    palette = {0: (10, 20, 30, 255), 200: (250, 100, 50, 255), 100: (0, 255, 0, 255)}
    picture = rendered(write(tmp_path / "p.tif", index, palette=palette)).pixels
    assert picture[75, 20].tolist() == [10, 20, 30]
    assert picture[75, 180].tolist() == [250, 100, 50]
    assert picture[..., 1].max() <= 100  # index 100 (green) must not appear between 0 and 200


@pytest.mark.parametrize("kind", ["uint16", "int16", "float32"])
def test_deep_pixels_are_stretched(rgb, plain, tmp_path, kind):
    deep = (rgb.astype(np.float64) * 11 + 300).astype(kind)
    picture = rendered(write(tmp_path / "d.tif", deep)).pixels
    for band in range(3):
        assert np.corrcoef(picture[..., band].ravel(), plain[..., band].ravel())[0, 1] > 0.98
    assert picture.min() < 30 and picture.max() > 225


def test_rotated_and_south_up_files(rgb, plain, tmp_path):
    flipped = write(
        tmp_path / "s.tif", rgb[:, ::-1].copy(), transform=Affine(0.5, 0, 500_000, 0, 0.5, 5_399_650)
    )
    assert np.abs(rendered(flipped).pixels - plain).max() <= 1
    quarter = np.rot90(rgb, axes=(1, 2)).copy()  # column axis now points north to south
    turned = write(tmp_path / "q.tif", quarter, transform=Affine(0, -0.5, 500_350, -0.5, 0, 5_400_000))
    assert np.abs(rendered(turned).pixels - plain).max() <= 1


def test_overviews_change_nothing_that_matters(rgb, tmp_path):
    path = write(tmp_path / "o.tif", rgb, tiled=True)
    with GeoMap.open(path) as opened:
        before = opened.render(View(opened.center, 340.0), CAMERA, (64, 48)).pixels.astype(int)
    with rasterio.open(path, "r+") as out:
        out.build_overviews([2, 4, 8, 16], rasterio.enums.Resampling.average)
    with GeoMap.open(path) as opened:
        after = opened.render(View(opened.center, 340.0), CAMERA, (64, 48)).pixels
    assert np.abs(after - before).mean() < 1.5


def test_feet_are_not_metres(tmp_path):
    foot = 0.3048006096
    settings = {"crs": "EPSG:2263", "transform": Affine(2.0, 0, 980_000, 0, -2.0, 200_000)}
    path = write(tmp_path / "f.tif", np.zeros((1, 400, 400), np.uint8) + 7, **settings)
    with GeoMap.open(path) as opened:
        assert opened.gsd_m == pytest.approx(2 * foot, rel=1e-3)
        west, _, east, _ = opened.bounds
        assert east - west == pytest.approx(800 * foot, rel=0.02)


def test_mercator_metres_are_not_ground_metres(tmp_path):
    settings = {"crs": "EPSG:3857", "transform": Affine(1.0, 0, 1_700_000, 0, -1.0, 8_400_000)}
    path = write(tmp_path / "w.tif", np.zeros((1, 400, 400), np.uint8) + 7, **settings)
    with GeoMap.open(path) as opened:
        lat = opened.center.lonlat[1]
        assert opened.gsd_m == pytest.approx(np.cos(np.radians(lat)), rel=5e-3)


MEMORY = r"""
import re, sys, numpy as np
from pathlib import Path
from nadirfix.geo.geomap import GeoMap
from nadirfix.types import View
from nadirfix.camera import DEFAULT_CAMERA
rng = np.random.default_rng(0)
with GeoMap.open(sys.argv[1]) as opened:
    west, south, east, north = opened.bounds
    for _ in range(150):
        across, down = rng.uniform(-0.4, 0.4, 2) * (east - west, north - south)
        place = opened.center.moved(across, down)
        opened.render(View(place, rng.uniform(100, 700), rng.uniform(0, 360)), DEFAULT_CAMERA, (224, 224))
# not ru_maxrss, which a child takes over from the test that started it
print(int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024)
"""


@pytest.mark.slow
def test_views_of_a_huge_map_stay_small(tmp_path):
    path = tmp_path / "huge.tif"
    settings = {"driver": "GTiff", "dtype": "uint8", "count": 3, **PLACE, "tiled": True, "SPARSE_OK": True}
    with rasterio.open(path, "w", width=40_000, height=25_000, compress="deflate", **settings) as out:
        out.write(np.ones((3, 512, 512), np.uint8), window=rasterio.windows.Window(0, 0, 512, 512))
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 700  # MB
