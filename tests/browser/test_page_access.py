"""For everybody: keyboard alone, screen readers, narrow windows, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Opener, Visit

#: What has a name for a screen reader: its text, its label, or what it says about itself.
UNLABELLED = """() => {
  const label = e => e.innerText?.trim() || e.getAttribute('aria-label');
  const named = e => label(e) || e.labels?.length || e.hasAttribute('alt');
  return [...document.querySelectorAll('button, input, select, meter, img, canvas, svg[role]')]
    .filter(e => e.checkVisibility() && e.getAttribute('aria-hidden') !== 'true' && !named(e))
    .map(e => e.outerHTML.slice(0, 120));
}"""

#: Words whose colour is too near their background's: less than 4.5 to 1 (WCAG AA).
LOW_CONTRAST = """() => {
  const pen = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = text => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return [255, 255, 255];
  };
  const ratio = e => {
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const words = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  return [...document.querySelectorAll('body *')]
    .filter(e => e.checkVisibility() && !e.closest('.map, svg, .unseen, .skip') && words(e) && ratio(e) < 4.5)
    .map(e => `${e.className || e.tagName}: ${ratio(e).toFixed(2)} ${e.innerText.slice(0, 30)}`);
}"""


def tab_to(visit: Visit, test: str, *, most: int = 60) -> None:
    """Press Tab until the focus is on the wanted element, as a person without a mouse would."""
    for _ in range(most):
        visit.page.keyboard.press("Tab")
        if visit.page.evaluate(f"document.activeElement.matches({test!r})"):
            return
    pytest.fail(f"{test} cannot be reached with the Tab key")


def focused_text(visit: Visit) -> str:
    return visit.page.evaluate("document.activeElement.innerText")


def test_everything_can_be_done_with_the_keyboard(visit: Visit, photos: list[Path]) -> None:
    page = visit.page
    # Listened for from the start: on a busy machine the key would be faster than a late listener.
    page.on("filechooser", lambda chooser: chooser.set_files(photos[:3]))
    tab_to(visit, "#drop button")
    page.keyboard.press("Enter")
    visit.settled(3)
    tab_to(visit, ".photo")
    page.keyboard.press("ArrowDown")
    assert "000001.jpg" in focused_text(visit)
    page.wait_for_selector("#detail h2:text('000001.jpg')")
    tab_to(visit, ".candidate")
    page.keyboard.press("Tab")
    page.wait_for_selector("img[data-reference='11']")
    page.keyboard.press("Home")
    tab_to(visit, "#opacity")
    page.keyboard.press("Home")
    assert page.locator("#opacity").input_value() == "0"
    tab_to(visit, "#time")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#detail h2:text('000002.jpg')")


def test_screen_readers_hear_the_answer_and_every_control_has_a_name(
    visit: Visit, photos: list[Path]
) -> None:
    visit.send(*photos[:2])
    visit.settled(2)
    assert "found, 1" in visit.page.locator("[role=status]").inner_text()
    visit.page.locator("#settings summary").click()
    visit.page.wait_for_selector(".picture img")
    assert visit.page.evaluate(UNLABELLED) == []
    assert visit.page.locator(".photo").first.get_attribute("aria-current") == "true"


def test_fits_a_narrow_window(opener: Opener, address: str, photos: list[Path]) -> None:
    visit = opener(address, width=360, height=740).open()
    visit.send(*photos[:2])
    visit.settled(2)
    visit.page.locator("#settings summary").click()
    visit.idle()
    assert visit.page.evaluate("document.documentElement.scrollWidth") == 360
    outside = """() => [...document.querySelectorAll('.side *, .detail *, .head *, .panel')]
      .filter(e => e.offsetParent !== null && !e.closest('.unseen, pre, svg'))
      .filter(e => { const b = e.getBoundingClientRect(); return b.right > 360.5 || b.left < -0.5; })
      .map(e => e.outerHTML.slice(0, 100))"""
    assert visit.page.evaluate(outside) == []
    assert visit.page.locator(".map").bounding_box()["height"] > 200


def test_the_list_of_a_narrow_window_follows_the_track(
    opener: Opener, address: str, photos: list[Path]
) -> None:
    """The chosen photo is visible in its list, and the page does not scroll by itself."""
    visit = opener(address, width=360, height=740).open()
    visit.send(*photos)
    visit.settled(len(photos))
    visit.page.evaluate("scrollTo(0, 0)")
    visit.page.locator("#time").fill(str(len(photos) - 1))
    visit.page.wait_for_selector(".photo[aria-current=true]:has-text('000005.jpg')")
    in_view = """() => {
      const [row, list] = ['.photo[aria-current=true]', '.list']
        .map(name => document.querySelector(name).getBoundingClientRect());
      return [row.top >= list.top - 1 && row.bottom <= list.bottom + 1, scrollY];
    }"""
    assert visit.page.evaluate(in_view) == [True, 0]


def test_colours_follow_the_system_until_one_chooses_and_words_stand_out_in_all(
    opener: Opener, address: str, photos: list[Path]
) -> None:
    visit = opener(address, color_scheme="dark").open()
    visit.send(photos[0])
    visit.settled(1)
    visit.page.locator("#settings summary").click()
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = visit.page.evaluate(colour)
    assert visit.page.evaluate(LOW_CONTRAST) == []
    visit.page.get_by_role("button", name="Colours: system").click()
    assert visit.page.evaluate(colour) != dark
    assert visit.page.evaluate(LOW_CONTRAST) == []
    visit.page.get_by_role("button", name="Colours: light").click()
    assert visit.page.evaluate(colour) == dark
    visit.page.reload()
    visit.page.get_by_role("button", name="Colours: dark").wait_for()
