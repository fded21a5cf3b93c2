"""Anybody's answers, in any of the forms people write them, are measured like our own."""

import csv
import json

import pytest
from PIL import Image

import nadirfix
from nadirfix.errors import InputError
from nadirfix.evaluation.answer_files import read_answers
from nadirfix.evaluation.metrics import error_m, metrics
from nadirfix.photo_list import PhotoRecord, read_photo_list, write_photo_list
from tests.records import EPSG, TRUTH, record


@pytest.fixture
def truth(tmp_path):
    """Three photos, 300 m apart."""
    rows = []
    for i in range(3):
        path = tmp_path / "photos" / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
        rows.append(PhotoRecord(photo=path, point=TRUTH.moved(300.0 * i, 0.0), altitude_m=200.0))
    write_photo_list(tmp_path / "manifest.csv", rows)
    return tmp_path / "manifest.csv"


def written(folder, lines, name="answers.csv"):
    path = folder / name
    if name.endswith(".csv"):
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, list(lines[0]))
            out.writeheader()
            out.writerows(lines)
    else:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def projected(i, off_m, **more):
    east_m = TRUTH.east_m + 300.0 * i + off_m
    return {
        "photo": f"photos/{i}.jpg",
        "easting_m": east_m,
        "northing_m": TRUTH.north_m,
        "epsg": EPSG,
        **more,
    }


def test_metres_and_degrees_say_the_same(truth, tmp_path):
    metres = written(tmp_path, [projected(0, 3.0), projected(1, 40.0), projected(2, 500.0)])
    lines = []
    for i, off_m in enumerate((3.0, 40.0, 500.0)):
        lon, lat = TRUTH.moved(300.0 * i + off_m, 0.0).lonlat
        lines.append({"photo": f"{i}.jpg", "lon": lon, "lat": lat})
    degrees = written(tmp_path, lines, "answers.jsonl")
    one, two = nadirfix.evaluate(metres, truth), nadirfix.evaluate(degrees, truth)
    assert one["s_loc"] == two["s_loc"] == pytest.approx({"5": 100 / 3, "10": 100 / 3, "25": 100 / 3,
                                                          "50": 200 / 3, "100": 200 / 3})  # fmt: skip
    assert one["wrong_fix"] == 1
    assert one["recall"] == pytest.approx({"r1": 200 / 3, "r5": 200 / 3})  # the answer is the only place
    assert two["error_m"]["median"] == pytest.approx(40.0, abs=1e-3)


def test_a_photo_without_a_line_or_without_a_position_is_a_miss(truth, tmp_path):
    lines = [projected(0, 0.0, altitude_m=190.0), {"photo": "photos/2.jpg"}]
    figures = nadirfix.evaluate(written(tmp_path, lines), truth)
    assert (figures["queries"], figures["answered"], figures["errors"]) == (3, 1, 0)
    assert figures["altitude"]["e_avg_m"] == pytest.approx(10.0)
    assert figures["error_m"]["median_all"] is None


def test_ranked_places_count_in_their_order(truth, tmp_path):
    ranked = [{"easting_m": TRUTH.east_m + off, "northing_m": TRUTH.north_m} for off in (900.0, 20.0)]
    line = projected(0, 900.0, candidates=ranked)
    figures = nadirfix.evaluate(written(tmp_path, [line], "answers.jsonl"), truth)
    assert figures["recall"] == pytest.approx({"r1": 0.0, "r5": 100 / 3})


def test_what_locate_prints_is_measured_as_evaluate_does(truth, tmp_path):
    """Every figure of a fix with candidates comes out of its printed line again."""
    rows = read_photo_list(truth)
    ours = [
        record((5.0 * i, 0.0), truth=row.point, photo=f"photos/{i}.jpg", candidates_m=[(500, 0), (9, 0)])
        for i, row in enumerate(rows)
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(one.fix.to_dict()) + "\n" for one in ours))
    again, expected = nadirfix.evaluate(path, truth), metrics(ours)
    for name in ("recall", "s_loc", "altitude", "answered", "unverified"):
        assert again[name] == pytest.approx(expected[name]), name
    records = read_answers(path, rows)
    assert [error_m(one) for one in records] == pytest.approx([0.0, 5.0, 10.0], abs=1e-4)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ({"photo": "photos/9.jpg", "lon": 15.0, "lat": 49.0}, "no photo of the test set"),
        ({"photo": "photos/0.jpg", "lon": "east", "lat": 49.0}, "east"),
        ({"photo": "photos/0.jpg", "lon": 15.0, "lat": ""}, "only lon"),
        ({"photo": "photos/0.jpg", "lon": "nan", "lat": 49.0}, "not a finite number"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(truth, tmp_path, line, seen):
    with pytest.raises(InputError, match=seen) as caught:
        nadirfix.evaluate(written(tmp_path, [line]), truth)
    assert "line 2" in str(caught.value)


def test_twice_the_same_photo_is_an_error(truth, tmp_path):
    with pytest.raises(InputError, match="there twice"):
        nadirfix.evaluate(written(tmp_path, [projected(0, 0.0), projected(0, 1.0)]), truth)


@pytest.mark.parametrize("text", ["", "name,lon,lat\na,1,2\n", "{not json}\n", '{"photo": 1\n'])
def test_what_is_no_list_of_answers_is_an_error(truth, tmp_path, text):
    path = tmp_path / "answers"
    path.write_text(text)
    with pytest.raises(InputError):
        nadirfix.evaluate(path, truth)
