"""A picture written as a map comes back as it was, where it was; a full disk is said to be one."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import cv2
import numpy as np
import pytest
import rasterio

from nadirfix.errors import OutputError
from nadirfix.geo.geotiff import write_geotiff

AFFINE = (0.5, 0.0, 452_000.0, 0.0, -0.5, 5_412_000.0)


def ground(height_px: int, width_px: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    size = (height_px // 8 + 1, width_px // 8 + 1)
    # Colours change less than brightness does, as on real ground; JPEG counts on it.
    coarse = rng.uniform(60, 190, (*size, 1)) + rng.uniform(-20, 20, (*size, 3))
    return cv2.resize(coarse.astype(np.uint8), (width_px, height_px), interpolation=cv2.INTER_CUBIC)


def test_comes_back_where_it_was(tmp_path):
    pixels = ground(700, 1100)
    write_geotiff(tmp_path / "map.tif", pixels, affine=AFFINE, epsg=32633)
    with rasterio.open(tmp_path / "map.tif") as source:
        assert tuple(source.transform)[:6] == AFFINE
        assert source.crs.to_epsg() == 32633
        assert source.bounds == (452_000, 5_412_000 - 350, 452_000 + 550, 5_412_000)
        assert source.block_shapes[0] == (512, 512)
        assert source.photometric.name.lower() == "ycbcr"
        assert source.overviews(1) == [2, 4]
        back = np.moveaxis(source.read(), 0, 2)
    assert np.abs(back.astype(float) - pixels).mean() < 1.5


def test_overviews_are_averages(tmp_path):
    pixels = ground(1024, 1024)
    write_geotiff(tmp_path / "map.tif", pixels, affine=AFFINE, epsg=32633)
    with rasterio.open(tmp_path / "map.tif", overview_level=0) as source:
        half = np.moveaxis(source.read(), 0, 2).astype(float)
    means = pixels.reshape(512, 2, 512, 2, 3).mean(axis=(1, 3))
    assert np.abs(half - means).mean() < 2.5


def test_the_bytes_do_not_depend_on_who_used_gdal_before(tmp_path):
    """A reader's small cache outlives it; with it GDAL codes tiles twice, and the file grows and worsens."""
    pixels = np.random.default_rng(0).integers(0, 255, (1500, 1500, 3), dtype=np.uint8)
    write_geotiff(tmp_path / "before.tif", pixels, affine=AFFINE, epsg=32633)
    with rasterio.Env(GDAL_CACHEMAX=2_000_000):
        write_geotiff(tmp_path / "after.tif", pixels, affine=AFFINE, epsg=32633)
    assert (tmp_path / "after.tif").read_bytes() == (tmp_path / "before.tif").read_bytes()


def test_a_rotated_transform_survives(tmp_path):
    turned = (0.4, 0.3, 452_000.0, 0.3, -0.4, 5_412_000.0)
    write_geotiff(tmp_path / "map.tif", ground(300, 200), affine=turned, epsg=32719)
    with rasterio.open(tmp_path / "map.tif") as source:
        assert tuple(source.transform)[:6] == pytest.approx(turned)
        assert source.crs.to_epsg() == 32719


def test_only_pictures_are_written(tmp_path):
    with pytest.raises(ValueError, match="uint8"):
        write_geotiff(tmp_path / "map.tif", np.zeros((4, 4, 3)), affine=AFFINE, epsg=32633)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_not_a_full_disk(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError) as caught:
        write_geotiff(tmp_path / "file" / "map.tif", ground(300, 300), affine=AFFINE, epsg=32633)
    assert caught.value.code == "output.unwritable"


CHILD = """
import resource, sys
from pathlib import Path
import numpy as np
from nadirfix.errors import OutputError
from nadirfix.geo.geotiff import write_geotiff
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
pixels = np.random.default_rng(0).integers(0, 255, (1500, 1500, 3), dtype=np.uint8)
try:
    write_geotiff(Path(sys.argv[1]), pixels, affine=(0.5, 0, 0, 0, -0.5, 0), epsg=32633)
except OutputError as error:
    print(error.code)
"""


@pytest.mark.parametrize("share", [0.0005, 0.4, 0.74, 0.9, 0.999])
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path, share):
    """Wherever the disk fills up: in the header, in the pixels, in the overviews, in the last bytes."""
    whole = tmp_path / "whole.tif"
    pixels = np.random.default_rng(0).integers(0, 255, (1500, 1500, 3), dtype=np.uint8)
    write_geotiff(whole, pixels, affine=(0.5, 0, 0, 0, -0.5, 0), epsg=32633)
    limit = int(whole.stat().st_size * share)
    target = tmp_path / "full" / "map.tif"
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(target), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "output.disk_full", done.stderr
    assert not list(target.parent.iterdir())
