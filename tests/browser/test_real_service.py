"""The page and the service together: what one asks for, the other gives."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.conftest import Opener, Visit

app = pytest.importorskip("nadirfix.serve.app", reason="no service in this checkout")


@pytest.fixture(scope="module")
def real_address(page_files: Path, tiny_bundle: Path) -> Iterator[str]:
    """The service itself, on a free port, with a bundle whose networks are untrained."""
    from nadirfix.bundle import Bundle
    from nadirfix.serve.options import ServeOptions
    from nadirfix.serve.run import listen, make_server

    listener = listen(ServeOptions(port=0))
    options = replace(ServeOptions(), port=listener.getsockname()[1])
    server = make_server(app.create_app(Bundle.load(tiny_bundle), options, page=page_files), options)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:  # it listens when the networks are loaded
        assert thread.is_alive(), "the service did not start"
        time.sleep(0.05)
    yield f"http://127.0.0.1:{options.port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def real_visit(opener: Opener, real_address: str) -> Visit:
    return opener(real_address).open()


def test_a_photo_is_answered_with_its_reasons(real_visit: Visit, photos: list[Path]) -> None:
    real_visit.send(photos[0])
    real_visit.settled(1)
    assert real_visit.page.locator(".photo .badge").inner_text() in {"Fix", "No fix"}
    real_visit.page.wait_for_selector("#detail .chart")
    assert real_visit.page.locator(".candidate").count() > 0
    shown = real_visit.page.wait_for_selector("img[data-reference]")
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    real_visit.page.wait_for_selector(".picture canvas")


def test_the_map_is_there(real_visit: Visit) -> None:
    """Its middle shows ground: many colours, not the page's background."""
    middle = real_visit.page.locator(".map canvas").screenshot()
    assert len(middle) > 100_000, "a picture of nothing is small"


def test_what_is_no_photo_is_refused_and_the_others_go_on(
    real_visit: Visit, photos: list[Path], tmp_path: Path
) -> None:
    real_visit.expected.append("Failed to load resource: the server responded with a status of 422")
    (tmp_path / "notes.jpg").write_text("not a picture at all")
    real_visit.send(tmp_path / "notes.jpg", *photos)
    real_visit.settled(1 + len(photos))
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
