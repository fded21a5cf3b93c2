"""A photo is described again in float32 where rounding would decide, and nowhere else."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nadirfix.bundle import Bundle
from nadirfix.bundle.networks import _ERROR_SHARE
from nadirfix.bundle.plan import Plan
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.online import locate, open_networks
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import HeadOptions
from nadirfix.retrieval.cells import CellClassifier
from nadirfix.runtime import NetworkFiles
from tests.online.test_online import Fake, FixedNetwork, photo

#: Two references of one cell answer; the next one is as like the photo as the second, but for a little.
OPTIONS = LocateOptions(cells=1, retrieve=2)


def narrow(tolerance: float, *, described: bool = False, matcher: str | None = None) -> Fake:
    """A bundle whose place network is run in few bits and is off by a little."""
    fake = Fake(class_of=3)
    fake.similarity_tolerance, fake.described, fake.matcher_name = tolerance, described, matcher
    fake.float32_place_network = FixedNetwork(fake.place_network.answer + np.array([0.0, 0.0, 0.0, 0.5]))
    return fake


def gap(fake: Fake, options: LocateOptions = OPTIONS) -> float:
    """What divides the last candidate from the next one, as a cosine."""
    more = LocateOptions(cells=options.cells, retrieve=options.retrieve + 1)
    distance = locate(photo(), bundle=fake, options=more).candidates.distance
    return float(distance[-1] ** 2 - distance[-2] ** 2) / 2


def test_a_close_call_is_described_again() -> None:
    close = gap(narrow(0.0))
    again, once = narrow(1.01 * close), narrow(0.99 * close)
    fix = locate(photo(), bundle=again, options=OPTIONS)
    locate(photo(), bundle=once, options=OPTIONS)
    assert len(again.float32_place_network.inputs) == 1 and not once.float32_place_network.inputs
    np.testing.assert_array_equal(again.float32_place_network.inputs[0], again.place_network.inputs[0])
    careful = narrow(0.0)
    careful.place_network = careful.float32_place_network
    wanted = locate(photo(), bundle=careful, options=OPTIONS)
    np.testing.assert_array_equal(fix.candidates.distance, wanted.candidates.distance)
    assert fix.position == wanted.position


def test_float32_is_never_described_again() -> None:
    fake = narrow(0.0)
    locate(photo(), bundle=fake, options=OPTIONS)
    open_networks(fake, Plan.of(fake, OPTIONS))
    assert not fake.float32_place_network.inputs


def test_candidates_are_as_many_as_wanted() -> None:
    assert len(locate(photo(), bundle=narrow(9.0), options=OPTIONS).candidates) == 2


def test_where_only_the_nearest_answers_the_second_matters() -> None:
    first = gap(narrow(0.0), LocateOptions(cells=1, retrieve=1))
    fake, nearest = narrow(1.01 * first), LocateOptions(cells=1, retrieve=2, weighted=False)
    other = narrow(0.99 * first)
    locate(photo(), bundle=fake, options=nearest)
    locate(photo(), bundle=other, options=nearest)
    assert fake.float32_place_network.inputs and not other.float32_place_network.inputs


def test_where_all_references_are_candidates_nothing_is_close() -> None:
    fake = narrow(9.0)
    locate(photo(), bundle=fake, options=LocateOptions(cells=0, retrieve=100))
    assert not fake.float32_place_network.inputs


def test_cells_that_are_close_are_described_again() -> None:
    """All references of the cell are candidates: only which cell it is can be close."""
    whole = LocateOptions(cells=1, retrieve=100)
    fake, sure = narrow(0.0), narrow(0.0)
    lead = fake.likeliest_cells(fake.place_network.answer, 1).lead
    fake.similarity_tolerance, sure.similarity_tolerance = 1.01 * lead, 0.99 * lead
    locate(photo(), bundle=fake, options=whole)
    locate(photo(), bundle=sure, options=whole)
    assert fake.float32_place_network.inputs and not sure.float32_place_network.inputs


@pytest.mark.parametrize(
    ("changes", "options"),
    [({"matcher": "sift"}, OPTIONS), ({"described": True}, OPTIONS)],
)
def test_where_the_map_or_the_votes_answer_ties_do_not_matter(changes: dict, options: LocateOptions) -> None:
    assert Plan.of(narrow(9.0), options).ties_matter
    assert not Plan.of(narrow(9.0, **changes), options).ties_matter
    published = LocateOptions(cells=1, retrieve=2, verify=False, whole_frame=False)
    assert Plan.of(narrow(9.0, **changes), published).ties_matter


@pytest.mark.parametrize("changes", [{"matcher": "sift"}, {"described": True}])
def test_a_whole_photo_of_unknown_altitude_is_answered_by_its_candidates(changes: dict) -> None:
    """Without an altitude neither map nor votes are asked, so rounding must not choose the candidates."""
    close = gap(narrow(0.0))
    fake, options = narrow(1.01 * close, **changes), LocateOptions(cells=1, retrieve=2, crop=False)
    fix = locate(photo(), bundle=fake, options=options)
    assert fix.verified is None
    assert len(fake.float32_place_network.inputs) == 1


def test_the_lead_of_cells_is_a_difference_of_cosines() -> None:
    """In one group of two, odds are the difference of logits: twice the cosines' times the scale."""
    order = ClassOrder.from_cells(Grid(100.0, 1), [(0, 0), (1, 0)])
    angle = 0.3
    towards = np.array([math.cos(angle), math.sin(angle)])
    apart = math.cos(angle) - math.sin(angle)
    classifier = CellClassifier([np.eye(2)], order, HeadOptions(scale=10.0))
    assert classifier.top(towards, 1).lead == pytest.approx(2 * apart, rel=1e-6)
    assert classifier.top(towards, 2).lead == math.inf, "nothing is left out"
    logits = CellClassifier([np.eye(2)], order, HeadOptions(kind="ce"))
    assert logits.top(towards, 1).lead == math.inf, "no cosines"


@pytest.mark.parametrize(("precision", "tolerance"), [("single", 0.0), ("eight_bit", _ERROR_SHARE * 0.2)])
def test_the_tolerance_grows_with_what_the_descriptor_is_off_by(precision: str, tolerance: float) -> None:
    """A cosine of c is a descriptor that is off by the root of 2 − 2c; the bundle says c, not the machine."""
    files = NetworkFiles(Path("a.onnx"), Path("b.onnx"), "abc", precision)
    manifest = {"networks": {"place": {"eight_bits": {"likeness": 0.98}}}}
    bundle = SimpleNamespace(network_files=lambda _: files, manifest=manifest, path=Path("b.nadir"))
    assert Bundle.similarity_tolerance.func(bundle) == pytest.approx(tolerance)
