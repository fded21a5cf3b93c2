"""Whoever is let in is answered within queue × mean service time in 99 of 100 cases, and nobody idles.

A service of the fewest parts, on a clock of its own: the gate that lets clients in, one worker that takes as
long as it is told, clients that come again when Retry-After says.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("fastapi")

from nadirfix.serve.gate import Busy, Gate, Seat
from nadirfix.serve.options import Pace, ServeOptions
from nadirfix.serve.reckoning import Reckoning, ServiceTimes

QUEUE = ServeOptions().queue
Times = NDArray[np.float64]


@dataclass
class StandIn:
    """A service without photos: ``took_s`` are the times of its pieces of work, in order."""

    took_s: Times
    clients: int
    once: bool = False  # each client has one photo; else it brings the next as soon as it is answered
    pace: Pace = field(default_factory=Pace)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.times, self.latencies_s = ServiceTimes(self.pace), []
        self.idle_s, self.free_since_s = 0.0, 0.0
        self.waiting: list[tuple[int, float]] = []
        self.at_work: tuple[int, float] | None = None
        self.gate = Gate(
            capacity=QUEUE, pace=self.pace, times=self.times, in_work=self._count, what="photo",
            clock=lambda: self.now_s,
        )  # fmt: skip
        self.events: list[tuple[float, int, str]] = []
        self.numbers = count()

    def run(self) -> StandIn:
        for _ in range(self.clients):
            self._later(0.0, "comes")
        pieces = iter(self.took_s)
        while self.events and len(self.latencies_s) < len(self.took_s):
            self.now_s, _, what = heapq.heappop(self.events)
            self._comes() if what == "comes" else self._done()
            if self.at_work is None and self.waiting:
                self.idle_s += self.now_s - self.free_since_s
                self._begin(pieces)
        return self

    def _count(self) -> int:
        return len(self.waiting) + (self.at_work is not None)

    def _later(self, wait_s: float, what: str) -> None:
        heapq.heappush(self.events, (self.now_s + wait_s, next(self.numbers), what))

    def _comes(self) -> None:
        try:
            seat: Seat = self.gate.enter()
        except Busy as busy:
            self._later(busy.retry_after_s, "comes")
            return
        heapq.heappush(self.waiting, (self.gate.turn(seat, reserved=False), self.now_s))

    def _begin(self, pieces: Iterator[float]) -> None:
        self.at_work = heapq.heappop(self.waiting)
        self.piece_s = next(pieces, 1.0)
        self._later(self.piece_s, "done")

    def _done(self) -> None:
        assert self.at_work is not None
        self.latencies_s.append(self.now_s - self.at_work[1])
        self.at_work, self.free_since_s = None, self.now_s
        self.times.note(self.piece_s)
        if not self.once:
            self._later(0.0, "comes")


def drawn(kind: str, spread: float, mean_s: float, seed: int, pieces: int = 800) -> Times:
    draw = np.random.default_rng(seed)
    if kind == "alike":
        return np.full(pieces, mean_s)
    if kind == "gamma":
        return mean_s * draw.gamma(spread**-2, spread**2, pieces)
    if kind == "lognormal":
        sigma = np.sqrt(np.log1p(spread**2))
        return mean_s * draw.lognormal(-(sigma**2) / 2, sigma, pieces)
    often = spread**2 / (1 + spread**2) + 0.02  # some are quick failures, the others alike
    return np.where(draw.random(pieces) < often, 0.01 * mean_s, mean_s / (1 - often))


KINDS = st.sampled_from(["alike", "gamma", "lognormal", "failures"])


@given(KINDS, st.floats(0.05, 0.9), st.floats(0.2, 2.0), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_who_is_let_in_is_answered_in_the_usual_time_of_a_queue(
    kind: str, spread: float, mean_s: float, seed: int
) -> None:
    service = StandIn(drawn(kind, spread, mean_s, seed), clients=64).run()
    late = np.array(service.latencies_s) > QUEUE * service.took_s.mean()
    assert late.mean() <= 0.01, f"{100 * late.mean():.1f} % later, spread {spread:.2f}"


def test_without_the_reckoning_the_bound_would_be_broken() -> None:
    counted = StandIn(drawn("gamma", 0.5, 0.6, 0), clients=64, pace=Pace(deviations=0.0)).run()
    assert np.percentile(counted.latencies_s, 99) > 1.2 * QUEUE * counted.took_s.mean()


@given(KINDS, st.floats(0.05, 0.9), st.floats(0.2, 2.0), st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_the_worker_never_idles_while_clients_wait(
    kind: str, spread: float, mean_s: float, seed: int
) -> None:
    service = StandIn(drawn(kind, spread, mean_s, seed, 300), clients=64).run()
    assert service.idle_s == 0


def test_a_crowd_that_comes_once_is_served_without_a_pause() -> None:
    took_s = drawn("gamma", 0.5, 0.6, 1, 200)
    service = StandIn(took_s, clients=200, once=True).run()
    assert len(service.latencies_s) == 200
    assert service.idle_s <= 0.02 * took_s.sum(), f"idle for {service.idle_s:.1f} s"


def test_places_are_fewer_the_more_times_vary_and_never_fewer_than_two() -> None:
    places = [Reckoning(0.6, spread).places(QUEUE, 3.0) for spread in (0.0, 0.2, 0.5, 1.0, 9.0)]
    assert places[0] == QUEUE and places == sorted(places, reverse=True) and places[-1] == 2
    assert Reckoning(0.6, 9.0).places(1, 3.0) == 1


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_sure_time_is_that_of_sums_of_random_times(spread: float) -> None:
    """Against a million sums drawn at random: three deviations are 99.865 of 100."""
    sums = np.random.default_rng(2).gamma(8 * spread**-2, spread**2, 1_000_000)
    wanted = np.percentile(sums, 99.865)
    assert Reckoning(1.0, spread).sure_s(8, 3.0) == pytest.approx(wanted, rel=0.01)


def test_the_reckoning_follows_the_mean_and_deviation_it_was_told() -> None:
    pace = Pace(first_weight=0.0, latest=1e-9)
    times, told = ServiceTimes(pace), drawn("gamma", 0.7, 0.3, 3, 500)
    for took_s in told:
        times.note(took_s)
    assert times.reckoning.usual_s == pytest.approx(told.mean())
    assert times.reckoning.spread == pytest.approx(told.std() / told.mean())
