"""Textures: the same picture as the map they were packed from, in one small file."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from rasterio.transform import Affine

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.errors import MapError
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.options.map import TextureOptions
from nadirfix.types import Point, View, utm_epsg
from tests.geo.test_render import rough
from tests.ground import AnalyticGround

LON, LAT = 15.31, 49.12


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    """One sharp, noisy piece of ground in three systems (pixels differ, places do not)."""
    import rasterio

    folder = tmp_path_factory.mktemp("maps")
    # like real ground: sharp in brightness, soft in colour
    bright, tint = (
        rough(1500, 1500, smooth_px=1.0)[..., :1].astype(int),
        rough(1500, 1500, seed=1, smooth_px=6),
    )
    pixels = np.clip(128 + (bright - 127) * 0.6 + (tint.astype(int) - 127) * 0.3, 0, 255).astype(np.uint8)
    ground = AnalyticGround(LON, LAT, utm_epsg(LON, LAT))
    paths = {}
    for name, crs, turn in [
        ("utm", "EPSG:32633", 0.0),
        ("mercator", "EPSG:3857", 0.0),
        ("turned", "EPSG:4326", 25.0),
    ]:
        transform, _ = ground.frame(crs, side_m=750, gsd_m=0.5, turn_deg=turn)
        paths[name] = folder / f"{name}.tif"
        settings = {
            "driver": "GTiff",
            "dtype": "uint8",
            "count": 3,
            "crs": crs,
            "transform": transform,
            "tiled": True,
        }
        with rasterio.open(paths[name], "w", width=1500, height=1500, **settings) as out:
            out.write(np.moveaxis(pixels, -1, 0))
            out.build_overviews([2, 4, 8], rasterio.enums.Resampling.average)
    return paths


@pytest.mark.parametrize("name", ["utm", "mercator", "turned"])
def test_texture_renders_as_the_map_does(maps, name, tmp_path):
    with GeoMap.open(maps[name]) as opened:
        packed = pack_texture(opened, tmp_path / "t.ntx")
        assert packed.gsd_m == pytest.approx(opened.gsd_m, rel=1e-3)
        assert np.abs(np.subtract(packed.bounds, opened.bounds)).max() < 0.1
        differences = []
        for altitude_m, size in [(110, (448, 336)), (125, (224, 224)), (240, (224, 224)), (330, (112, 112))]:
            view = View(opened.center.moved(20, -35), altitude_m, 77.0)
            one, other = (m.render(view, DEFAULT_CAMERA, size) for m in (opened, packed))
            assert abs(one.valid_share - other.valid_share) < 0.01
            differences.append(np.abs(one.pixels.astype(int) - other.pixels).mean())
    assert np.mean(differences) < 1.0, differences


def test_degree_follows_the_system(maps, tmp_path):
    with GeoMap.open(maps["utm"]) as plain, GeoMap.open(maps["turned"]) as bent:
        assert pack_texture(plain, tmp_path / "a.ntx").place.degree == 1
        packed_texture = pack_texture(bent, tmp_path / "b.ntx")
        east = bent.center.east_m + np.linspace(-300, 300, 7)
        north = bent.center.north_m + np.linspace(-250, 300, 7)
        exact = bent.rasters[0].pixel_from_ground(east, north, bent.epsg)
        fitted = packed_texture.pixel_from_ground(east, north)
    off_px = np.hypot(*np.subtract(exact, fitted)).max()
    assert off_px * packed_texture.gsd_m < 0.01  # metres


def test_same_map_same_bytes(maps, tmp_path):
    with GeoMap.open(maps["utm"]) as opened:
        hashes = set()
        for name in ("one.ntx", "two.ntx"):
            pack_texture(opened, tmp_path / name)
            hashes.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(hashes) == 1


def test_strips_leave_no_seams(maps, tmp_path):
    with GeoMap.open(maps["utm"]) as opened:
        whole = pack_texture(
            opened, tmp_path / "a.ntx", options=TextureOptions(tile_px=512, jpeg_quality=100)
        )
        strips = pack_texture(
            opened, tmp_path / "b.ntx", options=TextureOptions(tile_px=32, jpeg_quality=100)
        )
    for one, other in zip(whole.levels, strips.levels, strict=True):
        assert np.abs(one.astype(int) - other).max() <= 8  # JPEG at 100 alone differs by a few


def test_a_part_of_the_map(maps, tmp_path):
    with GeoMap.open(maps["turned"]) as opened:
        middle = opened.center
        part = (middle.east_m - 150, middle.north_m - 120, middle.east_m + 150, middle.north_m + 120)
        small = pack_texture(opened, tmp_path / "part.ntx", part=part)
        view = View(middle, 100.0, 10.0)
        one, other = (m.render(view, DEFAULT_CAMERA, (224, 224)) for m in (opened, small))
        with pytest.raises(MapError, match="not on the map"):
            pack_texture(opened, tmp_path / "no.ntx", part=(0.0, 0.0, 10.0, 10.0))
    assert small.size_px[0] * small.size_px[1] < 1500 * 1500 / 2
    assert np.abs(one.pixels.astype(int) - other.pixels).mean() < 1.0
    assert not (tmp_path / "no.ntx").exists()


def test_several_files_become_one_grid(tmp_path):
    epsg = utm_epsg(LON, LAT)
    ground = AnalyticGround(LON, LAT, epsg)
    east, north = ground.center
    left = ground.write(
        tmp_path / "l.tif", "EPSG:32633", Affine(1, 0, east - 300, 0, -1, north + 200), 310, 400
    )
    transform, count = ground.frame("EPSG:3857", side_m=500, gsd_m=1.0)
    right = ground.write(tmp_path / "r.tif", "EPSG:3857", transform, count, count)
    view = View(Point(east, north, epsg), 150.0, 20.0)
    camera = Camera(320, 240, 240.0, 240.0)
    with GeoMap.open([left, right]) as opened:
        rendered = opened.render(view, camera)
        packed = pack_texture(opened, tmp_path / "both.ntx").render(view, camera)
    for picture in (rendered, packed):
        assert picture.valid_share == 1.0
        assert np.abs(picture.pixels - ground.expected(view, camera, (320, 240))).mean() < 2.5


def test_views_in_a_neighbouring_zone(maps, tmp_path):
    with GeoMap.open(maps["utm"]) as opened:
        packed = pack_texture(opened, tmp_path / "t.ntx")
        view = View(opened.center.to(32634), 120.0, 5.0)
        one, other = (m.render(view, DEFAULT_CAMERA, (224, 224)) for m in (opened, packed))
    assert np.abs(one.pixels.astype(int) - other.pixels).mean() < 1.0


@pytest.mark.parametrize("damage", ["missing", "text", "cut", "flipped"])
def test_a_damaged_file_is_reported(maps, tmp_path, damage):
    path = tmp_path / "t.ntx"
    with GeoMap.open(maps["utm"]) as opened:
        pack_texture(opened, path)
    data = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "text":
        path.write_text("hello")
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        data[5000] ^= 0xFF
        path.write_bytes(data)
    with pytest.raises(MapError) as caught:
        _ = Texture.load(path).levels
    assert caught.value.code == "texture.unreadable"


def test_reading_needs_no_gdal(maps, tmp_path):
    with GeoMap.open(maps["utm"]) as opened:
        pack_texture(opened, tmp_path / "t.ntx")
    program = (
        "import sys; sys.modules.update(rasterio=None, pyproj=None)\n"
        "from nadirfix.geo.texture import Texture; from nadirfix.types import View\n"
        "from nadirfix.camera import DEFAULT_CAMERA\n"
        f"t = Texture.load({str(tmp_path / 't.ntx')!r})\n"
        "print(t.render(View(t.center, 125.0), DEFAULT_CAMERA, (64, 64)).valid_share)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"
