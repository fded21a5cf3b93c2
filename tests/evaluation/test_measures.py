"""Every measure of the method against an oracle that works on plain arrays in double precision."""

from dataclasses import replace

import numpy as np
import pytest

from nadirfix.evaluation.metrics import as_top1, by_altitude, compared, error_m, measures, metrics
from nadirfix.types import Point
from tests.records import EPSG, failed, record


class Oracle:
    """Queries as plain arrays; NaN marks what is missing. Nothing here uses the code under test."""

    def __init__(self, count: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.offset = rng.normal(0, 1, (count, 2)) * 10 ** rng.uniform(0, 3.5, (count, 1))
        self.kind = rng.choice(["fix", "no_fix", "error"], count, p=[0.7, 0.2, 0.1])
        self.found = rng.normal(0, 1, (count, 10, 2)) * 10 ** rng.uniform(0.5, 3.5, (count, 10, 1))
        self.altitude = rng.uniform(100, 700, count)
        self.estimate = self.altitude + rng.normal(0, 60, count)
        self.heading, self.turn = rng.uniform(0, 360, count), rng.uniform(0, 360, count)

    def records(self):
        return [self._record(i) for i in range(len(self.kind))]

    def _record(self, i):
        if self.kind[i] == "error":
            return failed(altitude_m=self.altitude[i])
        return record(
            tuple(self.offset[i]) if self.kind[i] == "fix" else None,
            candidates_m=[tuple(o) for o in self.found[i]],
            altitude_m=self.altitude[i],
            estimate_m=self.estimate[i],
            heading_deg=self.heading[i],
            answer_deg=self.turn[i],
        )

    @property
    def answered(self):
        return self.kind == "fix"

    @property
    def error(self):
        return np.where(self.answered, np.hypot(*self.offset.T), np.inf)

    def recall(self, k):
        distances = np.hypot(self.found[..., 0], self.found[..., 1])[:, :k]
        return 100 * np.mean(self.answered & (distances < 100).any(axis=1))

    def altitude_error(self):
        return np.abs(self.estimate - self.altitude)[self.kind != "error"]


@pytest.fixture(params=[0, 1, 2])
def oracle(request):
    return Oracle(301, request.param)


def test_altitude_error_is_the_mean_and_shares_are_of_all(oracle):
    summary = measures(oracle.records())["altitude"]
    errors = oracle.altitude_error()
    assert summary["e_avg_m"] == pytest.approx(errors.mean(), abs=1e-9)
    for limit in (25, 50, 100):
        assert summary[f"within_{limit}_m"] == pytest.approx(100 * np.sum(errors <= limit) / 301)


def test_recall_at_1_and_5(oracle):
    summary = measures(oracle.records())["recall"]
    assert summary == pytest.approx({"r1": oracle.recall(1), "r5": oracle.recall(5)})


def test_s_loc_at_every_distance(oracle):
    summary = measures(oracle.records())["s_loc"]
    expected = {str(d): 100 * np.mean(oracle.error <= d) for d in (5, 10, 25, 50)}
    assert summary == pytest.approx(expected | {"100": 100 * np.mean(oracle.error < 100)})


def test_position_error_of_the_answered(oracle):
    summary = measures(oracle.records())
    answered = oracle.error[oracle.answered]
    assert summary["answered"] == answered.size
    assert summary["wrong_fix"] == np.sum(answered > 100)
    assert summary["error_m"]["median"] == pytest.approx(np.median(answered), abs=1e-6)
    assert summary["error_m"]["p90"] == pytest.approx(np.percentile(answered, 90), abs=1e-6)
    assert summary["error_m"]["median_all"] == pytest.approx(np.median(oracle.error), abs=1e-6)


def test_heading_error_goes_the_short_way_round(oracle):
    between = np.angle(np.exp(1j * np.deg2rad(oracle.turn - oracle.heading)))[oracle.answered]
    summary = measures(oracle.records())["heading_deg"]["median"]
    assert summary == pytest.approx(np.median(np.rad2deg(np.abs(between))))


def test_bands_hold_every_photo_once(oracle):
    bands = by_altitude(oracle.records())
    assert [b["from_m"] for b in bands] == [100, 200, 300, 400, 500, 600]
    for band in bands:
        inside = (oracle.altitude >= band["from_m"]) & (oracle.altitude < band["to_m"])
        assert band["queries"] == inside.sum()
        assert band["s_loc"]["100"] == pytest.approx(100 * np.mean(oracle.error[inside] < 100))


def test_top1_s_loc_is_recall_at_1_by_definition(oracle):
    plain = [as_top1(r) for r in oracle.records()]
    assert measures(plain)["s_loc"]["100"] == pytest.approx(oracle.recall(1))
    (row,) = compared({"estimated": oracle.records()})
    assert row["s_loc_100_top1"] == row["r1"] == pytest.approx(oracle.recall(1))
    assert row["s_loc_100_wce"] == pytest.approx(100 * np.mean(oracle.error < 100))


def test_exactly_100_m_is_neither_near_nor_wrong():
    summary = measures([record((100.0, 0.0), candidates_m=[(0.0, 100.0)])])
    assert summary["s_loc"]["100"] == 0
    assert summary["recall"] == {"r1": 0, "r5": 0}
    assert summary["wrong_fix"] == 0


@pytest.mark.parametrize("limit", [5, 10, 25, 50])
def test_within_includes_its_limit(limit):
    assert measures([record((0.0, float(limit)))])["s_loc"][str(limit)] == 100


def test_distance_is_the_same_across_a_zone_edge():
    """An answer given in the neighbouring zone is still fifty metres away."""
    truth = Point.from_lonlat(12.0001, 48.0)
    there = truth.moved(30.0, 40.0).to(EPSG - 1)
    unmoved = record(truth=truth)
    summary = replace(unmoved, fix=replace(unmoved.fix, position=there))
    assert error_m(summary) == pytest.approx(50.0, abs=1e-3)


def test_timings_are_over_the_photos_that_went_through():
    summary = metrics([record(total_ms=t) for t in (10.0, 20.0, 60.0)] + [failed()])
    assert summary["timings_ms"]["total"] == {"median": 20.0, "p90": pytest.approx(52.0), "max": 60.0}
