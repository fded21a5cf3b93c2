"""A photo is looked at again in single precision where rounding would decide, and nowhere else."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.unit.test_online import Fake, Says, photo

from nadirfix.bundle import Bundle
from nadirfix.bundle.bundle import _SHOWS
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.online import locate, open_parts
from nadirfix.online.retrieve import may_look_twice
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import HeadOptions
from nadirfix.retrieval.cells import CellVoter
from nadirfix.runtime import NetworkFiles, Way
from nadirfix.runtime.backend import remember, remembered_likeness

#: Two references of one cell answer; the next one is as like the photo as the second, but for a little.
OPTIONS = LocateOptions(cells=1, retrieve=2)


def narrow(slack: float, *, described: bool = False, matcher: str | None = None) -> Fake:
    """A bundle whose place network is run in few bits and is off by a little."""
    fake = Fake(class_of=3)
    fake.place_slack, fake.described, fake.matcher_name = slack, described, matcher
    fake.careful_place_network = Says(fake.place_network.answer + np.array([0.0, 0.0, 0.0, 0.5]))
    return fake


def gap(fake: Fake, options: LocateOptions = OPTIONS) -> float:
    """What divides the last candidate from the next one, as a cosine."""
    more = LocateOptions(cells=options.cells, retrieve=options.retrieve + 1)
    distance = locate(photo(), bundle=fake, options=more).candidates.distance
    return float(distance[-1] ** 2 - distance[-2] ** 2) / 2


def test_a_close_call_is_looked_at_again() -> None:
    close = gap(narrow(0.0))
    again, once = narrow(1.01 * close), narrow(0.99 * close)
    fix = locate(photo(), bundle=again, options=OPTIONS)
    locate(photo(), bundle=once, options=OPTIONS)
    assert len(again.careful_place_network.shown) == 1 and not once.careful_place_network.shown
    np.testing.assert_array_equal(again.careful_place_network.shown[0], again.place_network.shown[0])
    careful = narrow(0.0)
    careful.place_network = careful.careful_place_network
    wanted = locate(photo(), bundle=careful, options=OPTIONS)
    np.testing.assert_array_equal(fix.candidates.distance, wanted.candidates.distance)
    assert fix.position == wanted.position


def test_single_precision_is_never_looked_at_again() -> None:
    fake = narrow(0.0)
    locate(photo(), bundle=fake, options=OPTIONS)
    open_parts(fake, OPTIONS)
    assert not fake.careful_place_network.shown


def test_candidates_are_as_many_as_were_asked_for() -> None:
    assert len(locate(photo(), bundle=narrow(9.0), options=OPTIONS).candidates) == 2


def test_where_only_the_nearest_answers_the_second_matters() -> None:
    first = gap(narrow(0.0), LocateOptions(cells=1, retrieve=1))
    fake, nearest = narrow(1.01 * first), LocateOptions(cells=1, retrieve=2, weighted=False)
    other = narrow(0.99 * first)
    locate(photo(), bundle=fake, options=nearest)
    locate(photo(), bundle=other, options=nearest)
    assert fake.careful_place_network.shown and not other.careful_place_network.shown


def test_where_all_references_are_candidates_nothing_is_close() -> None:
    fake = narrow(9.0)
    locate(photo(), bundle=fake, options=LocateOptions(cells=0, retrieve=100))
    assert not fake.careful_place_network.shown


def test_cells_that_are_close_are_looked_at_again() -> None:
    """All references of the cell are candidates: only which cell it is can be close."""
    whole = LocateOptions(cells=1, retrieve=100)
    fake, sure = narrow(0.0), narrow(0.0)
    lead = fake.likeliest_cells(fake.place_network.answer, 1).lead
    fake.place_slack, sure.place_slack = 1.01 * lead, 0.99 * lead
    locate(photo(), bundle=fake, options=whole)
    locate(photo(), bundle=sure, options=whole)
    assert fake.careful_place_network.shown and not sure.careful_place_network.shown


@pytest.mark.parametrize(
    ("changes", "options"),
    [({"matcher": "sift"}, OPTIONS), ({"described": True}, OPTIONS)],
)
def test_who_asks_the_map_or_lets_the_frame_vote_need_not(changes: dict, options: LocateOptions) -> None:
    assert may_look_twice(narrow(9.0), options)
    assert not may_look_twice(narrow(9.0, **changes), options)
    assert may_look_twice(
        narrow(9.0, **changes), LocateOptions(cells=1, retrieve=2, verify=False, whole_frame=False)
    )


def test_the_lead_of_cells_is_a_difference_of_cosines() -> None:
    """In one group of two, odds are the difference of logits: twice the cosines' times the scale."""
    order = ClassOrder.from_cells(Grid(100.0, 1), [(0, 0), (1, 0)])
    angle = 0.3
    towards = np.array([math.cos(angle), math.sin(angle)])
    apart = math.cos(angle) - math.sin(angle)
    voter = CellVoter([np.eye(2)], order, HeadOptions(scale=10.0))
    assert voter.top(towards, 1).lead == pytest.approx(2 * apart, rel=1e-6)
    assert voter.top(towards, 2).lead == math.inf, "nothing is left out"
    logits = CellVoter([np.eye(2)], order, HeadOptions(kind="ce"))
    assert logits.top(towards, 1).lead == math.inf, "no cosines"


def test_how_alike_a_way_is_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path))
    files, way = NetworkFiles(tmp_path / "a.onnx", tmp_path / "b.onnx", "abc"), Way(precision="eight_bit")
    assert remembered_likeness(files, way) == 1.0, "never measured: single precision runs"
    remember(files, way, {way.name: {"likeness": 0.98}, Way().name: {"likeness": 0.5}})
    assert remembered_likeness(files, way) == 0.98
    assert remembered_likeness(files, Way()) == 1.0, "single precision is what it is compared with"
    assert remembered_likeness(NetworkFiles(tmp_path / "a.onnx"), way) == 1.0, "without a name"


def test_slack_grows_with_what_the_descriptor_is_off_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cosine of c is a descriptor that is off by the root of 2 − 2c."""
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path))
    files, way = NetworkFiles(tmp_path / "a.onnx", tmp_path / "b.onnx", "abc"), Way(precision="eight_bit")
    remember(files, way, {way.name: {"likeness": 0.98}})

    def slack(way: Way) -> float:
        return Bundle.place_slack.func(SimpleNamespace(network_files=lambda _: files, _place_way=way))

    assert slack(Way()) == 0.0
    assert 0.01 * 0.2 < slack(way) < 0.2, "of 0.2 a share shows between neighbours"
    assert slack(way) == pytest.approx(_SHOWS * 0.2)
