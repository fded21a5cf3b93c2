"""How many places are looked at: no more than the answer needs, and never fewer than a twin would take."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Hypothesis, Point, View
from nadirfix.verify.features import Detector, Features
from nadirfix.verify.pose import FittedView
from nadirfix.verify.registration import Comparison, Sighting
from nadirfix.verify.search import Verdict, Wave, decide, look_at
from tests.places import CAMERA, photo_from, place, view_of

HERE = Point(500_000.0, 5_400_000.0, 32633)
OPTIONS = VerifyOptions()


def view(number: int) -> View:
    return View(HERE.moved(1000.0 * number, 0.0), 200.0, 0.0)


def guess(number: int, score: float = 0.1) -> Hypothesis:
    return Hypothesis(view(number), score)


class Map:
    """A map that shows the photo at these places, in so many parts of the frame."""

    def __init__(self, **parts: int) -> None:
        self.parts = {int(name[1:]): count for name, count in parts.items()}
        self.asked: list[int] = []

    def points(self) -> int:
        return 1000

    def first_look(self, asked: View) -> Sighting:
        number = round((asked.center.east_m - HERE.east_m) / 1000)
        self.asked.append(number)
        spot = np.arange(self.parts.get(number, 0))
        share = np.stack([(spot % 12 + 0.5) / 12, (spot // 12 + 0.5) / 9], axis=1)
        fitted = FittedView(asked, np.ones(spot.size), np.eye(6) * 1e-4) if spot.size else None
        return Sighting(asked, 100, fitted, share, np.zeros((spot.size, 2)), 0.5)

    def first_looks(self, asked: Sequence[View]) -> Iterator[Sighting]:
        return map(self.first_look, asked)

    def second_look(self, before: Sighting) -> Sighting:
        return before

    def coarse_look(self, before: Sighting) -> Sighting:
        return before


def decided(ground: Map, *waves: Wave) -> Verdict:
    return decide(waves, ground, OPTIONS)  # type: ignore[arg-type]


def test_beyond_doubt_nothing_else_is_looked_at() -> None:
    ground = Map(p1=60)
    told = decided(ground, Wave([guess(1, 0.9), guess(2, 0.3), guess(3, 0.1)]))
    assert told.confirmed is not None and ground.asked == [1]


def test_a_place_that_looks_as_much_like_it_is_a_twin_to_look_at() -> None:
    ground = Map(p1=60, p2=58)
    told = decided(ground, Wave([guess(1, 0.5), guess(2, 0.4)], looks=1))
    assert ground.asked == [1, 2]
    assert "look alike" in str(told.reason)


def test_what_is_sure_but_not_beyond_doubt_needs_one_other_place_in_vain() -> None:
    ground = Map(p1=25)
    told = decided(ground, Wave([guess(1, 0.9), guess(2, 0.01)], looks=1), Wave([guess(3)]))
    assert told.confirmed is not None
    assert ground.asked == [1, 2], "the next likeliest, though no hypothesis of its own; no other wave"


def test_a_place_already_looked_at_in_vain_is_rival_enough() -> None:
    ground = Map(p2=25)
    assert decided(ground, Wave([guess(1), guess(2), guess(3)])).confirmed is not None
    assert ground.asked == [1, 2]


def test_waves_are_gone_through_until_one_is_confirmed() -> None:
    ground = Map(p4=60)
    waves = [Wave([guess(1), guess(2), guess(3)], looks=2), Wave([guess(1), guess(4)]), Wave([guess(5)])]
    assert decided(ground, *waves).confirmed is not None
    assert ground.asked == [1, 2, 4], "the third was thought of only, the first is not looked at twice"


def test_nothing_to_look_at_is_said() -> None:
    assert "no hypothesis" in str(decided(Map()).reason)


def test_beyond_doubt_no_second_look_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[Sighting] = []
    monkeypatch.setattr(Map, "second_look", lambda _self, before: again.append(before) or before)
    assert decided(Map(p1=60), Wave([guess(1)])).confirmed is not None and not again
    assert decided(Map(p1=25), Wave([guess(1)])).confirmed is not None and len(again) == 1


def test_chance_at_a_wrong_place_costs_no_closer_look_where_the_next_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again: list[int] = []
    monkeypatch.setattr(Map, "second_look", lambda _self, before: again.append(before.inliers) or before)
    told = decided(Map(p1=10, p2=60), Wave([guess(1), guess(2)]))
    assert told.confirmed is not None and told.confirmed.inliers == 60
    assert not again
    decided(Map(p1=10, p3=60), Wave([guess(1), guess(2), guess(3)]))
    assert again == [10], "two are looked at side by side, the third only after closer looks"


@pytest.mark.parametrize(("abreast", "closer"), [(1, [10, 12]), (2, [12, 10]), (3, [])])
def test_so_many_get_their_first_look_before_any_gets_a_closer_one(
    monkeypatch: pytest.MonkeyPatch, abreast: int, closer: list[int]
) -> None:
    again: list[int] = []
    monkeypatch.setattr(Map, "second_look", lambda _self, before: again.append(before.inliers) or before)
    options = dataclasses.replace(OPTIONS, abreast=abreast)
    decide([Wave([guess(1), guess(2), guess(3)])], Map(p1=10, p2=12, p3=60), options)  # type: ignore[arg-type]
    assert again == closer


def test_of_two_in_doubt_the_likelier_gets_the_closer_look_first(monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[int] = []
    monkeypatch.setattr(Map, "second_look", lambda _self, before: again.append(before.inliers) or before)
    told = decided(Map(p1=10, p2=25), Wave([guess(1), guess(2)]))
    assert told.confirmed is not None and again == [25]


@pytest.mark.parametrize("second", [True, False])
def test_looking_again_is_finer_than_coarse_and_can_be_left_out(sift: Detector, second: bool) -> None:
    widths: list[int] = []

    def watched(grey: np.ndarray, valid: np.ndarray | None = None) -> Features:
        if valid is None:
            widths.append(grey.shape[1])
        return sift(grey, valid)

    true = view_of(place(), altitude_m=200.0)
    options = VerifyOptions(second=second, beyond_doubt=math.inf)
    shown = photo_from(place(), true)
    compare = Comparison(shown, CAMERA, texture=place(), detector=watched, options=options)
    near = View(true.center.moved(12.0, -9.0), 210.0, true.heading_deg + 6)
    assert look_at(near, compare, options).fitted is not None
    assert widths == ([448, 512, 384] if second else [448])


def test_windows_of_the_map_have_few_sizes(sift: Detector) -> None:
    sizes: set[tuple[int, ...]] = set()

    def watched(grey: np.ndarray, valid: np.ndarray | None = None) -> Features:
        if valid is not None:
            sizes.add(grey.shape)
        return sift(grey, valid)

    true = view_of(place(), altitude_m=200.0)
    compare = Comparison(
        photo_from(place(), true), CAMERA, texture=place(), detector=watched, options=OPTIONS
    )
    for step in range(8):
        compare.first_look(View(true.center, 160.0 * math.exp(0.05 * step), true.heading_deg))
    assert len(sizes) <= 4
    assert all(side % 64 == 0 for size in sizes for side in size)


def test_ground_that_has_changed_is_looked_at_coarsely_and_the_better_look_counts() -> None:
    """Its large shapes are still there, its small ones are not."""
    weak, strong = Map(p1=15).first_look(view(1)), Map(p1=28).first_look(view(1))
    looked: list[str] = []

    def told(name: str, sighting: Sighting) -> Any:
        return lambda _asked: looked.append(name) or sighting

    compare: Any = SimpleNamespace(
        first_look=told("first", weak), second_look=told("second", weak), coarse_look=told("coarse", strong)
    )
    assert look_at(view(1), compare, OPTIONS) is strong
    assert looked == ["first", "second", "coarse"]
