"""From likely altitudes to all of them, and from a homography to a similarity: what is tried, and when."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nadirfix.bundle.plan import Plan
from nadirfix.image.crop import Canonical
from nadirfix.online import hypotheses as online_hypotheses
from nadirfix.online.altitude import PhotoAltitude
from nadirfix.options.locate import LocateOptions
from nadirfix.options.verify import SearchOptions, VerifyOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.timing import Stopwatch
from nadirfix.types import AltitudeEstimate, Hypothesis, KnownAltitude, Point, View
from nadirfix.verify import registration
from nadirfix.verify.features import Detector
from nadirfix.verify.matching import ModelEstimate, estimate_models
from nadirfix.verify.registration import Registration
from nadirfix.verify.search import hypothesis_stages
from tests.places import CAMERA, photo_from, place, view_of


def hypothesis(number: int) -> Hypothesis:
    return Hypothesis(View(Point(500_000.0 + 1000 * number, 5_000_000.0, 32633), 200.0, 0.0), 0.1)


class Recorder:
    """Records the options it is given, and has sixteen hypotheses each time."""

    def __init__(self) -> None:
        self.given: list[VoteOptions] = []
        self.sweeps = 0

    def from_middle(self, options: VoteOptions) -> list[Hypothesis]:
        return [hypothesis(i) for i in range(16)]

    def from_sweep(self, options: VoteOptions) -> list[Hypothesis]:
        self.sweeps += 1
        return [hypothesis(100 + i) for i in range(16)]

    def from_spectrum(self, options: VoteOptions) -> list[Hypothesis]:
        self.given.append(options)
        return [hypothesis(20 * len(self.given) + i) for i in range(16)]

    from_frame = from_spectrum

    def from_frame_by_spectrum(self, options: VoteOptions) -> list[Hypothesis]:
        return self.from_spectrum(options) if self.sweeps else []


def test_the_map_is_swept_before_the_spectrum_has_its_say_and_the_frame_comes_last() -> None:
    source = Recorder()
    stages = hypothesis_stages(source, VoteOptions(), SearchOptions())
    assert [(source.sweeps, len(source.given)) for _ in stages] == [(0, 0), (1, 0), (1, 1), (1, 2), (1, 3)]


def test_without_a_sweep_the_whole_frame_votes_once() -> None:
    source = Recorder()
    stages = hypothesis_stages(source, VoteOptions(), SearchOptions(swept=0))
    assert [len(source.given) for _ in stages] == [0, 1, 2]


def test_the_whole_frame_votes_last_and_only_when_it_comes_to_that() -> None:
    source = Recorder()
    options = SearchOptions(middle=2, swept=5, altitude_sweep=2, whole_frame=3)
    stages = hypothesis_stages(source, VoteOptions(), options)
    middle = next(stages)
    assert (middle.hypotheses[0].view.center.east_m, middle.limit) == (500_000.0, 2)
    assert not source.given, (
        "the middle has been described already; nothing more is described before it failed"
    )
    swept = next(stages)
    assert (swept.hypotheses[0].view.center.east_m, swept.limit) == (600_000.0, 5)
    sweep = next(stages)
    assert (sweep.hypotheses[0].view.center.east_m, sweep.limit) == (520_000.0, 2)
    assert [options.crops for options in source.given] == [1], "its middle at every altitude"
    whole_frame = next(stages)
    assert (whole_frame.hypotheses[0].view.center.east_m, whole_frame.limit) == (540_000.0, 3)
    assert [options.crops for options in source.given] == [1, VoteOptions().crops]
    assert all(options.consensus > 1 for options in source.given), (
        "the map has refused what few crops agree on"
    )


def vote_of_whole_frame(altitude: PhotoAltitude) -> None:
    """Let a photo with this altitude vote, on a bundle that knows nothing."""
    photo = SimpleNamespace(pixels=None, camera=CAMERA)
    evidence: Any = SimpleNamespace(
        photo=photo, altitude=altitude, found=SimpleNamespace(embedding=np.ones(4, np.float32), within=None)
    )
    bundle: Any = SimpleNamespace()
    plan = Plan(cropped=True, cells=0, answered_by="voting")
    search: Any = SimpleNamespace(canonical=Canonical(CAMERA, 125.0), project=lambda embeddings: embeddings)
    bundle.reference_search = search
    source = online_hypotheses.PhotoHypotheses(evidence, bundle, plan, LocateOptions(), Stopwatch())
    source.from_frame(VoteOptions())


def test_altitudes_reach_from_the_lowest_to_the_highest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the estimate is all but certain of one class."""
    scales_tried: list[Any] = []
    monkeypatch.setattr(
        online_hypotheses, "hypotheses", lambda _f, scales, _o: scales_tried.extend(scales) or []
    )
    centers = np.arange(125.0, 700.0, 50.0)
    sure = np.where(centers == 675.0, 0.989, 0.001)
    vote_of_whole_frame(PhotoAltitude(675.0, 1.0, AltitudeEstimate(675.0, sure, centers)))
    altitudes = sorted(CAMERA.altitude_m(scale.gsd_m) for scale in scales_tried)
    assert altitudes[0] < 125.0 and altitudes[-1] > 600.0
    assert max(np.diff(np.log(altitudes))) < 2.6 * 0.09  # no gap wider than what two windows bear
    assert (
        scales_tried[0].gsd_m == pytest.approx(CAMERA.gsd_m(675.0), rel=0.06) and scales_tried[0].share > 0.4
    )


def test_an_implausible_homography_gives_way_to_a_similarity(
    sift: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = place()
    truth = view_of(ground)
    wild = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]])

    def unlucky(photo_px: Any, map_px: Any, *, inlier_px: float) -> Iterator[ModelEstimate]:
        *_, similar = estimate_models(photo_px, map_px, inlier_px=inlier_px)
        yield ModelEstimate(wild, np.ones(len(photo_px), np.bool_))
        yield similar

    monkeypatch.setattr(registration, "estimate_models", unlucky)
    registered = Registration(
        photo_from(ground, truth), CAMERA, texture=ground, detector=sift, options=VerifyOptions().match
    )
    result = registered.match(truth)
    assert result.fitted is not None and result.inliers > 30
    assert result.view.center.distance_m(truth.center) < 1.0


def test_an_altitude_that_was_given_is_not_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    scales_tried: list[Any] = []
    monkeypatch.setattr(
        online_hypotheses, "hypotheses", lambda _f, scales, _o: scales_tried.append(scales) or []
    )
    vote_of_whole_frame(PhotoAltitude(125.0, CAMERA.gsd_m(125.0), known=(KnownAltitude(125.0, 0.0),)))
    assert [[scale.gsd_m for scale in scales] for scales in scales_tried] == [[CAMERA.gsd_m(125.0)]]
