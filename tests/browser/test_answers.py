"""What the page shows for a photo: the right place, the right ground, the reasons."""

from __future__ import annotations

import base64
import io
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from nadirfix.camera import Camera
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Point
from tests.browser.conftest import Visit
from tests.browser.fake_answers import CAMERA, OFF_M
from tests.browser.fake_service import FakeService
from tests.photos import corners

DROP = """([name, text]) => {
  const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], name, {type: 'image/jpeg'}));
  document.body.dispatchEvent(new DragEvent('dragenter', {dataTransfer: data, bubbles: true}));
  document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
}"""
#: Red, green, blue and white quarters of `corners`, as signs of right and up.
QUARTERS = {(255, 0, 0): (-1, 1), (0, 255, 0): (1, 1), (0, 0, 255): (-1, -1), (255, 255, 255): (1, -1)}


def drop(visit: Visit, name: str, data: bytes) -> None:
    visit.page.evaluate(DROP, [name, base64.b64encode(data).decode()])


def position_of(mark: object) -> Point:
    return Point.from_lonlat(float(mark.get_attribute("data-lon")), float(mark.get_attribute("data-lat")))


def on_screen(mark: object) -> tuple[float, float]:
    box = mark.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def in_frame(point: Point, row: PhotoRecord, camera: Camera) -> bool:
    """Whether a place lies on the ground that the photo shows."""
    width_m, height_m = camera.footprint_m(row.altitude_m or 0.0)
    east_m, north_m = point.east_m - row.point.east_m, point.north_m - row.point.north_m
    turn = math.radians(row.heading_deg or 0.0)
    right_m = east_m * math.cos(turn) - north_m * math.sin(turn)
    up_m = east_m * math.sin(turn) + north_m * math.cos(turn)
    return abs(right_m) < width_m / 2 and abs(up_m) < height_m / 2


def screenshot(visit: Visit) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB"), np.int16)


def test_a_dropped_photo_lands_on_its_ground(
    visit: Visit, photos: list[Path], truths: list[PhotoRecord]
) -> None:
    drop(visit, "000002.jpg", photos[2].read_bytes())
    mark = visit.page.wait_for_selector(".fix-mark")
    visit.idle()
    position = position_of(mark)
    assert in_frame(position, truths[2], CAMERA)
    assert position.distance_m(truths[2].point) == pytest.approx(math.hypot(*OFF_M), abs=0.01)
    stage = visit.page.locator(".stage").bounding_box()
    assert on_screen(mark) == pytest.approx(
        (stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2), abs=3
    ), "the map did not fly there"
    assert visit.page.locator(".candidate").count() == 10
    assert visit.page.locator("#veil").is_hidden()


def test_the_photo_is_laid_over_its_footprint_the_right_way_round(
    visit: Visit, truths: list[PhotoRecord], tmp_path: Path
) -> None:
    Image.fromarray(corners(1024, 768)).save(tmp_path / "000001.png")
    visit.send(tmp_path / "000001.png")
    visit.page.wait_for_selector(".fix-mark")
    visit.page.locator("#opacity").fill("100")
    visit.idle()
    fix = visit.page.query_selector(".fix-mark")
    far = visit.page.locator(".candidate-mark").last
    middle, other = on_screen(fix), on_screen(far)
    px_per_m = math.dist(middle, other) / position_of(fix).distance_m(position_of(far))
    opaque = screenshot(visit)
    visit.page.locator("#opacity").fill("0")
    visit.idle()
    transparent = screenshot(visit)
    for colour, (right, up) in QUARTERS.items():
        x, y = quarter_middle(middle, px_per_m, truths[1], right, up)
        assert np.abs(opaque[y, x] - colour).max() < 12, f"{colour} is not where it should be"
        assert np.abs(transparent[y, x] - colour).max() > 40, "the photo is still there at opacity 0"


def quarter_middle(
    middle: tuple[float, float], px_per_m: float, row: PhotoRecord, right: int, up: int
) -> tuple[int, int]:
    """Where the middle of a quarter of the photo must be on the screen: north is up there."""
    width_m, height_m = CAMERA.footprint_m(row.altitude_m or 0.0)
    turn = math.radians(row.heading_deg or 0.0)
    x_m, y_m = right * width_m * 0.3, up * height_m * 0.3
    east_m, north_m = x_m * math.cos(turn) + y_m * math.sin(turn), y_m * math.cos(turn) - x_m * math.sin(turn)
    return round(middle[0] + east_m * px_per_m), round(middle[1] - north_m * px_per_m)


def test_the_answer_comes_with_its_reasons(
    visit: Visit, photos: list[Path], truths: list[PhotoRecord]
) -> None:
    visit.send(photos[0])
    visit.page.wait_for_selector(".picture canvas")
    visit.page.wait_for_selector("img[data-reference='0']")
    visit.page.locator(".candidate").nth(3).hover()
    image = visit.page.wait_for_selector("img[data-reference='3']")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 256
    assert visit.page.locator(".candidate-mark.lit").inner_text() == "4"
    detail = visit.page.locator("#detail")
    text = detail.inner_text()
    assert f"{round(truths[0].altitude_m or 0)} m" in text
    assert "93 %" in text and "within 14 m" in text and "total 141 ms" in text
    assert detail.locator(".chart rect").count() == 12
    assert "it confirms, 164 points agree" in text and "1.3° to 45° NE" in text
    assert detail.locator(".hypotheses li").count() == 2


def saved(visit: Visit, label: str) -> str:
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name=f"Save as {label}").click()
    return Path(download.value.path()).read_text(encoding="utf-8")


def test_no_fix_says_why_truth_says_how_far_off_and_all_can_be_saved(
    visit: Visit, service: FakeService, photos: list[Path], tiny_photos: Path
) -> None:
    service.no_fix = frozenset({photos[0].name})
    visit.send(*photos[:3], tiny_photos / "manifest.csv")
    visit.settled(3)
    assert "two places fit the photo equally well" in visit.page.locator("#detail").inner_text()
    assert (visit.page.locator(".fix-mark").count(), visit.page.locator(".candidate-mark").count()) == (0, 10)
    count = visit.page.locator("#count").inner_text()
    assert count == "2 of 3 found · 1 no fix · median 3.6 m off the truth, worst 3.6 m"
    features = json.loads(saved(visit, "GeoJSON"))["features"]
    roles = [f["properties"]["role"] for f in features]
    assert (roles.count("fix"), roles.count("footprint"), roles.count("candidate")) == (3, 2, 30)
    assert features[0]["geometry"] is None, "no fix has no place"
    lines = saved(visit, "CSV").splitlines()
    assert len(lines) == 4 and lines[0].startswith("photo,status,lon,lat") and lines[0].endswith("off_m")
    kml = ElementTree.fromstring(saved(visit, "KML"))
    assert len(kml.findall(".//{http://www.opengis.net/kml/2.2}Folder")) == 3
