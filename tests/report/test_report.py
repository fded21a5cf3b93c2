"""The report is one page that works offline, says what the figures say, and cannot be broken by a name."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nadirfix.camera import Camera
from nadirfix.evaluation.metrics import compared, metrics
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.report.content import BundleCard, Content, Query
from nadirfix.report.page import report_html, write_report
from nadirfix.report.pictures import choose
from nadirfix.report.plots import altitude_confusion
from nadirfix.types import Point
from tests.records import EPSG, TRUTH, failed, record

CAMERA = Camera(256, 192, 150.0, 150.0)
NASTY = "<script>\"&'.jpg"
SIDE_M = 1500


def ground(seed: int = 0) -> Texture:
    """Ground with something to see on it, two metres a pixel, the truth in its middle."""
    cells = np.random.default_rng(seed).integers(30, 226, (SIDE_M // 50, SIDE_M // 50, 3), dtype=np.uint8)
    pixels = np.repeat(np.repeat(cells, 25, axis=0), 25, axis=1)
    west, north = TRUTH.east_m - SIDE_M / 2, TRUTH.north_m + SIDE_M / 2
    return Texture.from_array(pixels, None, affine=(2.0, 0.0, west, 0.0, -2.0, north), epsg=EPSG)


def made_up(folder: Path, count: int = 30, seed: int = 0) -> Content:
    rng = np.random.default_rng(seed)
    texture, photos, records = ground(), {}, []
    for i in range(count):
        name = NASTY if i == 0 else f"photos/{i:06d}.jpg"
        path = folder / f"{i}.jpg"
        Image.fromarray(rng.integers(0, 256, (192, 256, 3), dtype=np.uint8)).save(path)
        photos[name] = Query(path=path, camera=CAMERA)
        records.append(_record(rng, name))
    records[1] = failed(photo="photos/000001.jpg")
    columns = {"estimated": records, "whole": records[::-1], "true": records}
    summary = metrics(records, peak_rss_mb=321.0) | {"comparison": compared(columns)}
    card = BundleCard(
        name="made-up.nadir",
        texture=texture,
        canonical=Canonical(CAMERA, 125.0),
        edges_m=list(range(100, 701, 50)),
        facts=[("bundle", "made-up.nadir"), ("map", "a test")],
    )
    return Content(title="Made up", columns=columns, metrics=summary, bundle=card, queries=photos)


def _record(rng: np.random.Generator, name: str):
    truth = Point(*(c + rng.uniform(-500, 500) for c in (TRUTH.east_m, TRUTH.north_m)), EPSG)
    offset = tuple(rng.normal(0, 1, 2) * 10 ** rng.uniform(0, 2.7))
    found = [tuple(o) for o in rng.normal(0, 80, (10, 2))]
    altitude_m = rng.uniform(100, 700)
    return record(
        offset, truth=truth, candidates_m=found, altitude_m=altitude_m,
        estimate_m=altitude_m + rng.normal(0, 40), photo=name, total_ms=rng.uniform(20, 80),
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    return report_html(made_up(tmp_path_factory.mktemp("report")))


class Links(HTMLParser):
    """Everything a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []
        self.without_alt: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.found += [given[k] for k in ("src", "href", "xlink:href", "data", "action") if given.get(k)]
        if tag == "img" and not given.get("alt"):
            self.without_alt.append(tag)


def parsed(page: str) -> Links:
    links = Links()
    links.feed(page)
    return links


def test_nothing_is_fetched(page):
    links = parsed(page)
    assert [link for link in links.found if not link.startswith(("data:image/", "#"))] == []
    assert not re.search(r"url\((?!#)|@import", page)
    assert "default-src 'none'" in page


def test_no_scripts_even_from_names(page):
    assert "script" not in parsed(page).tags
    assert "&lt;script&gt;" in page


def test_every_picture_has_a_description(page):
    links = parsed(page)
    assert links.without_alt == []
    assert page.count('role="img"') == 5  # the map and four plots


def test_figures_are_those_of_the_metrics(tmp_path):
    content = made_up(tmp_path)
    page = report_html(content)
    assert f"{content.metrics['s_loc']['100']:.1f} %" in page
    assert f"{content.metrics['recall']['r1']:.1f} %" in page
    assert "without altitude (whole photo)" in page


def test_photos_without_an_answer_are_listed(page):
    assert "photo.unreadable" in page


def test_size_is_bounded(page):
    assert len(page) < 3_000_000


def test_same_answers_same_page(tmp_path):
    assert report_html(made_up(tmp_path, count=6)) == report_html(made_up(tmp_path, count=6))


def test_names_inside_the_page_are_unique(page):
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_all_failed_is_still_a_report(tmp_path):
    records = [failed()]
    columns = {"estimated": records, "whole": records}
    summary = metrics(records) | {"comparison": compared(columns)}
    few = made_up(tmp_path, count=2)
    content = Content(title="None", columns=columns, metrics=summary, bundle=few.bundle, queries={})
    write_report(tmp_path / "report.html", content)
    assert "1 got no answer" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_photo_that_is_gone_does_not_stop_the_report(tmp_path):
    content = made_up(tmp_path, count=5)
    for path in tmp_path.glob("*.jpg"):
        path.unlink()
    assert "the photo is not there" in report_html(content)


def test_panels_show_each_photo_once(tmp_path):
    records = made_up(tmp_path).records
    photos = [r.photo for group in choose(records).values() for r in group]
    assert len(photos) == len(set(photos)) == 12


@pytest.mark.parametrize(("truth_m", "found_m"), [(150.0, 225.0), (90.0, 125.0), (699.9, 800.0)])
def test_confusion_counts_photos_in_their_class(truth_m, found_m):
    drawn = altitude_confusion([record(altitude_m=truth_m, estimate_m=found_m)], list(range(100, 701, 50)))
    assert len(re.findall(r">1</text>", drawn)) == 1
