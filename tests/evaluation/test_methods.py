"""Methods side by side on a small piece of ground: who finds what, killed and resumed, outside packages."""

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from nadirfix.bundle import Bundle
from nadirfix.errors import InputError, NadirfixError, WeightsError
from nadirfix.evaluation.answer_files import evaluate, read_answers
from nadirfix.evaluation.methods import registry
from nadirfix.evaluation.methods.described import DescriberMethod
from nadirfix.evaluation.methods.protocol import MethodCard
from nadirfix.evaluation.methods.registry import chosen_cards, known_methods, parsed_weights
from nadirfix.evaluation.study.methods import MethodStudy, run_methods
from nadirfix.geo.geomap import GeoMap
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.options.map import SimulateOptions
from nadirfix.photo_list import read_photo_list
from nadirfix.world.photos import simulate_photos
from tests.bundles import CAMERA, RECIPE
from tests.fixtures import once

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Keypoints by SIFT: tests need no network for that.
WITH_SIFT = dataclasses.replace(RECIPE, matcher="sift")
NAMES = ("standard", "standard-retrieval", "tile-scan", "template", "small-picture")
ENTRY_POINTS = "[nadirfix.methods]\nsmall-picture = own_method:SmallPicture\n"


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """The example as an installed package: nothing of ours knows of it."""
    site = tmp_path / "site"
    info = site / "own_method-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(EXAMPLES / "own_method.py", site)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-method\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    return info


@pytest.fixture(scope="module")
def photos(shared, ground_map) -> Path:
    """Four photos of the ground, straight from above, from 100 to 140 m."""

    def take(out: Path) -> None:
        options = SimulateOptions(count=4, altitude_min_m=100.0, altitude_max_m=140.0, seed=3)
        with GeoMap.open(ground_map) as ground:
            simulate_photos(ground, out, camera=CAMERA, options=options)

    return once(shared / "method_photos", take)


def study(ground_map: Path, *names: str, **more: object) -> MethodStudy:
    return MethodStudy(maps=[ground_map], methods=names, altitude="true", recipe=WITH_SIFT, **more)


def compared(photos: Path, one: MethodStudy, out: Path, **more: object) -> dict:
    return run_methods(read_photo_list(photos / "manifest.csv"), one, out, folder=photos, **more)


def without_times(table: dict) -> dict:
    rows = [{name: value for name, value in row.items() if name != "ms"} for row in table["methods"]]
    return {**table, "methods": rows}


@pytest.fixture
def finished(shared, photos, ground_map, package) -> Path:
    """A whole comparison, made once."""
    return once(shared / "methods", lambda out: compared(photos, study(ground_map, *NAMES), out))


def test_every_method_answers_and_is_measured(finished, photos, ground_map, package):
    table = json.loads((finished / "comparison.json").read_text())
    rows = {row["name"]: row for row in table["methods"]}
    assert tuple(rows) == NAMES
    assert {row["queries"] for row in rows.values()} == {4}
    # The map is the photos' own and the altitude is true: what matches pixels finds them within metres.
    assert rows["tile-scan"]["s_loc"]["5"] == 100
    assert rows["tile-scan"]["altitude"]["e_avg_m"] < 5
    assert rows["template"]["s_loc"]["5"] == 100
    # This ground has too few keypoints for verification, which refuses: a miss, also where it retrieves well.
    assert (rows["standard"]["answered"], rows["standard"]["recall"]["r5"]) == (0, 0.0)
    assert rows["standard-retrieval"]["answered"] == 4
    assert rows["standard"]["beside_first"]["s_loc_100"] == {
        "points": 0.0, "interval": [0.0, 0.0], "only_first": 0, "only_this": 0, "p": 1.0,
    }  # fmt: skip
    assert all(row["size_mb"] > 0 and row["ms"]["median"] > 0 for row in rows.values())
    assert rows["small-picture"]["status"] == "outside"
    listed = {row["name"]: row["status"] for row in table["other_methods"]}
    assert listed["salad"] == "awaiting a checkpoint"


def test_our_rows_are_what_locate_answers(finished, photos):
    bundle = Bundle.load(finished / "standard.nadir")
    options = LocateOptions(verify=False, whole_frame=False, weighted=False, cells=0)
    rows = read_photo_list(photos / "manifest.csv")
    answers = read_answers(finished / "methods" / "standard-retrieval" / "answers.jsonl", rows)
    for row, answer in zip(rows, answers, strict=True):
        fix = locate(row.photo, bundle=bundle, altitude_m=row.altitude_m, options=options)
        assert answer.fix.position.distance_m(fix.position) < 1e-3
        assert answer.fix.candidates.point(1).distance_m(fix.candidates.point(1)) < 1e-3


def test_its_answers_are_measured_the_same_by_anybody(finished, photos):
    table = json.loads((finished / "comparison.json").read_text())
    for row in table["methods"]:
        answers = finished / "methods" / row["name"] / "answers.jsonl"
        figures = evaluate(answers, photos)
        assert figures["s_loc"] == row["s_loc"], row["name"]
        assert figures["recall"] == row["recall"], row["name"]


def test_the_page_shows_all_of_it(finished):
    page = (finished / "report.html").read_text(encoding="utf-8")
    for name in (*NAMES, "awaiting a checkpoint", "Where they disagree", "McNemar"):
        assert name in page
    assert "<script" not in page and "default-src 'none'" in page


