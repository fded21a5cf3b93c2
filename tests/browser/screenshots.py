"""Pictures of the page for the docs: ``python -m tests.browser.screenshots WORLD FLIGHT OUT``.

WORLD is what ``nadirfix world`` made, FLIGHT what ``nadirfix simulate WORLD/new.tif`` made of it. Answers are
the stand-in's, so that the pictures show the page and not a network's luck.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from nadirfix.manifest import read_manifest
from tests.browser.conftest import ARGUMENTS, CHROMIUM, PAGE
from tests.browser.fake_service import FakeService, running
from tests.browser.tiles import Tiles

QUALITY = 64


@dataclass(frozen=True)
class Shot:
    """One picture: what the window is like, which photo is looked at, how much of the map it covers."""

    name: str
    size: tuple[int, int]
    scheme: str
    photo: int
    opacity: int


SHOTS = [
    Shot("page", (1280, 800), "light", 3, 90),
    Shot("page-dark", (390, 844), "dark", 5, 90),
]


def main() -> None:
    world, flight, out = map(Path, sys.argv[1:])
    rows = read_manifest(flight / "manifest.csv")
    service = FakeService(page=PAGE, tiles=Tiles(world / "old.tif"), rows=rows)
    with running(service) as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for shot in SHOTS:
            take(browser, url, flight, shot, out)
        browser.close()


def take(browser: Browser, url: str, flight: Path, shot: Shot, out: Path) -> None:
    size = {"width": shot.size[0], "height": shot.size[1]}
    page = browser.new_page(viewport=size, color_scheme=shot.scheme, reduced_motion="reduce")
    page.goto(url)
    page.wait_for_selector("#map[data-state=idle]")
    send(page, flight)
    page.locator(".photo").nth(shot.photo).click()
    page.locator("#opacity").fill(str(shot.opacity))
    page.locator("img[data-reference]").wait_for()
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(1500)  # a list's pictures come in one by one
    page.wait_for_selector("#map[data-state=idle]")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.save(out / f"{shot.name}.jpg", quality=QUALITY, optimize=True)


def send(page: Page, flight: Path) -> None:
    photos = sorted((flight / "photos").glob("*.jpg"))
    page.set_input_files("#choose", [*photos, flight / "manifest.csv"])
    page.locator(".photo .badge.good").nth(len(photos) - 1).wait_for()
    page.locator(".photo img").nth(len(photos) - 1).wait_for()


if __name__ == "__main__":
    main()
