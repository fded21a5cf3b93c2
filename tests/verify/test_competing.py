"""How many places are matched: no more than the answer needs, and never fewer than an alias would take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nadirfix.options.verify import SearchOptions, VerifyOptions
from nadirfix.types import Hypothesis, Point, View
from nadirfix.verify.features import Detector, Features
from nadirfix.verify.pose import FittedView
from nadirfix.verify.registration import MatchResult, Registration
from nadirfix.verify.search import HypothesisStage, VerificationResult, match_view, verify_hypotheses
from tests.places import CAMERA, photo_from, place, view_of

HERE = Point(500_000.0, 5_400_000.0, 32633)
OPTIONS = VerifyOptions()


def view(number: int) -> View:
    return View(HERE.moved(1000.0 * number, 0.0), 200.0, 0.0)


def hypothesis(number: int, score: float = 0.1) -> Hypothesis:
    return Hypothesis(view(number), score)


class Map:
    """A map that shows the photo at these places, in so many parts of the frame."""

    def __init__(self, **parts: int) -> None:
        self.parts = {int(name[1:]): count for name, count in parts.items()}
        self.tried: list[int] = []

    def keypoint_count(self) -> int:
        return 1000

    def match(self, view: View) -> MatchResult:
        number = round((view.center.east_m - HERE.east_m) / 1000)
        self.tried.append(number)
        cell = np.arange(self.parts.get(number, 0))
        share = np.stack([(cell % 12 + 0.5) / 12, (cell // 12 + 0.5) / 9], axis=1)
        fitted = FittedView(view, np.ones(cell.size), np.eye(6) * 1e-4) if cell.size else None
        return MatchResult(view, 100, fitted, share, np.zeros((cell.size, 2)), 0.5)

    def match_all(self, views: Sequence[View]) -> Iterator[MatchResult]:
        return map(self.match, views)

    def match_finer(self, before: MatchResult) -> MatchResult:
        return before

    def match_coarser(self, before: MatchResult) -> MatchResult:
        return before


def verified(ground: Map, *stages: HypothesisStage) -> VerificationResult:
    return verify_hypotheses(stages, ground, OPTIONS)  # type: ignore[arg-type]


def test_beyond_doubt_nothing_else_is_matched() -> None:
    ground = Map(p1=60)
    result = verified(ground, HypothesisStage([hypothesis(1, 0.9), hypothesis(2, 0.3), hypothesis(3, 0.1)]))
    assert result.confirmed is not None and ground.tried == [1]


def test_a_place_with_a_similar_retrieval_score_may_be_an_alias_and_is_matched() -> None:
    ground = Map(p1=60, p2=58)
    result = verified(ground, HypothesisStage([hypothesis(1, 0.5), hypothesis(2, 0.4)], limit=1))
    assert ground.tried == [1, 2]
    assert "look alike" in str(result.reason)


def test_what_is_sure_but_not_beyond_doubt_needs_one_other_place_in_vain() -> None:
    ground = Map(p1=25)
    result = verified(
        ground,
        HypothesisStage([hypothesis(1, 0.9), hypothesis(2, 0.01)], limit=1),
        HypothesisStage([hypothesis(3)]),
    )
    assert result.confirmed is not None
    assert ground.tried == [1, 2], "the next likeliest, though no hypothesis of its own; no other stage"


def test_a_place_already_matched_in_vain_is_competition_enough() -> None:
    ground = Map(p2=25)
    stage = HypothesisStage([hypothesis(1), hypothesis(2), hypothesis(3)])
    assert verified(ground, stage).confirmed is not None
    assert ground.tried == [1, 2]


def test_stages_are_gone_through_until_one_is_confirmed() -> None:
    ground = Map(p4=60)
    stages = [
        HypothesisStage([hypothesis(1), hypothesis(2), hypothesis(3)], limit=2),
        HypothesisStage([hypothesis(1), hypothesis(4)]),
        HypothesisStage([hypothesis(5)]),
    ]
    assert verified(ground, *stages).confirmed is not None
    assert ground.tried == [1, 2, 4], "the third is beyond the limit, the first is not matched twice"


def test_a_search_without_hypotheses_is_reported() -> None:
    assert "no hypothesis" in str(verified(Map()).reason)


def test_beyond_doubt_nothing_is_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    rematched: list[MatchResult] = []
    monkeypatch.setattr(Map, "match_finer", lambda _self, before: rematched.append(before) or before)
    assert verified(Map(p1=60), HypothesisStage([hypothesis(1)])).confirmed is not None and not rematched
    assert (
        verified(Map(p1=25), HypothesisStage([hypothesis(1)])).confirmed is not None and len(rematched) == 1
    )


def test_chance_at_a_wrong_place_costs_no_refinement_where_the_next_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rematched: list[int] = []
    monkeypatch.setattr(Map, "match_finer", lambda _self, before: rematched.append(before.inliers) or before)
    result = verified(Map(p1=10, p2=60), HypothesisStage([hypothesis(1), hypothesis(2)]))
    assert result.confirmed is not None and result.confirmed.inliers == 60
    assert not rematched
    verified(Map(p1=10, p3=60), HypothesisStage([hypothesis(1), hypothesis(2), hypothesis(3)]))
    assert rematched == [10], "two are matched side by side, the third only after they are refined"


@pytest.mark.parametrize(("batch_size", "refined"), [(1, [10, 12]), (2, [12, 10]), (3, [])])
def test_a_batch_is_matched_before_any_of_it_is_refined(
    monkeypatch: pytest.MonkeyPatch, batch_size: int, refined: list[int]
) -> None:
    rematched: list[int] = []
    monkeypatch.setattr(Map, "match_finer", lambda _self, before: rematched.append(before.inliers) or before)
    options = VerifyOptions(search=SearchOptions(batch_size=batch_size))
    stage, ground = HypothesisStage([hypothesis(1), hypothesis(2), hypothesis(3)]), Map(p1=10, p2=12, p3=60)
    verify_hypotheses([stage], ground, options)  # type: ignore[arg-type]
    assert rematched == refined


def test_of_two_in_doubt_the_likelier_is_refined_first(monkeypatch: pytest.MonkeyPatch) -> None:
    rematched: list[int] = []
    monkeypatch.setattr(Map, "match_finer", lambda _self, before: rematched.append(before.inliers) or before)
    result = verified(Map(p1=10, p2=25), HypothesisStage([hypothesis(1), hypothesis(2)]))
    assert result.confirmed is not None and rematched == [25]


@pytest.mark.parametrize("refine", [True, False])
def test_refinement_is_finer_first_then_coarser_and_can_be_left_out(sift: Detector, refine: bool) -> None:
    widths: list[int] = []

    def watched(grey: np.ndarray, valid: np.ndarray | None = None) -> Features:
        if valid is None:
            widths.append(grey.shape[1])
        return sift(grey, valid)

    true = view_of(place(), altitude_m=200.0)
    options = VerifyOptions(search=SearchOptions(refine=refine, beyond_doubt=math.inf))
    photo = photo_from(place(), true)
    registration = Registration(photo, CAMERA, texture=place(), detector=watched, options=options.match)
    near = View(true.center.moved(12.0, -9.0), 210.0, true.heading_deg + 6)
    assert match_view(near, registration, options).fitted is not None
    assert widths == ([448, 512, 384] if refine else [448])


def test_windows_of_the_map_have_few_sizes(sift: Detector) -> None:
    sizes: set[tuple[int, ...]] = set()

    def watched(grey: np.ndarray, valid: np.ndarray | None = None) -> Features:
        if valid is not None:
            sizes.add(grey.shape)
        return sift(grey, valid)

    true = view_of(place(), altitude_m=200.0)
    registration = Registration(
        photo_from(place(), true), CAMERA, texture=place(), detector=watched, options=OPTIONS.match
    )
    for step in range(8):
        registration.match(View(true.center, 160.0 * math.exp(0.05 * step), true.heading_deg))
    assert len(sizes) <= 4
    assert all(side % 64 == 0 for size in sizes for side in size)


def test_ground_that_has_changed_is_matched_coarsely_and_the_better_match_counts() -> None:
    """Its large shapes are still there, its small ones are not."""
    weak, strong = Map(p1=15).match(view(1)), Map(p1=28).match(view(1))
    resolutions: list[str] = []

    def recorded(name: str, match_result: MatchResult) -> Any:
        return lambda _before: resolutions.append(name) or match_result

    registration: Any = SimpleNamespace(
        match=recorded("first", weak),
        match_finer=recorded("finer", weak),
        match_coarser=recorded("coarser", strong),
    )
    assert match_view(view(1), registration, OPTIONS) is strong
    assert resolutions == ["first", "finer", "coarser"]
