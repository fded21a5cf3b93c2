"""Bad maps: each its own clear error and exit number 3, and nothing written."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import rasterio
from rasterio.transform import Affine

from nadirfix.errors import MapError
from nadirfix.geo.geomap import GeoMap

GOOD = {"driver": "GTiff", "dtype": "uint8", "count": 3, "width": 900, "height": 900}
PLACE = {"crs": "EPSG:32633", "transform": Affine(0.5, 0, 500_000, 0, -0.5, 5_400_000)}


def write(path, **changes):
    settings = {**GOOD, **PLACE, **changes}
    settings = {k: v for k, v in settings.items() if v is not None}
    fill = settings.pop("fill", None)
    pixels = np.random.default_rng(0).integers(1, 255, (3, settings["height"], settings["width"]), np.uint8)
    with rasterio.open(path, "w", **settings) as out:
        out.write(pixels if fill is None else np.full_like(pixels, fill))
    return path


def no_crs(path):
    return write(path, crs=None)


def no_transform(path):
    return write(path, transform=None)


def local_system(path):
    return write(path, crs='LOCAL_CS["site",UNIT["metre",1]]')


def zero_bytes(path):
    path.write_bytes(b"")
    return path


def truncated(path):
    write(path, tiled=True, compress="deflate")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    return path


def truncated_pixels(path):
    """The directory is whole but the last strips are gone: it opens, then fails when it is read."""
    write(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    return path


def text(path):
    path.write_text("this is not a map\n")
    return path


def folder(path):
    path.mkdir()
    return path


def folder_of_text(path):
    path.mkdir()
    (path / "readme.txt").write_text("no tiles here")
    return path


def missing(path):
    return path


def too_small(path):
    return write(path, width=120, height=120)


def all_nodata(path):
    return write(path, nodata=0, fill=0)


def beyond_utm(path):
    return write(path, crs="EPSG:3413", transform=Affine(0.5, 0, 1000, 0, -0.5, 1000))


CASES = [
    (no_crs, "map.no_crs"),
    (local_system, "map.no_crs"),
    (no_transform, "map.no_transform"),
    (zero_bytes, "map.empty"),
    (truncated, "map.unreadable"),
    (truncated_pixels, "map.unreadable"),
    (text, "map.unreadable"),
    (folder, "map.unreadable"),
    (folder_of_text, "map.unreadable"),
    (missing, "map.missing"),
    (too_small, "map.too_small"),
    (all_nodata, "map.all_nodata"),
    (beyond_utm, "map.outside_utm"),
]


@pytest.mark.parametrize(("make", "code"), CASES, ids=[c[0].__name__ for c in CASES])
def test_a_bad_map_is_explained_and_nothing_is_written(make, code, tmp_path):
    path = make(tmp_path / "map.tif")
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "nadirfix",
        "simulate",
        str(path),
        "--out",
        str(out),
        "--count",
        "3",
        "--quiet",
    ]
    done = subprocess.run([*command, "--altitude", "100:150"], capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert code in done.stderr
    assert "map.tif" in done.stderr or code == "map.too_small"  # what was seen is named
    assert done.stdout == ""
    assert not out.exists()
    assert [p.name for p in tmp_path.iterdir() if p != path] == []


def test_a_hole_of_one_pixel_is_not_an_empty_map(tmp_path):
    """The quick look that finds empty maps must not call a nearly empty one empty."""
    path = tmp_path / "map.tif"
    with rasterio.open(path, "w", **GOOD, **PLACE, nodata=0) as out:
        pixels = np.zeros((3, 900, 900), np.uint8)
        pixels[:, 457, 613] = 9
        out.write(pixels)
    GeoMap.open(path).close()


def test_one_bad_file_among_several_is_named(tmp_path):
    good = write(tmp_path / "good.tif")
    with pytest.raises(MapError, match=r"bad\.tif"):
        GeoMap.open([good, text(tmp_path / "bad.tif")])
