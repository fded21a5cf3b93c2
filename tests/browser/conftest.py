"""The page in a real browser: Debian's Chromium, driven by Playwright, against a stand-in of the service.

What every visit is held to, besides its own test: no error on the console, no breach of the content policy,
no request to anywhere but the service.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="no service")

from nadirfix.photo_list import PhotoRecord, read_photo_list
from tests.browser.fake_service import FakeService, running
from tests.browser.tiles import Tiles

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")

PAGE = Path(__file__).parents[2] / "src" / "nadirfix" / "serve" / "page"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: Software rendering for the map, nothing in the background, and no name but this machine's can be looked up.
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
#: Breaches of the content policy say so on the console only in words; this says so in a fixed one.
WATCH = """addEventListener('securitypolicyviolation',
  e => console.error('POLICY', e.violatedDirective, e.blockedURI))"""


@dataclass
class Visit:
    """A page that is open, and what went wrong while it was."""

    page: playwright.Page
    url: str
    problems: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)  # beginnings of what a test provokes

    def __post_init__(self) -> None:
        self.page.on("console", lambda m: self._note(m.text, m.type in {"error", "warning"}))
        self.page.on("pageerror", lambda error: self._note(f"uncaught: {error}", True))
        self.page.on("request", lambda r: self._note(f"left: {r.url}", not self._ours(r.url)))

    def _ours(self, url: str) -> bool:
        return url.startswith((self.url + "/", "blob:" + self.url + "/", "data:image/"))

    def _note(self, text: str, bad: bool) -> None:
        if bad and not text.startswith(tuple(self.expected)):
            self.problems.append(text)

    def open(self) -> Visit:
        self.page.goto(self.url)
        self.idle()
        return self

    def idle(self) -> None:
        """Wait until the map neither moves nor loads."""
        self.page.wait_for_selector("#map[data-state=idle]")

    def send(self, *photos: Path, chooser: str = "#choose") -> None:
        self.page.set_input_files(chooser, list(photos))

    def count(self, selector: str, count: int) -> None:
        """Wait until there are so many of these."""
        playwright.expect(self.page.locator(selector)).to_have_count(count, timeout=30_000)

    def settled(self, count: int) -> None:
        """Wait until so many photos are listed and none is on its way."""
        self.count(".photo", count)
        self.count(".photo .badge.wait", 0)


def miss(what: str) -> None:
    """Skip what cannot be tried here; where everything should be there, that is a failure."""
    if os.environ.get("NADIRFIX_BROWSER") == "required":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def page_files() -> Path:
    if not (PAGE / "index.html").is_file():
        miss("the page is not built: make page")
    return PAGE


@pytest.fixture(scope="session")
def browser(page_files: Path) -> Iterator[playwright.Browser]:
    if CHROMIUM is None:
        miss("no chromium: apt install chromium")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def truths(tiny_photos: Path) -> list[PhotoRecord]:
    return read_photo_list(tiny_photos / "manifest.csv")


@pytest.fixture
def photos(tiny_photos: Path) -> list[Path]:
    return sorted((tiny_photos / "photos").glob("*.jpg"))


@pytest.fixture(scope="session")
def tiles(tiny_world: Path) -> Tiles:
    return Tiles(tiny_world / "old.tif")


@pytest.fixture
def service(page_files: Path, tiles: Tiles, truths: list[PhotoRecord]) -> FakeService:
    return FakeService(page=page_files, tiles=tiles, rows=truths)


#: Opens a window of a size on an address.
Opener = Callable[..., Visit]


@pytest.fixture
def opener(browser: playwright.Browser) -> Iterator[Opener]:
    visits: list[Visit] = []

    def open_window(url: str, *, width: int = 1000, height: int = 600, **settings: object) -> Visit:
        size = {"width": width, "height": height}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **settings)
        context.set_default_timeout(30_000)
        context.add_init_script(WATCH)
        visits.append(Visit(context.new_page(), url))
        return visits[-1]

    yield open_window
    problems = [problem for visit in visits for problem in visit.problems]
    for visit in visits:
        visit.page.context.close()
    assert not problems


@pytest.fixture
def address(service: FakeService) -> Iterator[str]:
    with running(service) as url:
        yield url


@pytest.fixture
def visit(opener: Opener, address: str) -> Visit:
    """The page, open on the stand-in."""
    return opener(address).open()
