"""Whoever is let in is answered within queue × mean service time in 99 of 100 cases, and nobody idles.

A service of the fewest parts, on a clock of its own: the gate that lets clients in, workers that take as
long as they are told, clients that come again when Retry-After says. The mean service time is that from one
answer to the next while all workers are at it: the mean time of a piece over their number.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("fastapi")

from nadirfix.serve.options import Pace, ServeOptions
from nadirfix.serve.queue.admission import Busy, Gate, Seat
from nadirfix.serve.queue.service_time import Reckoning, ServiceTimes

QUEUE = ServeOptions().queue
Times = NDArray[np.float64]


@dataclass
class StandIn:
    """A service without photos: ``took_s`` are the times of its pieces of work, in order."""

    took_s: Times
    clients: int
    workers: int = 1
    stuck: int = 0  # of the workers, that will never be done
    once: bool = False  # each client has one photo; else it brings the next as soon as it is answered
    pace: Pace = field(default_factory=Pace)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.times, self.latencies_s = ServiceTimes(self.pace), []
        self.idle_s, self.at_work = 0.0, 0
        self.waiting: list[tuple[int, float]] = []
        self.gate = Gate(
            capacity=self.queue, pace=self.pace, times=self.times, workers=self, what="photo",
            clock=lambda: self.now_s,
        )  # fmt: skip
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers, self.pieces = count(), iter(self.took_s)

    @property
    def queue(self) -> int:
        return 8 * max(2, self.workers)

    @property
    def able(self) -> int:
        return self.workers - self.stuck

    @property
    def count(self) -> int:
        return len(self.waiting) + self.at_work

    @property
    def bound_s(self) -> float:
        return float(self.queue * self.took_s.mean() / self.able)

    def run(self) -> StandIn:
        for _ in range(self.clients):
            self._later(0.0, self._comes)
        while self.events and len(self.latencies_s) < len(self.took_s):
            before_s, (self.now_s, _, happens) = self.now_s, heapq.heappop(self.events)
            if len(self.latencies_s) + self.at_work < len(self.took_s):  # the last ones leave workers idle
                self.idle_s += (self.able - self.at_work) * (self.now_s - before_s)
            happens()
            while self.at_work < self.able and self.waiting:
                self._begin()
        return self

    def _later(self, wait_s: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now_s + wait_s, next(self.numbers), happens))

    def _comes(self) -> None:
        try:
            seat: Seat = self.gate.enter()
        except Busy as busy:
            self._later(busy.retry_after_s, self._comes)
            return
        heapq.heappush(self.waiting, (self.gate.turn(seat, reserved=False), self.now_s))

    def _begin(self) -> None:
        (_, came_s), took_s = heapq.heappop(self.waiting), next(self.pieces, 1.0)
        self.at_work += 1
        self._later(took_s, partial(self._done, came_s, took_s))

    def _done(self, came_s: float, took_s: float) -> None:
        self.at_work -= 1
        self.latencies_s.append(self.now_s - came_s)
        self.times.note(took_s)
        if not self.once:
            self._later(0.0, self._comes)


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
SPREADS, MEANS_S, SEEDS = st.floats(0.05, 0.9), st.floats(0.2, 2.0), st.integers(0, 2**31)
WORKERS = st.sampled_from([1, 2, 3, 8])


@given(WORKERS, KINDS, SPREADS, MEANS_S, SEEDS)
@settings(max_examples=60, deadline=None)
def test_who_is_let_in_is_answered_in_the_usual_time_of_a_queue(
    workers: int, kind: str, spread: float, mean_s: float, seed: int
) -> None:
    service = StandIn(drawn(kind, spread, mean_s, seed), clients=64 * workers, workers=workers).run()
    late = np.array(service.latencies_s) > service.bound_s
    assert late.mean() <= 0.01, f"{100 * late.mean():.1f} % later, spread {spread:.2f}, {workers} workers"


@given(KINDS, SPREADS, SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_bound_is_that_of_the_workers_that_are_not_stuck(kind: str, spread: float, seed: int) -> None:
    service = StandIn(drawn(kind, spread, 0.5, seed), clients=64, workers=2, stuck=1).run()
    assert service.gate.bound_s == pytest.approx(service.queue * service.gate.reckoning.usual_s)
    assert (np.array(service.latencies_s) > service.bound_s).mean() <= 0.01


@pytest.mark.parametrize("workers", [1, 2])
def test_without_the_reckoning_the_bound_would_be_broken(workers: int) -> None:
    counted = StandIn(
        drawn("gamma", 0.5, 0.6, 0), clients=64, workers=workers, pace=Pace(deviations=0.0)
    ).run()
    assert np.percentile(counted.latencies_s, 99) > 1.2 * counted.bound_s


@given(WORKERS, KINDS, SPREADS, MEANS_S, SEEDS)
@settings(max_examples=20, deadline=None)
def test_no_worker_idles_while_clients_wait(
    workers: int, kind: str, spread: float, mean_s: float, seed: int
) -> None:
    service = StandIn(drawn(kind, spread, mean_s, seed, 300), clients=64 * workers, workers=workers).run()
    assert service.idle_s == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_crowd_that_comes_once_is_served_without_a_pause(workers: int) -> None:
    took_s = drawn("gamma", 0.5, 0.6, 1, 200)
    service = StandIn(took_s, clients=200, once=True, workers=workers).run()
    assert len(service.latencies_s) == 200
    assert service.idle_s <= 0.02 * took_s.sum(), f"idle for {service.idle_s:.1f} s"


def test_places_are_fewer_the_more_times_vary_and_never_fewer_than_two() -> None:
    places = [Reckoning(0.6, spread).places(QUEUE, 3.0) for spread in (0.0, 0.2, 0.5, 1.0, 9.0)]
    assert places[0] == QUEUE and places == sorted(places, reverse=True) and places[-1] == 2
    assert Reckoning(0.6, 9.0).places(1, 3.0) == 1


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_sure_time_is_that_of_sums_of_random_times(spread: float, workers: int) -> None:
    """Against a million sums drawn at random: three deviations are 99.865 of 100."""
    draw, shape = np.random.default_rng(2), spread**-2
    before, own = draw.gamma(7 * shape, spread**2, 1_000_000), draw.gamma(shape, spread**2, 1_000_000)
    wanted = np.percentile(before / workers + own, 99.865)
    near = 0.01 if workers == 1 else 0.1  # sums of times on two scales are gamma only nearly
    assert Reckoning(1.0, spread).sure_s(8, 3.0, workers=workers) == pytest.approx(wanted, rel=near)


def test_the_reckoning_follows_the_mean_and_deviation_it_was_told() -> None:
    pace = Pace(first_weight=0.0, latest=1e-9)
    times, told = ServiceTimes(pace), drawn("gamma", 0.7, 0.3, 3, 500)
    for took_s in told:
        times.note(took_s)
    assert times.reckoning.usual_s == pytest.approx(told.mean())
    assert times.reckoning.spread == pytest.approx(told.std() / told.mean())
