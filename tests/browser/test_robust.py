"""What goes wrong does not stop the page: bad files, many files, a busy service, a token."""

from __future__ import annotations

from pathlib import Path

from PIL import ExifTags, Image

from tests.browser.conftest import Opener, Visit
from tests.browser.fake_service import FakeService
from tests.photos import exif


def small_photo(path: Path, *, taken: str = "") -> Path:
    tags = exif(photo={ExifTags.Base.DateTimeOriginal: taken}) if taken else exif()
    Image.new("RGB", (320, 240), (90, 140, 70)).save(path, exif=tags)
    return path


def test_a_text_file_by_the_name_of_a_photo_is_refused_readably(
    visit: Visit, photos: list[Path], tmp_path: Path
) -> None:
    visit.expected.append("Failed to load resource: the server responded with a status of 422")
    (tmp_path / "notes.jpg").write_text("not a picture at all")
    visit.send(tmp_path / "notes.jpg", photos[0])
    visit.settled(2)
    assert "notes.jpg is not a picture" in visit.page.locator(".callout.bad").inner_text()
    assert visit.page.locator(".photo .badge.good").count() == 1, "the next photo was not located"


def test_fifty_photos_are_all_listed_though_the_service_is_busy(
    opener: Opener, address: str, service: FakeService, tmp_path: Path
) -> None:
    visit = opener(address, width=500, height=500).open()  # a small map is quickly drawn again and again
    visit.expected.append("Failed to load resource: the server responded with a status of 429")
    service.busy_for = 4
    names = [f"{i:06d}.jpg" for i in range(50)]
    visit.send(*[small_photo(tmp_path / name) for name in names])
    visit.page.get_by_text("Waiting for the service").first.wait_for()
    visit.settled(50)
    assert visit.page.locator(".photo .name").all_inner_texts() == names
    assert visit.page.locator("#count").inner_text() == "50 of 50 found"
    visit.count(".photo img", 50)


def test_other_files_are_left_out_and_said_and_a_photo_that_cannot_be_shown_is_placed(
    visit: Visit, tmp_path: Path
) -> None:
    (tmp_path / "readme.txt").write_text("hello")
    (tmp_path / "list.csv").write_text("a,b\n1,2\n")
    visit.send(tmp_path / "readme.txt")
    visit.page.locator("#notice").get_by_text("no photos among these files").wait_for()
    visit.send(tmp_path / "list.csv")
    visit.page.locator("#notice").get_by_text("no column “photo”").wait_for()
    visit.send(small_photo(tmp_path / "000000.tif"))
    visit.page.wait_for_selector(".fix-mark")
    visit.page.get_by_text("The browser cannot show this kind of file").wait_for()


def test_a_token_is_asked_for_and_kept_in_memory_only(
    opener: Opener, address: str, service: FakeService, photos: list[Path]
) -> None:
    service.token = "correct-horse-battery"
    visit = opener(address)
    visit.expected.append("Failed to load resource: the server responded with a status of 401")
    visit.page.goto(address)
    visit.page.get_by_label("Token", exact=True).last.fill("wrong")
    visit.page.get_by_role("button", name="Go on").click()
    visit.page.get_by_text("That token was not accepted").wait_for()
    visit.page.get_by_label("Token", exact=True).last.fill(service.token)
    visit.page.keyboard.press("Enter")
    visit.idle()
    visit.send(photos[0])
    visit.page.wait_for_selector("img[data-reference]")
    storage = visit.page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
    )
    assert service.token not in storage


def test_a_service_that_is_gone_is_said_and_the_photo_can_be_tried_again(
    visit: Visit, photos: list[Path]
) -> None:
    visit.expected.append("Failed to load resource: net::ERR_")
    visit.page.context.set_offline(True)
    visit.send(photos[0])
    visit.page.get_by_text("The service cannot be reached").first.wait_for()
    visit.page.context.set_offline(False)
    visit.page.get_by_role("button", name="Try again").click()
    visit.page.wait_for_selector(".fix-mark")


def test_a_folder_becomes_a_track_in_the_order_of_the_clock(visit: Visit, tmp_path: Path) -> None:
    folder = tmp_path / "flight"
    folder.mkdir()
    for i in range(4):  # the later the name, the earlier the time
        small_photo(folder / f"{i:06d}.jpg", taken=f"2026:05:01 12:30:{10 - i:02d}")
    visit.page.set_input_files("#choose-folder", folder)
    visit.settled(4)
    visit.count(".photo img", 4)  # tags are read just before
    slider = visit.page.locator("#time")
    slider.fill("0")
    current = visit.page.locator(".photo[aria-current=true] .name")
    assert current.inner_text() == "flight/000003.jpg"
    slider.fill("3")
    assert current.inner_text() == "flight/000000.jpg"
    assert visit.page.locator("#track output").inner_text() == "4 of 4 · 2026-05-01 12:30:10"
