"""Votes of the whole frame, from geometry: a known view, references about it, and others at random."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.voting import Votes, _Affinity, hypotheses_from, vote_weights
from nadirfix.types import Point, View

CAMERA = Camera(2048, 1536, 1200.0, 1200.0)
EPSG = 32633
TRUTH = View(Point(500_300.0, 5_400_200.0, EPSG), 420.0, 137.0)
OPTIONS = VoteOptions()


def votes_for(
    view: View, *, crops: int = 5, gsd_m: float | None = None, seed: int = 0, stride_m: float = 65.0
) -> Votes:
    """What references of a lattice vote for, each the nearest to a crop in position and heading."""
    draw = np.random.default_rng(seed)
    right, ahead = np.meshgrid(np.linspace(-800, 800, crops), np.linspace(-550, 550, crops))
    right, ahead = right.ravel(), ahead.ravel()
    true_gsd_m, turn = CAMERA.gsd_m(view.altitude_m), np.radians(view.heading_deg)
    along = right * true_gsd_m * np.cos(turn) + ahead * true_gsd_m * np.sin(turn)
    up = -right * true_gsd_m * np.sin(turn) + ahead * true_gsd_m * np.cos(turn)
    phase = draw.uniform(0, stride_m, 2)
    east = np.rint((view.center.east_m + along - phase[0]) / stride_m) * stride_m + phase[0]
    north = np.rint((view.center.north_m + up - phase[1]) / stride_m) * stride_m + phase[1]
    count = len(right)
    heading = np.full(count, np.rint(view.heading_deg / 30) * 30)
    scale = np.full(count, gsd_m or true_gsd_m)
    return Votes(right, ahead, scale, east, north, heading, np.ones(count))


def noise(count: int, seed: int = 1) -> Votes:
    draw = np.random.default_rng(seed)
    span = [(-900, 900), (-700, 700)]
    crops_px = [draw.uniform(*s, count) for s in span]
    positions_m = [draw.uniform(500_000, 503_000, count), draw.uniform(5_399_000, 5_402_000, count)]
    return Votes(
        *crops_px, np.full(count, 0.35), *positions_m, 30.0 * draw.integers(0, 12, count), np.ones(count)
    )


def joined(*votes: Votes) -> Votes:
    names = Votes.__slots__
    return Votes(*(np.concatenate([getattr(v, name) for v in votes]) for name in names))


def off(view: View, truth: View = TRUTH) -> tuple[float, float, float]:
    """Metres, degrees and per cent between two views."""
    turn = (view.heading_deg - truth.heading_deg + 180) % 360 - 180
    return view.center.distance_m(truth.center), abs(turn), 100 * abs(view.altitude_m / truth.altitude_m - 1)


def test_a_vote_points_at_the_middle_of_the_frame() -> None:
    """Exact references with an exact heading name the very place, wherever their crop lies."""
    votes = votes_for(TRUTH, stride_m=1e-3)
    exact = Votes(*(getattr(votes, n) for n in Votes.__slots__[:5]), np.full(len(votes), 137.0), votes.weight)
    east, north = exact.centers()
    assert np.hypot(east - TRUTH.center.east_m, north - TRUTH.center.north_m).max() < 0.01


@pytest.mark.parametrize("seed", range(4))
def test_the_whole_frame_is_finer_than_its_references(seed: int) -> None:
    """Places 65 m apart, headings 30° apart, a scale 8 % off: together they know far better."""
    votes = votes_for(TRUTH, gsd_m=1.08 * CAMERA.gsd_m(TRUTH.altitude_m), seed=seed)
    best = hypotheses_from(votes, CAMERA, EPSG, OPTIONS)[0]
    place_m, turn_deg, scale_percent = off(best.view)
    print(f"{place_m:.1f} m, {turn_deg:.1f}°, {scale_percent:.1f} %")
    assert place_m < 12 and turn_deg < 4 and scale_percent < 5
    assert best.score > 0.5


def test_outliers_do_not_move_it() -> None:
    alone = hypotheses_from(votes_for(TRUTH), CAMERA, EPSG, OPTIONS)[0].view
    found = hypotheses_from(joined(noise(150), votes_for(TRUTH)), CAMERA, EPSG, OPTIONS)
    assert off(found[0].view, alone)[0] < 8
    assert found[0].score > 3 * found[1].score


def test_two_places_are_two_hypotheses_the_likelier_first() -> None:
    other = View(Point(502_000.0, 5_401_000.0, EPSG), 380.0, 250.0)
    louder = votes_for(TRUTH)
    softer = votes_for(other, crops=4)
    found = hypotheses_from(joined(softer, louder, noise(40)), CAMERA, EPSG, OPTIONS)
    assert off(found[0].view)[0] < 15 and off(found[1].view, other)[0] < 20
    assert found[0].score > found[1].score > found[2].score


def test_the_same_place_turned_round_is_another_hypothesis() -> None:
    turned = View(TRUTH.center, TRUTH.altitude_m, TRUTH.heading_deg + 180)
    found = hypotheses_from(joined(votes_for(TRUTH), votes_for(turned, crops=4)), CAMERA, EPSG, OPTIONS)
    assert off(found[0].view)[1] < 10
    assert off(found[1].view, turned)[1] < 10


def test_no_two_hypotheses_are_the_same_and_no_more_come_than_asked() -> None:
    few = VoteOptions(hypotheses=6)
    found = hypotheses_from(joined(noise(300), votes_for(TRUTH)), CAMERA, EPSG, few)
    assert len(found) == 6
    pairs = [(a.view, b.view) for i, a in enumerate(found) for b in found[:i]]
    assert all(off(a, b)[0] > 30 or off(a, b)[1] > 10 or off(a, b)[2] > 12 for a, b in pairs)
    scores = [h.score for h in found]
    assert scores == sorted(scores, reverse=True) and sum(scores) <= 1


def test_a_single_reference_is_a_hypothesis_of_its_own_view() -> None:
    one = votes_for(View(TRUTH.center, 125.0, 90.0), crops=1, stride_m=1e-3)
    only = hypotheses_from(one, CAMERA, EPSG, OPTIONS)
    at_spot = View(TRUTH.center, 125.0, 90.0)
    assert len(only) == 1 and only[0].score == pytest.approx(1, abs=1e-3)
    assert off(only[0].view, at_spot) == pytest.approx((0, 0, 0), abs=0.01)


def test_votes_move_with_the_map() -> None:
    here = votes_for(TRUTH)
    there = Votes(*(getattr(here, n) for n in Votes.__slots__))
    shift = Votes(
        there.right_px, there.ahead_px, there.gsd_m, there.east_m + 12_345.0, there.north_m - 54_321.0,
        there.heading_deg, there.weight,
    )  # fmt: skip
    one, other = (hypotheses_from(v, CAMERA, EPSG, OPTIONS)[0].view.center for v in (here, shift))
    assert other.east_m - one.east_m == pytest.approx(12_345.0, abs=1e-5)
    assert other.north_m - one.north_m == pytest.approx(-54_321.0, abs=1e-5)


def test_a_crop_s_weights_add_up_to_one_and_the_most_similar_counts_most() -> None:
    shares = vote_weights(np.array([[0.5, 0.4, 0.1], [0.2, 0.2, 0.2]]), 0.05)
    assert shares.sum(axis=1) == pytest.approx([1, 1])
    assert shares[0, 0] / shares[0, 1] == pytest.approx(np.exp(2))
    assert shares[1] == pytest.approx([1 / 3] * 3)


def test_affinity_of_near_pairs_is_that_of_all_pairs() -> None:
    """Against the definition, written out for every pair."""
    votes = joined(votes_for(TRUTH, crops=3), noise(40))
    affinity = _Affinity.among(votes, OPTIONS)
    found = np.stack([affinity.to(i) for i in range(len(votes))])
    east, north = votes.centers()
    spread = OPTIONS.position_m**2 + (votes.reach_m * np.radians(OPTIONS.turn_deg)) ** 2
    away = (east[:, None] - east) ** 2 + (north[:, None] - north) ** 2
    turn = (votes.heading_deg[:, None] - votes.heading_deg + 180) % 360 - 180
    scale = np.log(votes.gsd_m[:, None] / votes.gsd_m) / OPTIONS.scale
    wanted = np.exp(
        -0.5 * (away / (spread[:, None] + spread) + (turn / (2 * OPTIONS.turn_deg)) ** 2 + scale**2)
    )
    np.testing.assert_allclose(found, wanted, atol=1.1e-4)
    assert np.count_nonzero(found) < 0.7 * found.size, "most pairs are never computed"
