"""The contact sheet puts every photo's outline where its ground is."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from PIL import Image
from rasterio.transform import from_origin

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Point, View
from nadirfix.world.contact import _MAP_PX, _outline, _round_length, contact_sheet

SIDE_M = 1000.0
CAMERA = Camera(400, 300, 400.0, 400.0)  # from 100 m: 100 x 75 m of ground
MIDDLE = Point(500_000.0, 5_000_000.0, 32633)


@pytest.fixture
def ground(tmp_path: Path) -> GeoMap:
    path = tmp_path / "map.tif"
    corner = from_origin(MIDDLE.east_m - SIDE_M / 2, MIDDLE.north_m + SIDE_M / 2, 10.0, 10.0)
    shape = {"width": 100, "height": 100, "count": 3, "dtype": "uint8"}
    with rasterio.open(path, "w", driver="GTiff", crs="EPSG:32633", transform=corner, **shape) as file:
        file.write(np.full((3, 100, 100), 120, np.uint8))
    return GeoMap.open(path)


def metres(outline: np.ndarray) -> np.ndarray:
    """Panel pixels as metres east and north of the middle of the map."""
    return (outline - _MAP_PX / 2) * [1, -1] * SIDE_M / _MAP_PX


def test_outline_facing_north(ground: GeoMap) -> None:
    outline = metres(_outline(View(MIDDLE.moved(200, 100), 100.0), CAMERA, ground, SIDE_M))
    assert np.allclose(outline, [(150, 137.5), (250, 137.5), (250, 62.5), (150, 62.5)], atol=0.01)


def test_outline_facing_east_has_its_top_in_the_east(ground: GeoMap) -> None:
    outline = metres(_outline(View(MIDDLE, 100.0, 90.0), CAMERA, ground, SIDE_M))
    assert np.allclose(outline, [(37.5, 50), (37.5, -50), (-37.5, -50), (-37.5, 50)], atol=0.01)


@pytest.mark.parametrize("count", [1, 5, 24])
def test_contact_sheet_has_the_map_and_the_photos(ground: GeoMap, tmp_path: Path, count: int) -> None:
    photo = tmp_path / "photo.jpg"
    Image.new("RGB", (400, 300), (10, 200, 30)).save(photo)
    rows = [PhotoRecord(photo=photo, point=MIDDLE, altitude_m=100.0 + i) for i in range(count)]
    sheet = contact_sheet(ground, rows, CAMERA).astype(int)
    cards = sheet[:, _MAP_PX:]
    green = np.abs(cards - (10, 200, 30)).max(axis=2) < 12
    grey = np.abs(sheet - 120).max(axis=2) < 3
    assert green.sum() > 0.5 * green.size
    assert grey.sum() > 0.8 * _MAP_PX**2


@pytest.mark.parametrize(("wanted_m", "length_m"), [(980, 500), (400, 200), (199, 100), (5.0, 5), (0.3, 0.2)])
def test_scale_bar_is_a_round_length(wanted_m: float, length_m: float) -> None:
    assert _round_length(wanted_m) == pytest.approx(length_m)
