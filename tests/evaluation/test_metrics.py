"""The table says what it means at its edges: nobody answered, nothing known, nothing there."""

import json

import pytest

from nadirfix.errors import InputError
from nadirfix.evaluation.metrics import QueryRecord, by_altitude, compared, measures, metrics
from tests.records import failed, record

FIELDS = {
    "queries", "answered", "wrong_fix", "altitude", "recall", "s_loc", "error_m", "by_altitude", "timings_ms",
    "peak_rss_mb", "exif_pose",
}  # fmt: skip


def test_metrics_has_the_fields_of_the_contract():
    summary = metrics([record()], peak_rss_mb=123.0, exif_pose=True)
    assert set(summary) >= FIELDS
    assert set(summary["altitude"]) >= {"e_avg_m", "within_25_m", "within_50_m", "within_100_m"}
    assert list(summary["s_loc"]) == ["5", "10", "25", "50", "100"]
    assert set(summary["error_m"]) == {"median", "p90", "median_all"}
    assert summary["peak_rss_mb"] == 123.0
    assert summary["exif_pose"] is True


ODD = [[failed()], [failed(), record(None)], [record(None, candidates_m=[])], [record(), failed()]]


@pytest.mark.parametrize("records", [*ODD, [record(altitude_m=None)]])
def test_never_not_a_number(records):
    json.dumps(metrics(records), allow_nan=False)
    json.dumps(compared({"estimated": records}), allow_nan=False)


def test_nothing_to_measure_is_a_clear_error():
    with pytest.raises(InputError, match="nothing to measure"):
        measures([])


def test_all_errors_are_all_misses():
    summary = measures([failed(), failed()])
    assert (summary["queries"], summary["answered"], summary["wrong_fix"]) == (2, 0, 0)
    assert summary["error_m"] == {"median": None, "p90": None, "median_all": None}
    assert set(summary["s_loc"].values()) == {0.0}
    assert summary["altitude"]["e_avg_m"] is None
    assert summary["altitude"]["within_100_m"] == 0.0


def test_no_fix_is_a_miss_even_when_its_candidates_were_right():
    summary = measures([record(None, candidates_m=[(0.0, 0.0)])])
    assert summary["recall"] == {"r1": 0.0, "r5": 0.0}
    assert summary["altitude"]["e_avg_m"] == 25.0


def test_half_answered_has_no_finite_median_over_all():
    summary = measures([record((3.0, 4.0)), failed()])["error_m"]
    assert summary == {"median": pytest.approx(5.0), "p90": pytest.approx(5.0), "median_all": None}


def test_unknown_altitudes_are_not_judged():
    summary = measures([record(altitude_m=None), record(estimate_m=230.0)])["altitude"]
    assert summary["e_avg_m"] == 30.0
    assert summary["within_50_m"] == 100.0
    assert measures([record(altitude_m=None)])["altitude"]["within_25_m"] is None


def test_photos_of_unknown_altitude_have_a_band_of_their_own():
    bands = by_altitude([record(altitude_m=None), record(altitude_m=150.0)])
    assert [(b["from_m"], b["to_m"]) for b in bands] == [(100.0, 200.0), (None, None)]


def test_a_record_is_an_answer_or_an_error_not_both():
    with pytest.raises(ValueError, match="either"):
        QueryRecord(photo="a.jpg", truth=record().truth)


def test_an_unverified_answer_counts_like_any_other_and_is_reported_apart() -> None:
    both = [record((3.0, 0.0)), record((3.0, 0.0), verified=None), record(None)]
    found = measures(both)
    assert (found["answered"], found["unverified"], found["wrong_fix"]) == (2, 1, 0)
    assert found["s_loc"]["5"] == pytest.approx(200 / 3) == found["recall"]["r1"]
    assert measures(both[:1])["unverified"] == 0
