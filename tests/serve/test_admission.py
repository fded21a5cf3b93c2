"""An accepted photo is answered within queue × mean service time in 99 of 100 cases, and no worker idles.

A minimal service, simulated on a clock of its own: admission control, workers with given service times,
clients that retry when Retry-After says. The mean service time is that from one answer to the next while all
workers are busy: the mean time of a job over their number.
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

from nadirfix.serve.options import QueueOptions, ServeOptions
from nadirfix.serve.queue.admission import AdmissionControl, Busy, Reservation
from nadirfix.serve.queue.service_time import ServiceTimeEstimate, ServiceTimes

QUEUE = ServeOptions().queue
Times = NDArray[np.float64]


@dataclass
class SimulatedService:
    """A service without photos: ``took_s`` are the times of its jobs, in order."""

    took_s: Times
    clients: int
    workers: int = 1
    stuck: int = 0  # of the workers, that will never finish
    once: bool = False  # each client has one photo; else it brings the next as soon as it is answered
    options: QueueOptions = field(default_factory=QueueOptions)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.times, self.latencies_s = ServiceTimes(self.options), []
        self.idle_s, self.at_work = 0.0, 0
        self.waiting: list[tuple[int, float]] = []
        self.admission = AdmissionControl(
            capacity=self.queue, options=self.options, times=self.times, workers=self, noun="photo",
            clock=lambda: self.now_s,
        )  # fmt: skip
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.numbers, self.jobs = count(), iter(self.took_s)

    @property
    def queue(self) -> int:
        return 8 * max(2, self.workers)

    @property
    def usable(self) -> int:
        return self.workers - self.stuck

    @property
    def count(self) -> int:
        return len(self.waiting) + self.at_work

    @property
    def bound_s(self) -> float:
        return float(self.queue * self.took_s.mean() / self.usable)

    def run(self) -> SimulatedService:
        for _ in range(self.clients):
            self._later(0.0, self._arrive)
        while self.events and len(self.latencies_s) < len(self.took_s):
            before_s, (self.now_s, _, event) = self.now_s, heapq.heappop(self.events)
            if len(self.latencies_s) + self.at_work < len(self.took_s):  # the last ones leave workers idle
                self.idle_s += (self.usable - self.at_work) * (self.now_s - before_s)
            event()
            while self.at_work < self.usable and self.waiting:
                self._begin()
        return self

    def _later(self, wait_s: float, event: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now_s + wait_s, next(self.numbers), event))

    def _arrive(self) -> None:
        try:
            reservation: Reservation = self.admission.reserve()
        except Busy as busy:
            self._later(busy.retry_after_s, self._arrive)
            return
        heapq.heappush(self.waiting, (self.admission.turn(reservation, admitted=False), self.now_s))

    def _begin(self) -> None:
        (_, came_s), took_s = heapq.heappop(self.waiting), next(self.jobs, 1.0)
        self.at_work += 1
        self._later(took_s, partial(self._finish, came_s, took_s))

    def _finish(self, came_s: float, took_s: float) -> None:
        self.at_work -= 1
        self.latencies_s.append(self.now_s - came_s)
        self.times.note(took_s)
        if not self.once:
            self._later(0.0, self._arrive)


def drawn(kind: str, variation: float, mean_s: float, seed: int, jobs: int = 800) -> Times:
    draw = np.random.default_rng(seed)
    if kind == "alike":
        return np.full(jobs, mean_s)
    if kind == "gamma":
        return mean_s * draw.gamma(variation**-2, variation**2, jobs)
    if kind == "lognormal":
        sigma = np.sqrt(np.log1p(variation**2))
        return mean_s * draw.lognormal(-(sigma**2) / 2, sigma, jobs)
    often = variation**2 / (1 + variation**2) + 0.02  # some are quick failures, the others alike
    return np.where(draw.random(jobs) < often, 0.01 * mean_s, mean_s / (1 - often))


KINDS = st.sampled_from(["alike", "gamma", "lognormal", "failures"])
SPREADS, MEANS_S, SEEDS = st.floats(0.05, 0.9), st.floats(0.2, 2.0), st.integers(0, 2**31)
WORKERS = st.sampled_from([1, 2, 3, 8])


@given(WORKERS, KINDS, SPREADS, MEANS_S, SEEDS)
@settings(max_examples=60, deadline=None)
def test_an_accepted_photo_is_answered_in_the_mean_time_of_a_full_queue(
    workers: int, kind: str, variation: float, mean_s: float, seed: int
) -> None:
    service = SimulatedService(
        drawn(kind, variation, mean_s, seed), clients=64 * workers, workers=workers
    ).run()
    late = np.array(service.latencies_s) > service.bound_s
    assert late.mean() <= 0.01, (
        f"{100 * late.mean():.1f} % later, variation {variation:.2f}, {workers} workers"
    )


@given(KINDS, SPREADS, SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_bound_is_that_of_the_workers_that_are_not_stuck(kind: str, variation: float, seed: int) -> None:
    service = SimulatedService(drawn(kind, variation, 0.5, seed), clients=64, workers=2, stuck=1).run()
    assert service.admission.bound_s == pytest.approx(service.queue * service.admission.estimate.mean_s)
    assert (np.array(service.latencies_s) > service.bound_s).mean() <= 0.01


@pytest.mark.parametrize("workers", [1, 2])
def test_by_counting_alone_the_bound_would_be_broken(workers: int) -> None:
    counted = SimulatedService(
        drawn("gamma", 0.5, 0.6, 0), clients=64, workers=workers, options=QueueOptions(deviations=0.0)
    ).run()
    assert np.percentile(counted.latencies_s, 99) > 1.2 * counted.bound_s


@given(WORKERS, KINDS, SPREADS, MEANS_S, SEEDS)
@settings(max_examples=20, deadline=None)
def test_no_worker_idles_while_clients_wait(
    workers: int, kind: str, variation: float, mean_s: float, seed: int
) -> None:
    service = SimulatedService(
        drawn(kind, variation, mean_s, seed, 300), clients=64 * workers, workers=workers
    ).run()
    assert service.idle_s == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_crowd_that_arrive_once_is_served_without_a_pause(workers: int) -> None:
    took_s = drawn("gamma", 0.5, 0.6, 1, 200)
    service = SimulatedService(took_s, clients=200, once=True, workers=workers).run()
    assert len(service.latencies_s) == 200
    assert service.idle_s <= 0.02 * took_s.sum(), f"idle for {service.idle_s:.1f} s"


def test_fewer_jobs_are_admissible_the_more_times_vary_and_never_fewer_than_two() -> None:
    limits = [
        ServiceTimeEstimate(0.6, variation).admissible(QUEUE, 3.0) for variation in (0.0, 0.2, 0.5, 1.0, 9.0)
    ]
    assert limits[0] == QUEUE and limits == sorted(limits, reverse=True) and limits[-1] == 2
    assert ServiceTimeEstimate(0.6, 9.0).admissible(1, 3.0) == 1


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("variation", [0.3, 1.0])
def test_the_quantile_is_that_of_sums_of_random_times(variation: float, workers: int) -> None:
    """Against a million sums drawn at random: three deviations are 99.865 of 100."""
    draw, shape = np.random.default_rng(2), variation**-2
    before, own = draw.gamma(7 * shape, variation**2, 1_000_000), draw.gamma(shape, variation**2, 1_000_000)
    expected = np.percentile(before / workers + own, 99.865)
    tolerance = 0.01 if workers == 1 else 0.1  # sums of times on two scales are gamma only nearly
    assert ServiceTimeEstimate(1.0, variation).quantile_s(8, 3.0, workers=workers) == pytest.approx(
        expected, rel=tolerance
    )


def test_the_estimate_follows_the_mean_and_deviation_of_the_times() -> None:
    options = QueueOptions(prior_weight=0.0, latest_weight=1e-9)
    times, service_s = ServiceTimes(options), drawn("gamma", 0.7, 0.3, 3, 500)
    for took_s in service_s:
        times.note(took_s)
    assert times.estimate.mean_s == pytest.approx(service_s.mean())
    assert times.estimate.variation == pytest.approx(service_s.std() / service_s.mean())
