"""From likely altitudes to all of them, and from a perspective to a similarity: what is tried, and when."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nadirfix import confirm
from nadirfix.options import LocateOptions
from nadirfix.options_frame import VoteOptions
from nadirfix.options_verify import VerifyOptions
from nadirfix.shot import Height
from nadirfix.stopwatch import Stopwatch
from nadirfix.types import AltitudeEstimate, Hypothesis, Point, View
from nadirfix.verify import compare
from nadirfix.verify.compare import Comparison
from nadirfix.verify.decide import from_likely_to_all
from nadirfix.verify.features import Detector
from nadirfix.verify.match import Agreement, agreements
from tests.places import CAMERA, photo_from, place, view_of


def hypothesis(number: int) -> Hypothesis:
    return Hypothesis(View(Point(500_000.0 + 1000 * number, 5_000_000.0, 32633), 200.0, 0.0), 0.1)


def test_unlikely_altitudes_are_asked_last_and_only_when_it_comes_to_that() -> None:
    asked: list[VoteOptions] = []

    def voted(how: VoteOptions) -> list[Hypothesis]:
        asked.append(how)
        return [hypothesis(20 * len(asked) + i) for i in range(16)]

    options = VerifyOptions(quick=2, likely=3, scales=9, scale_crops=4)
    waves = from_likely_to_all(voted, VoteOptions(), options)
    first = [next(waves) for _ in range(5)]
    assert [h.view.center.east_m for h in first] == [520_000.0, 521_000.0, 540_000.0, 541_000.0, 542_000.0]
    assert len(asked) == 2 and not any(how.even for how in asked)
    next(waves)
    assert asked[2].even and (asked[2].scales, asked[2].crops, asked[2].scale_share) == (9, 4, 1.0)


def test_no_other_altitudes_where_none_are_allowed() -> None:
    calls: list[VoteOptions] = []
    list(from_likely_to_all(lambda how: calls.append(how) or [], VoteOptions(), VerifyOptions(scales=0)))
    assert [how.even for how in calls] == [False, False]


def test_all_altitudes_count_alike_and_reach_from_the_lowest_to_the_highest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even where the estimate is all but certain of one class."""
    seen: list[Any] = []
    monkeypatch.setattr(confirm, "hypotheses", lambda _p, _c, scales, **_: seen.extend(scales) or [])
    centers = np.arange(125.0, 700.0, 50.0)
    sure = np.where(centers == 675.0, 0.989, 0.001)
    height = Height(altitude_m=675.0, gsd_m=1.0, estimate=AltitudeEstimate(675.0, sure, centers))
    shot = SimpleNamespace(pixels=None, camera=CAMERA)
    every = VoteOptions(scales=VerifyOptions().scales, scale_share=1.0, even=True)
    confirm._voted(shot, height, SimpleNamespace(lookup=None), every)
    altitudes = sorted(CAMERA.altitude_m(scale.gsd_m) for scale in seen)
    assert altitudes[0] < 125.0 and altitudes[-1] > 600.0
    assert max(np.diff(np.log(altitudes))) < 2.6 * 0.09  # no gap wider than what two windows bear
    assert {round(scale.share, 12) for scale in seen} == {round(1 / len(seen), 12)}


def test_a_movement_nobody_meant_gives_way_to_a_similarity(
    sift: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = place()
    truth = view_of(ground)
    wild = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]])

    def unlucky(photo_px: Any, map_px: Any, options: VerifyOptions) -> Iterator[Agreement]:
        *_, similar = agreements(photo_px, map_px, options)
        yield Agreement(wild, np.ones(len(photo_px), np.bool_))
        yield similar

    monkeypatch.setattr(compare, "agreements", unlucky)
    looked = Comparison(
        photo_from(ground, truth), CAMERA, texture=ground, detector=sift, options=VerifyOptions()
    )
    seen = looked.first_look(truth)
    assert seen.fitted is not None and seen.inliers > 30
    assert seen.view.center.distance_m(truth.center) < 1.0


@pytest.mark.parametrize(("estimated", "scales"), [(True, VerifyOptions().scales), (False, 0)])
def test_an_altitude_that_was_given_is_not_doubted(
    estimated: bool, scales: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed: list[int] = []
    monkeypatch.setattr(
        confirm, "from_likely_to_all", lambda _v, _o, options: allowed.append(options.scales) or []
    )
    monkeypatch.setattr(confirm, "decide", lambda *_: None)
    monkeypatch.setattr(confirm, "verified_fix", lambda *_, **__: SimpleNamespace(verified=False))
    estimate = AltitudeEstimate(125.0, np.ones(1), np.array([125.0])) if estimated else None
    bundle = SimpleNamespace(texture=place(), described=False, matcher=lambda _features: object())
    shot = SimpleNamespace(pixels=None, camera=CAMERA)
    height = Height(altitude_m=125.0, gsd_m=0.1, estimate=estimate)
    confirm.confirmed(Any, shot, height, bundle, options=LocateOptions(), watch=Stopwatch())
    assert allowed == [scales]
