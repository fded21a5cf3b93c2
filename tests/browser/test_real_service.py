"""The page and the service together: what one asks for the other gives, and photos lie on their ground."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import rasterio
from PIL import Image

from nadirfix.formats import csv_text, geojson
from nadirfix.photo_list import PhotoRecord
from tests.browser.conftest import Opener, Visit
from tests.browser.test_answers import in_frame, on_screen, position_of, saved, screenshot
from tests.browser.tiles import Tiles
from tests.fixtures import CAMERA, once

pytest.importorskip("nadirfix.serve.app", reason="no service in this checkout")

#: Grey levels between a map and its picture: JPEG, and two ways to bring it to another projection.
TOLERANCE = 8.0


@pytest.fixture(scope="session")
def sure_bundle(shared: Path, tiny_world: Path) -> Path:
    """The small world's bundle as ``nadirfix build --recipe tiny`` makes it: with the matcher."""
    from nadirfix.offline import build_bundle
    from nadirfix.options.recipe import RECIPES

    def build(out: Path) -> None:
        build_bundle(tiny_world / "old.tif", out, recipe=RECIPES["tiny"], train=False, device="cpu")

    return once(shared / "sure.nadir", build)


@pytest.fixture(scope="module")
def real_address(page_files: Path, sure_bundle: Path) -> Iterator[str]:
    """The service itself, on a free port."""
    from nadirfix.bundle import Bundle
    from nadirfix.serve.options import ServeOptions
    from tests.serving import running

    with running(Bundle.load(sure_bundle), ServeOptions(), page=page_files) as service:
        yield service.url


@pytest.fixture
def real_visit(opener: Opener, real_address: str) -> Visit:
    return opener(real_address).open()


def test_photos_of_another_date_land_on_their_own_ground(
    real_visit: Visit, photos: list[Path], truths: list[PhotoRecord], tiny_world: Path
) -> None:
    """All six of the world's newer date are sent; none may be placed wrongly, most must be placed."""
    real_visit.send(*photos)
    real_visit.settled(len(photos))
    found = 0
    for which, row in enumerate(truths):
        real_visit.page.locator(".photo").nth(which).click()
        real_visit.page.wait_for_selector("#detail .chart")
        if real_visit.page.locator(".photo .badge").nth(which).inner_text() != "Fix":
            continue
        position = position_of(real_visit.page.wait_for_selector(".fix-mark"))
        assert in_frame(position, row, CAMERA), (
            f"{photos[which].name} is {position.distance_m(row.point):.0f} m off"
        )
        found += 1
    assert found >= 4, f"{found} of {len(photos)} were placed"
    assert real_visit.page.locator(".candidate").count() > 0
    image = real_visit.page.wait_for_selector("img[data-reference]")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    real_visit.page.wait_for_selector(".picture canvas")
    the_ground_on_the_screen_is_the_map_s(real_visit, tiny_world / "old.tif")


def the_ground_on_the_screen_is_the_map_s(visit: Visit, path: Path) -> None:
    """With the photo faded out, what lies around the mark is what the map has there, to the metre."""
    visit.page.locator("#opacity").fill("0")
    visit.idle()
    fix, far = visit.page.query_selector(".fix-mark"), visit.page.locator(".candidate-mark").last
    middle, position = on_screen(fix), position_of(fix)
    px_per_m = math.dist(middle, on_screen(far)) / position.distance_m(position_of(far))
    pixels = screenshot(visit).mean(axis=2)
    right, down = (step.ravel() for step in np.mgrid[-150:151:7, -150:151:7])

    def difference(east_off_m: float) -> float:
        east_m = position.east_m + right / px_per_m + east_off_m
        with rasterio.open(path) as ground:
            at = zip(east_m, position.north_m - down / px_per_m, strict=True)
            map_tile = np.array(list(ground.sample(at)), float).mean(axis=1)
        here = pixels[np.rint(middle[1] + down).astype(int), np.rint(middle[0] + right).astype(int)]
        return float(np.median(np.abs(here - map_tile)))

    assert difference(0.0) < 2 * TOLERANCE, "the screen shows other ground"
    assert difference(0.0) < 0.7 * min(difference(-15.0), difference(15.0)), (
        "the screen would fit elsewhere as well"
    )


def test_tiles_are_the_map(real_address: str, tiny_world: Path) -> None:
    """Pixel by pixel, against GDAL's own way to bring the map to the web's projection."""
    tiles = httpx.get(f"{real_address}/v1/bundle").json()["tiles"]
    expected = Tiles(tiny_world / "old.tif")
    west, south, east, north = expected.bounds_lonlat
    zoom = tiles["max_zoom"] - 1
    x = int(((west + east) / 2 + 180) / 360 * 2**zoom)
    y = int((1 - math.asinh(math.tan(math.radians((south + north) / 2))) / math.pi) / 2 * 2**zoom)
    answer = httpx.get(real_address + tiles["url"].format(z=zoom, x=x, y=y))
    image = np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"), float)
    map_tile = np.asarray(Image.open(io.BytesIO(expected.png(zoom, x, y))).convert("RGBA"), float)
    assert map_tile[..., 3].min() == 255, "the tile in the middle lies on the map"
    assert np.abs(image - map_tile[..., :3]).mean() < TOLERANCE


def test_what_the_page_saves_is_what_locate_writes(real_visit: Visit, photos: list[Path]) -> None:
    real_visit.send(photos[0])
    real_visit.settled(1)
    real_visit.page.get_by_text("The answer as JSON").click()
    record = json.loads(real_visit.page.locator("#detail pre").inner_text())
    assert json.loads(saved(real_visit, "GeoJSON")) == geojson([record])
    page, command = (list(csv.reader(io.StringIO(t))) for t in (saved(real_visit, "CSV"), csv_text([record])))
    assert page[0] == command[0]
    assert [_value(cell) for cell in page[1]] == [_value(cell) for cell in command[1]]


def _value(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def test_what_is_no_photo_is_refused_and_the_others_go_on(
    real_visit: Visit, photos: list[Path], tmp_path: Path
) -> None:
    real_visit.expected.append("Failed to load resource: the server responded with a status of 422")
    (tmp_path / "notes.jpg").write_text("not a picture at all")
    real_visit.send(tmp_path / "notes.jpg", *photos[:2])
    real_visit.settled(3)
    assert real_visit.page.locator(".photo .badge.bad").count() == 1
    assert real_visit.page.locator(".callout.bad strong").inner_text()


def test_a_camera_and_an_altitude_reach_the_service(real_visit: Visit, photos: list[Path]) -> None:
    page = real_visit.page
    page.locator("#settings summary").click()
    page.get_by_label("Which camera took the photos?").select_option("other")
    page.get_by_label("Camera", exact=True).fill("1024x768@700")
    page.get_by_label("Altitude above ground, if you know it").fill("140")
    real_visit.send(photos[0])
    real_visit.settled(1)
    page.get_by_text("it was given").wait_for()
    page.get_by_text("The answer as JSON").click()
    answer = json.loads(page.locator("#detail pre").inner_text())
    assert answer["altitude_m"] / answer["gsd_m"] == pytest.approx(700), "the camera's focal length in pixels"
