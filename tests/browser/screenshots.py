"""Pictures of the page for the docs: ``python -m tests.browser.screenshots WORK OUT``.

WORK is a folder for a procedural world, a flight over its newer date and a bundle of its older one, made
where they are missing. The answers are the service's own.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.offline import build_bundle
from nadirfix.options.recipe import RECIPES
from nadirfix.serve.options import ServeOptions
from nadirfix.types import Point, View
from nadirfix.world.files import write_world
from nadirfix.world.photos import simulate_photos
from tests.browser.conftest import ARGUMENTS, CHROMIUM, PAGE
from tests.serving import running

QUALITY = 72
CAMERA = Camera(2048, 1536, 1200.0, 1200.0)
#: There and back over the middle of the map: metres east and north of it, and where the photo's top points.
LEGS = [(-190.0 + 95.0 * i, -75.0, 90.0) for i in range(5)] + [
    (190.0 - 95.0 * i, 75.0, 270.0) for i in range(5)
]
ALTITUDE_M = 180.0


@dataclass(frozen=True)
class Screenshot:
    """One screenshot: window size and colours, which photo is chosen, how opaque it is over the map."""

    name: str
    size: tuple[int, int]
    scheme: str
    photo: int
    opacity: int


SCREENSHOTS = [
    Screenshot("page", (1280, 800), "light", 3, 85),
    Screenshot("page-wide-dark", (1280, 800), "dark", 7, 50),
    Screenshot("page-dark", (390, 844), "dark", 5, 85),
    Screenshot("page-narrow", (360, 740), "light", 1, 85),
]


def main() -> None:
    work, out = map(Path, sys.argv[1:])
    prepare(work)
    out.mkdir(parents=True, exist_ok=True)
    with (
        running(Bundle.load(work / "place.nadir"), ServeOptions(), page=PAGE) as service,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for screenshot in SCREENSHOTS:
            take(browser, service.url, work / "flight", screenshot, out)
        browser.close()


def prepare(work: Path) -> None:
    if not (work / "world").exists():
        write_world(work / "world", size_m=1000.0, gsd_m=0.5, seed=5)
    if not (work / "flight").exists():
        with GeoMap.open(work / "world" / "new.tif") as ground:
            simulate_photos(ground, work / "flight", camera=CAMERA, views=flight_views(ground.center))
    if not (work / "place.nadir").exists():
        build_bundle(work / "world" / "old.tif", work / "place.nadir", recipe=RECIPES["tiny"], train=False)


def flight_views(middle: Point) -> list[View]:
    return [View(middle.moved(east_m, north_m), ALTITUDE_M, turn) for east_m, north_m, turn in LEGS]


def take(browser: Browser, url: str, flight: Path, screenshot: Screenshot, out: Path) -> None:
    size = {"width": screenshot.size[0], "height": screenshot.size[1]}
    page = browser.new_page(viewport=size, color_scheme=screenshot.scheme, reduced_motion="reduce")
    page.goto(url)
    page.wait_for_selector("#map[data-state=idle]")
    send(page, flight)
    page.locator("#time").fill(str(screenshot.photo))  # a click in the list would scroll a narrow page
    page.locator("#opacity").fill(str(screenshot.opacity))
    page.locator("img[data-reference]").wait_for()
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(1500)  # a list's pictures come in one by one
    page.wait_for_selector("#map[data-state=idle]")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.save(out / f"{screenshot.name}.jpg", quality=QUALITY, optimize=True)


def send(page: Page, flight: Path) -> None:
    photos = sorted((flight / "photos").glob("*.jpg"))
    page.set_input_files("#choose", [*photos, flight / "manifest.csv"])
    page.locator(".photo").nth(len(photos) - 1).wait_for()
    page.locator(".photo .badge.wait").first.wait_for(state="detached", timeout=120_000)
    page.locator(".photo img").nth(len(photos) - 1).wait_for()


if __name__ == "__main__":
    main()
