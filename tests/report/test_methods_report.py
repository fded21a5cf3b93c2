"""The page of a comparison: works offline, says what the table says, and shows where methods disagree."""

import numpy as np
import pytest
from PIL import Image

from nadirfix.evaluation.study.method_figures import beside_first, figures_of
from nadirfix.image.crop import Canonical
from nadirfix.report.disagreements import chosen_disagreements
from nadirfix.report.methods import MethodsContent, method_cells, methods_html
from tests.records import failed, record
from tests.report.test_report import CAMERA, NASTY, ground, parsed


def answers(count: int = 12) -> dict[str, list]:
    """One method that is nearly always right, one that never answers a third, one that is always wrong."""
    names = [NASTY if i == 0 else f"photos/{i:06d}.jpg" for i in range(count)]
    good = [record((4.0, 3.0), photo=name) for name in names]
    some = [record(None if i % 3 == 0 else (30.0, 0.0), photo=name) for i, name in enumerate(names)]
    wrong = [record((0.0, 400.0), candidates_m=[(0.0, 400.0)], photo=name) for name in names]
    wrong[1] = failed(photo=names[1])
    return {"good": good, "some": some, "wrong": wrong}


def content(folder, found) -> MethodsContent:
    photos = {}
    for i, one in enumerate(next(iter(found.values()))):
        path = folder / f"{i}.jpg"
        Image.fromarray(np.full((192, 256, 3), 100 + i, np.uint8)).save(path)
        photos[one.photo] = path
    first = next(iter(found.values()))
    rows = [
        {
            "name": name, "title": f"{name} <b>", "status": "nothing learned", "paper": "", "checkpoint": "",
            "measured": True, "size_mb": 1.25, **figures_of(records),
            "beside_first": beside_first(first, records),
        }
        for name, records in found.items()
    ]  # fmt: skip
    waiting = {
        "name": "salad",
        "title": "SALAD",
        "paper": "Izquierdo, Civera",
        "status": "awaiting a checkpoint",
        "checkpoint": "dino_salad.ckpt",
    }
    table = {
        "photos": len(first), "references": 640, "altitude": "estimated", "maps": ["old.tif"],
        "methods": rows, "other_methods": [waiting],
    }  # fmt: skip
    return MethodsContent(
        table=table, answers=found, texture=ground(), canonical=Canonical(CAMERA, 125.0), photos=photos
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    return methods_html(content(tmp_path_factory.mktemp("page"), answers()))


def test_nothing_is_fetched_or_run(page):
    links = parsed(page)
    assert [link for link in links.found if not link.startswith("data:image/")] == []
    assert "script" not in links.tags and links.without_alt == []
    assert "default-src 'none'" in page and "&lt;script&gt;" in page


def test_figures_of_three_kinds_of_method():
    found = answers()
    good, some, wrong = (figures_of(records) for records in found.values())
    assert (good["s_loc"]["5"], some["s_loc"]["100"], wrong["s_loc"]["100"]) == pytest.approx(
        (100, 200 / 3, 0)
    )
    assert (some["answered"], wrong["errors"], wrong["wrong_fix"]) == (8, 1, 11)
    assert some["intervals"]["s_loc_100"][0] < 200 / 3 < some["intervals"]["s_loc_100"][1]
    split = beside_first(found["good"], found["some"])["s_loc_100"]
    assert (split["only_first"], split["only_this"]) == (4, 0)
    assert split["p"] == pytest.approx(2 * 0.5**4)
    assert split["points"] == pytest.approx(-100 / 3)


def test_the_page_says_what_the_table_says(page):
    for words in (
        "66.7",
        "0.125",
        "salad",
        "awaiting a checkpoint",
        "dino_salad.ckpt",
        "could not be located",
    ):
        assert words in page
    assert "Most right first places (R@1): good, 100.0 %" in page


def test_methods_that_are_equally_good_are_all_named(tmp_path):
    found = {"one": answers(2)["good"], "two": answers(2)["good"]}
    assert "Most answers within 100 m: one, two, 100.0 %" in methods_html(content(tmp_path, found))


def test_given_altitudes_are_no_achievement():
    row = {"name": "a", "size_mb": 12.3, **figures_of(answers()["good"])}
    assert method_cells(row, altitude="estimated")[9] == "25.0 m"
    assert method_cells(row, altitude="true")[9] == "given"


def test_every_way_of_disagreeing_is_shown_before_any_comes_twice():
    found = answers(9)
    chosen = chosen_disagreements(found, count=3)
    assert chosen[:2] == [0, 1]  # only the first is right; the first two are
    assert chosen[2] == 2  # now one comes twice
    agreeing = {"a": found["good"], "b": found["good"]}
    assert chosen_disagreements(agreeing) == []


def test_a_single_method_is_a_page_as_well(tmp_path):
    found = {"good": answers(2)["good"]}
    assert "Against" not in methods_html(content(tmp_path, found))
