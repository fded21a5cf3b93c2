"""Admission control: a photo is accepted only if it can be answered in time; others are told when to retry.

Decided in ADR 26.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from nadirfix.errors import ServiceError
from nadirfix.serve.options import MAX_RETRY_QUEUES, QueueOptions
from nadirfix.serve.queue.service_time import ServiceTimeEstimate, ServiceTimes

__all__ = ["AdmissionControl", "Busy", "Reservation", "WorkerPool"]


class Busy(ServiceError):  # noqa: N818 (the queue is full, nothing is broken)
    """The queue is full; ``retry_after_s`` says when to come again."""

    def __init__(self, what: str, *, seen: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            "service.busy", what, seen=seen, do=f"ask again in {retry_after_s} s, as Retry-After says"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A place in the queue for a photo that is still being uploaded; it keeps its turn."""

    turn: int
    until_s: float


class WorkerPool(Protocol):
    """The workers that jobs are handed to."""

    @property
    def count(self) -> int:
        """Jobs handed over that are neither finished nor stuck."""
        ...

    @property
    def usable(self) -> int:
        """How many jobs can run at the same time."""
        ...


class AdmissionControl:
    """Accepts jobs as long as the last one is answered within the mean service time of a full queue.

    ``clock`` is for tests.
    """

    def __init__(
        self,
        *,
        capacity: int,
        options: QueueOptions,
        times: ServiceTimes,
        workers: WorkerPool,
        noun: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capacity, self._options, self._noun = capacity, options, noun
        self._times, self._workers, self._clock = times, workers, clock
        self._reservations: set[Reservation] = set()
        self._turns = count()
        self._next_retry_s = 0.0

    @property
    def estimate(self) -> ServiceTimeEstimate:
        """How long one job takes, and how far that varies."""
        return self._times.estimate

    @property
    def pending(self) -> int:
        """Jobs accepted that are neither finished nor stuck, reservations included."""
        now_s = self._clock()
        return self._workers.count + sum(reservation.until_s > now_s for reservation in self._reservations)

    @property
    def limit(self) -> int:
        """How many jobs may be pending now: fewer than the capacity, the more service times vary."""
        return self.estimate.admissible(self._capacity, self._options.deviations, workers=self._usable)

    @property
    def expected_s(self) -> float:
        """How long a job accepted now usually waits for its answer."""
        rounds = 1 + max(0, self.pending + 1 - self._usable) / self._usable
        return rounds * self.estimate.mean_s

    @property
    def interval_s(self) -> float:
        """The mean time from one answer to the next while all workers are busy."""
        return self.estimate.mean_s / self._usable

    @property
    def bound_s(self) -> float:
        """An accepted job is answered within this time in 99 of 100 cases."""
        return self._capacity * self.interval_s

    def reserve(self) -> Reservation:
        """A place that is kept for a while; an error where no answer in time could be promised."""
        self._refuse_if_full()
        reservation = Reservation(next(self._turns), self._clock() + self._options.reservation_s)
        self._reservations.add(reservation)
        return reservation

    def release(self, reservation: Reservation) -> None:
        """The place is no longer needed, or its job has been handed over."""
        self._reservations.discard(reservation)

    def turn(self, reservation: Reservation | None, *, admitted: bool) -> int:
        """The turn of the reservation; without one, or after it has expired, behind everybody else."""
        is_valid = reservation is not None and reservation.until_s > self._clock()
        if reservation is not None:
            self.release(reservation)
            if is_valid:
                return reservation.turn
        if not admitted:
            self._refuse_if_full()
        return next(self._turns)

    @property
    def _usable(self) -> int:
        """Where all workers are stuck, estimates are made as if one were not: some number is needed."""
        return max(1, self._workers.usable)

    def _refuse_if_full(self) -> None:
        """Retry times are spread out, so that refused clients return one by one, as places become free."""
        pending, interval_s = self.pending, self.interval_s
        if pending < self.limit:
            return
        now_s = self._clock()
        latest_s = now_s + MAX_RETRY_QUEUES * self._capacity * interval_s
        self._next_retry_s = min(max(self._next_retry_s, now_s) + interval_s, latest_s)
        wait_s = max(1, math.ceil(min(self._next_retry_s - now_s, self._options.max_retry_s)))
        raise Busy("the queue is full", seen=f"{pending} {self._noun}s in it", retry_after_s=wait_s)
