"""From likely altitudes to all of them, and from a perspective to a similarity: what is tried, and when."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nadirfix.online import verify as confirm
from nadirfix.online.photo import Height
from nadirfix.options.verify import VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.timing import Stopwatch
from nadirfix.types import AltitudeEstimate, Hypothesis, KnownAltitude, Point, View
from nadirfix.verify import registration as compare
from nadirfix.verify.features import Detector
from nadirfix.verify.matching import Agreement, agreements
from nadirfix.verify.registration import Comparison
from nadirfix.verify.search import from_middle_to_whole
from tests.places import CAMERA, photo_from, place, view_of


def hypothesis(number: int) -> Hypothesis:
    return Hypothesis(View(Point(500_000.0 + 1000 * number, 5_000_000.0, 32633), 200.0, 0.0), 0.1)


class Asked:
    """Remembers what it was asked, and has sixteen guesses each time."""

    def __init__(self) -> None:
        self.how: list[VoteOptions] = []

    def of_middle(self, how: VoteOptions) -> list[Hypothesis]:
        return [hypothesis(i) for i in range(16)]

    def voted(self, how: VoteOptions) -> list[Hypothesis]:
        self.how.append(how)
        return [hypothesis(20 * len(self.how) + i) for i in range(16)]


def test_the_whole_frame_is_asked_last_and_only_when_it_comes_to_that() -> None:
    guess = Asked()
    options = VerifyOptions(middle=2, ladder=2, whole=3)
    waves = from_middle_to_whole(guess, VoteOptions(), options)
    middle = next(waves)
    assert (middle.hypotheses[0].view.center.east_m, middle.looks) == (500_000.0, 2)
    assert not guess.how, "the middle has been described already; nothing more is asked before it failed"
    ladder = next(waves)
    assert (ladder.hypotheses[0].view.center.east_m, ladder.looks) == (520_000.0, 2)
    assert [how.crops for how in guess.how] == [1], "its middle at every altitude"
    whole = next(waves)
    assert (whole.hypotheses[0].view.center.east_m, whole.looks) == (540_000.0, 3)
    assert [how.crops for how in guess.how] == [1, VoteOptions().crops]
    assert all(how.sure > 1 for how in guess.how), "the map has said no to what few crops are sure of"


def test_altitudes_reach_from_the_lowest_to_the_highest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the estimate is all but certain of one class."""
    seen: list[Any] = []
    monkeypatch.setattr(confirm, "hypotheses", lambda _f, scales, _o: seen.extend(scales) or [])
    centers = np.arange(125.0, 700.0, 50.0)
    sure = np.where(centers == 675.0, 0.989, 0.001)
    height = Height(altitude_m=675.0, gsd_m=1.0, estimate=AltitudeEstimate(675.0, sure, centers))
    shot = SimpleNamespace(pixels=None, camera=CAMERA)
    bundle = SimpleNamespace(lookup=None, describe=lambda embedding: embedding)
    confirm._Guesses(shot, height, bundle, np.ones(4, np.float32), Stopwatch()).voted(VoteOptions())
    altitudes = sorted(CAMERA.altitude_m(scale.gsd_m) for scale in seen)
    assert altitudes[0] < 125.0 and altitudes[-1] > 600.0
    assert max(np.diff(np.log(altitudes))) < 2.6 * 0.09  # no gap wider than what two windows bear
    assert seen[0].gsd_m == pytest.approx(CAMERA.gsd_m(675.0), rel=0.06) and seen[0].share > 0.4


def test_a_movement_nobody_meant_gives_way_to_a_similarity(
    sift: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = place()
    truth = view_of(ground)
    wild = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]])

    def unlucky(photo_px: Any, map_px: Any, options: VerifyOptions, _pool: Any) -> Iterator[Agreement]:
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


def test_an_altitude_that_was_given_is_not_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(confirm, "hypotheses", lambda _f, scales, _o: asked.append(scales) or [])
    height = Height(altitude_m=125.0, gsd_m=CAMERA.gsd_m(125.0), known=(KnownAltitude(125.0, 0.0),))
    shot = SimpleNamespace(pixels=None, camera=CAMERA)
    bundle = SimpleNamespace(lookup=None, describe=lambda embedding: embedding)
    confirm._Guesses(shot, height, bundle, np.ones(4, np.float32), Stopwatch()).voted(VoteOptions())
    assert [[scale.gsd_m for scale in scales] for scales in asked] == [[CAMERA.gsd_m(125.0)]]
