"""Evaluate as a pilot does: photos in, three files out; interrupted, broken photos, other people's names."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import rasterio

from nadirfix.bundle import Bundle
from nadirfix.errors import InputError, NadirfixError, OutputError
from nadirfix.evaluation.datasets import read_queries
from nadirfix.evaluation.metrics import measures
from nadirfix.evaluation.study import ablations, run
from nadirfix.evaluation.study.ablate import ablate
from nadirfix.evaluation.study.ablations import ablations_of
from nadirfix.evaluation.study.evaluation import run_evaluation
from nadirfix.evaluation.study.journal import Journal
from nadirfix.evaluation.study.map_export import write_map
from nadirfix.evaluation.study.run import Locator
from nadirfix.geo.geomap import GeoMap
from nadirfix.geo.pack import pack_texture
from nadirfix.geo.texture import Texture
from nadirfix.online import locate
from nadirfix.options.map import SimulateOptions
from nadirfix.photo_list import read_photo_list
from nadirfix.types import View
from nadirfix.world.photos import simulate_photos
from tests.bundles import CAMERA, RECIPE, write_ground_in
from tests.command import nadirfix


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def evaluated(tiny_bundle, tiny_photos, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("evaluation") / "out"
    done = nadirfix("evaluate", tiny_photos / "manifest.csv", "--bundle", tiny_bundle, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "without (whole)" in done.stderr
    assert json.loads(done.stdout)["queries"] == 6
    return out


def test_three_files_and_they_agree(evaluated, tiny_photos):
    summary = json.loads((evaluated / "metrics.json").read_text())
    table = lines(evaluated / "queries.csv")
    assert [line["photo"] for line in table] == [f"photos/{i:06d}.jpg" for i in range(6)]
    near = sum(float(line["error_m"]) < 100 for line in table)
    assert summary["s_loc"]["100"] == pytest.approx(100 * near / 6)
    assert [row["altitude"] for row in summary["comparison"]] == ["estimated", "whole", "true"]
    assert summary["peak_rss_mb"] > 50
    assert summary["exif_pose"] is False
    assert "<title>6 photos on tiny.nadir</title>" in (evaluated / "report.html").read_text()
    assert {"decode", "altitude", "crop", "embed", "total"} <= set(summary["timings_ms"])


def test_answers_are_those_of_locate(evaluated, tiny_bundle, tiny_photos):
    """The table says to a millimetre what ``locate`` says."""
    bundle = Bundle.load(tiny_bundle)
    for line, row in zip(
        lines(evaluated / "queries.csv"), read_photo_list(tiny_photos / "manifest.csv"), strict=True
    ):
        fix = locate(row.photo, bundle=bundle)
        assert float(line["easting_m"]) == pytest.approx(fix.position.east_m, abs=1e-3)
        assert float(line["altitude_m"]) == fix.altitude_m
        assert float(line["error_m"]) == pytest.approx(row.point.distance_m(fix.position), abs=1e-3)


def test_what_is_read_back_measures_the_same(evaluated, tiny_photos):
    rows = run.named_rows(read_photo_list(tiny_photos / "manifest.csv"), tiny_photos)
    columns = run.columns_of(Journal(evaluated / "queries.csv", rows).begin(), rows)
    summary = json.loads((evaluated / "metrics.json").read_text())
    again = json.loads(json.dumps(measures(columns["estimated"])))
    assert again == {name: summary[name] for name in again}


def test_existing_output_is_refused(evaluated, tiny_bundle, tiny_photos):
    done = nadirfix("evaluate", tiny_photos, "--bundle", tiny_bundle, "--out", evaluated, "--quiet")
    assert done.returncode == 7
    assert "output.exists" in done.stderr


def test_resume_locates_only_what_is_missing(evaluated, tiny_bundle, tiny_photos, tmp_path, monkeypatch):
    """As after kill -9: some lines are whole, one is cut short, and there are no metrics yet."""
    out = tmp_path / "out"
    shutil.copytree(evaluated, out)
    whole = (out / "queries.csv").read_text()
    kept = whole.splitlines(keepends=True)
    (out / "queries.csv").write_text("".join(kept[:4]) + kept[4][:200])
    (out / "metrics.json").unlink()
    located = []
    monkeypatch.setattr(
        run, "locate", lambda photo, **settings: located.append(photo) or locate(photo, **settings)
    )
    rows = read_queries(tiny_photos)
    summary = run_evaluation(
        rows, Locator(bundle=Bundle.load(tiny_bundle)), out, folder=tiny_photos, resume=True
    )
    assert len(located) == 9  # three photos, three variants each
    assert summary["s_loc"] == json.loads((evaluated / "metrics.json").read_text())["s_loc"]
    without_times = [
        [line[k] for k in ("photo", "easting_m", "error_m")] for line in lines(out / "queries.csv")
    ]
    assert without_times == [
        [line[k] for k in ("photo", "easting_m", "error_m")] for line in lines(evaluated / "queries.csv")
    ]


def test_resume_with_other_settings_is_an_error(evaluated, tiny_bundle, tiny_photos):
    done = nadirfix(
        "evaluate", tiny_photos, "--bundle", tiny_bundle, "--out", evaluated, "--resume", "--use-exif-pose"
    )
    assert done.returncode == 2
    assert "exif_pose changed" in done.stderr


def test_overwrite_never_removes_what_is_not_ours(tiny_bundle, tiny_photos, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(OutputError):
        run_evaluation(
            read_queries(tiny_photos), Locator(bundle=Bundle.load(tiny_bundle)), tmp_path,
            folder=tiny_photos, overwrite=True,
        )  # fmt: skip
    assert (tmp_path / "thesis.txt").exists()


def test_one_bad_photo_never_stops_the_rest(tiny_bundle, tiny_photos, tmp_path):
    photos = tmp_path / "photos"
    shutil.copytree(tiny_photos, photos)
    (photos / "photos" / "000002.jpg").write_bytes(b"not a photo")
    done = nadirfix("evaluate", photos, "--bundle", tiny_bundle, "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 2  # all were handled, one was bad
    assert json.loads(done.stdout)["error_codes"] == {"photo.unreadable": 1}
    summary = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert (summary["queries"], summary["answered"], summary["errors"]) == (6, 5, 1)
    bad = lines(tmp_path / "out" / "queries.csv")[2]
    assert (bad["status"], bad["code"], bad["error_m"]) == ("error", "photo.unreadable", "")
    assert "photo.unreadable" in (tmp_path / "out" / "report.html").read_text()


def test_a_fault_of_ours_is_an_error_and_is_tried_again(tiny_bundle, tiny_photos, tmp_path, monkeypatch):
    """Every photo fails for a reason that is not theirs: an error, not a table of zeros; then it goes on."""

    def broken(_photo, **_settings):
        raise AttributeError("half an update")

    locator, rows = Locator(bundle=Bundle.load(tiny_bundle)), read_queries(tiny_photos)
    with monkeypatch.context() as patch, pytest.raises(NadirfixError, match="half an update"):
        patch.setattr(run, "locate", broken)
        run_evaluation(rows, locator, tmp_path / "out", folder=tiny_photos)
    assert not (tmp_path / "out" / "metrics.json").exists()
    summary = run_evaluation(rows, locator, tmp_path / "out", folder=tiny_photos, resume=True)
    assert (summary["answered"], summary["errors"]) == (6, 0)


def test_names_that_hold_the_truth(tiny_bundle, tiny_photos, tmp_path):
    """The same photos under names with coordinates: same answers, altitude not known."""
    folder = tmp_path / "named"
    folder.mkdir()
    for row in read_photo_list(tiny_photos / "manifest.csv"):
        point = row.point
        shutil.copy(
            row.photo, folder / f"@{point.east_m:.3f}@{point.north_m:.3f}@33@U@@@@@{row.heading_deg:.2f}@.jpg"
        )
    done = nadirfix("evaluate", folder, "--bundle", tiny_bundle, "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["altitude"] == {
        "e_avg_m": None, "within_25_m": None, "within_50_m": None, "within_100_m": None, "queries": 0,
    }  # fmt: skip
    assert [row["altitude"] for row in summary["comparison"]] == ["estimated", "whole"]
    assert summary["answered"] == 6


def test_exif_pose_is_used_only_on_request(tiny_bundle, tiny_world, tmp_path):
    with GeoMap.open(tiny_world / "new.tif") as ground:
        options = SimulateOptions(count=2, altitude_min_m=133.0, altitude_max_m=133.0)
        simulate_photos(ground, tmp_path / "p", camera=CAMERA, options=options, write_pose=True)
    bundle = Bundle.load(tiny_bundle)
    rows = read_queries(tmp_path / "p")
    for exif_pose in (False, True):
        locator = Locator(bundle=bundle, exif_pose=exif_pose)
        summary = run_evaluation(rows, locator, tmp_path / f"out{exif_pose}", folder=tmp_path / "p")
        found = {float(line["altitude_m"]) for line in lines(tmp_path / f"out{exif_pose}" / "queries.csv")}
        assert (found == {133.0}) is exif_pose
        assert summary["exif_pose"] is exif_pose


def test_a_photo_listed_twice_is_an_error(tiny_photos):
    rows = read_photo_list(tiny_photos / "manifest.csv")
    with pytest.raises(InputError, match="more than once"):
        run.named_rows([*rows, rows[0]], tiny_photos)


@pytest.mark.parametrize(("crs", "turn_deg"), [("EPSG:32633", 0.0), ("EPSG:32633", 20.0), ("EPSG:3857", 0.0)])
def test_the_map_in_a_bundle_comes_out_where_it_was(tmp_path, crs, turn_deg):
    """Written from its texture, the map shows the same ground: to 2 grey levels in the mean."""
    with GeoMap.open(write_ground_in(tmp_path / "in.tif", crs, turn_deg=turn_deg)) as before:
        pack_texture(before, tmp_path / "map.ntx")
        write_map(Texture.load(tmp_path / "map.ntx"), tmp_path / "out.tif")
        view = View(before.center, 130.0, 40.0)
        with GeoMap.open(tmp_path / "out.tif") as after:
            one, other = before.render(view, CAMERA), after.render(view, CAMERA)
    both = (one.valid > 0) & (other.valid > 0)
    assert both.mean() > 0.99
    assert np.abs(one.pixels[both].astype(float) - other.pixels[both]).mean() < 4.0
    with rasterio.open(tmp_path / "out.tif") as written:
        assert written.crs.to_epsg() == 32633


def test_tables_of_the_method(ground_map, trained_bundle, tmp_path, monkeypatch):
    """Every kind of variant is built, evaluated and measured; a second time nothing is trained again."""
    monkeypatch.setattr(ablations, "_WIDTHS_M", (25.0, 50.0))
    monkeypatch.setattr(ablations, "_HEADS", ("ce", "qamc"))
    bundle = Bundle.load(trained_bundle)
    with GeoMap.open(ground_map) as ground:
        options = SimulateOptions(count=2, altitude_min_m=100.0, altitude_max_m=140.0)
        simulate_photos(ground, tmp_path / "p", camera=CAMERA, options=options)
    rows, locator = read_queries(tmp_path / "p"), Locator(bundle=bundle)
    summary = run_evaluation(
        rows, locator, tmp_path / "out", folder=tmp_path / "p", ablate=True, device="cpu"
    )
    found = {(row["table"], row["variant"]) for row in summary["ablation"]}
    assert found >= {
        ("input", "pixels"),
        ("head", "CE"),
        ("bins", "25 m"),
        ("bins", "variable"),
    }
    assert sum(row["this_bundle"] for row in summary["ablation"]) == 5
    assert "What each part is worth" in (tmp_path / "out" / "report.html").read_text()

    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "ablation").rglob("*.onnx")}
    named = run.named_rows(rows, tmp_path / "p")
    answers = Journal(tmp_path / "out" / "queries.csv", named).begin()
    again = ablate(
        run.columns_of(answers, named), named, locator, tmp_path / "out" / "ablation",
        device="cpu", progress=lambda *_: None,
    )  # fmt: skip
    assert again == summary["ablation"]
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_variants_train_only_what_they_change():
    by_name = {(v.table, v.name): v for v in ablations_of(RECIPE)}
    assert by_name["head", "QAMC"].changes == "nothing"
    assert by_name["head", "AAMC"].changes == "place"
    assert by_name["head", "CE"].training.altitude_training.budget_steps == 0
    assert by_name["input", "pixels"].training.place_training.budget_steps == 0
    assert by_name["bins", "25 m"].changes == "both"  # references are made lower
    assert ("bins", "75 m") not in by_name  # does not fill 100 m