def test_killed_at_any_moment_and_resumed_the_table_is_the_same(
    finished, photos, ground_map, tmp_path, package
):
    """As after kill -9: one method half described, one with half a line, one not begun, no table."""
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    described, scanned = out / "methods" / "small-picture", out / "methods" / "tile-scan"
    whole = np.load(described / "descriptors.npy")
    np.save(described / "pieces" / "00000000.npy", whole[:64])
    (described / "descriptors.npy").unlink()
    (described / "answers.jsonl").unlink()
    lines = (scanned / "answers.jsonl").read_text().splitlines(keepends=True)
    (scanned / "answers.jsonl").write_text("".join(lines[:2]) + lines[2][:40])
    shutil.rmtree(out / "methods" / "template")
    (out / "comparison.json").unlink()
    again = compared(photos, study(ground_map, *NAMES), out, resume=True)
    assert np.array_equal(np.load(described / "descriptors.npy"), whole)
    assert without_times(again) == without_times(json.loads((finished / "comparison.json").read_text()))
    kept = (scanned / "answers.jsonl").read_text().splitlines(keepends=True)
    assert kept[:2] == lines[:2]  # not located again: even their times are the same


def test_other_settings_are_refused(finished, photos, ground_map, package):
    other = dataclasses.replace(study(ground_map, "template"), altitude="none")
    with pytest.raises(InputError, match="altitude changed"):
        compared(photos, other, finished, resume=True)
    with pytest.raises(NadirfixError) as caught:
        compared(photos, study(ground_map, "template"), finished)
    assert caught.value.code == "output.exists"


def test_overwrite_never_removes_what_is_not_ours(photos, ground_map, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(NadirfixError):
        compared(photos, study(ground_map, "template"), tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").exists()


def test_a_row_without_its_checkpoint_is_listed_and_skipped(finished, photos, ground_map, tmp_path, package):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    table = compared(photos, study(ground_map, "template", "mixvpr"), out, resume=True)
    measured = {row["name"]: row["measured"] for row in table["methods"]}
    assert measured == {"template": True, "mixvpr": False}
    assert "resnet50_MixVPR" in (out / "report.html").read_text()


def test_a_photo_that_cannot_be_read_is_a_miss_of_every_method(
    photos, ground_map, finished, tmp_path, package
):
    broken, out = tmp_path / "photos", tmp_path / "out"
    shutil.copytree(photos, broken)
    next((broken / "photos").iterdir()).write_bytes(b"not a photo")
    shutil.copytree(finished / "standard.nadir", out / "standard.nadir")
    (out / "settings.json").write_text((finished / "settings.json").read_text())
    table = compared(broken, study(ground_map, "template"), out, resume=True)
    assert table["methods"][0]["errors"] == 1
    assert table["methods"][0]["s_loc"]["100"] == 75


@pytest.mark.parametrize(
    ("names", "weights", "seen"),
    [
        (["nobody"], {}, "nobody"),
        (["template", "template"], {}, "template, template"),
        ([], {"template": Path("a.pth")}, "--weights for template"),
    ],
)
def test_methods_that_cannot_be_compared_are_refused(names, weights, seen):
    with pytest.raises(InputError, match=seen):
        chosen_cards(names, weights)


def test_checkpoints_are_given_by_name_and_must_be_there(tmp_path):
    with pytest.raises(InputError, match="NAME=PATH"):
        parsed_weights(["salad"])
    with pytest.raises(WeightsError) as caught:
        parsed_weights([f"salad={tmp_path / 'no.ckpt'}"])
    assert caught.value.code == "weights.missing"


def test_without_torch_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "torch" else object())
    (tmp_path / "salad.ckpt").touch()
    with pytest.raises(WeightsError, match=r"nadirfix\[train\]"):
        chosen_cards(["salad"], {"salad": tmp_path / "salad.ckpt"})


def test_without_names_all_that_can_run_are_compared(package):
    assert [card.name for card in chosen_cards([], {})][-1] == "small-picture"
    assert all(card.kind != "checkpoint" for card in chosen_cards([], {}))


def test_an_entry_point_may_not_take_our_name(package):
    (package / "entry_points.txt").write_text("[nadirfix.methods]\nstandard = own_method:SmallPicture\n")
    with pytest.raises(InputError, match="taken"):
        known_methods()


@pytest.mark.parametrize(
    ("code", "seen"), [("raise OSError('no licence')", "no licence"), ("SmallPicture = dict", "gives a dict")]
)
def test_a_package_that_gives_no_describer_is_refused(package, tmp_path, code, seen):
    (package.parent / "strange_method.py").write_text(code)
    (package / "entry_points.txt").write_text(ENTRY_POINTS.replace("own_method", "strange_method"))
    sys.modules.pop("strange_method", None)
    with pytest.raises(InputError, match=seen):
        known_methods()["small-picture"].make(None, None, tmp_path)


@pytest.mark.parametrize("found", [np.zeros((3, 4)), np.full((2, 4), np.nan), np.zeros(2)])
def test_descriptors_that_cannot_be_compared_are_refused(found):
    class Strange:
        size_px = (8, 8)

        def describe(self, images):
            return found

    method = DescriberMethod(None, Strange(), Path())
    with pytest.raises(InputError, match="Strange"):
        method._described(np.zeros((2, 8, 8, 3), np.uint8))


def test_a_card_says_what_it_stands_on(tmp_path):
    card = known_methods()["netvlad"]
    assert isinstance(card, MethodCard)
    assert card.status(None) == "awaiting a checkpoint"
    assert card.status(tmp_path / "a.pth") == "checkpoint given: a.pth"
