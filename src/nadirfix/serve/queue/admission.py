"""Who is let in, and when the others shall come again: a place is given only where it can be kept to."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from nadirfix.errors import ServiceError
from nadirfix.serve.options import Pace
from nadirfix.serve.queue.service_time import Reckoning, ServiceTimes

__all__ = ["AtWork", "Busy", "Gate", "Seat"]


class Busy(ServiceError):  # noqa: N818 (the queue is full, nothing is broken)
    """The queue is full; ``retry_after_s`` says when to come again."""

    def __init__(self, what: str, *, seen: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            "service.busy", what, seen=seen, do=f"ask again in {retry_after_s} s, as Retry-After says"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A place in the queue for work that is still on its way; its turn comes in the order of seats."""

    turn: int
    until_s: float


class AtWork(Protocol):
    """Those whom work is handed on to."""

    @property
    def count(self) -> int:
        """Pieces of work handed on and neither finished nor stuck."""
        ...

    @property
    def able(self) -> int:
        """How many pieces can be at work at once."""
        ...


class Gate:
    """Lets work in as long as the last who came is answered within the usual time of a full queue.

    ``clock`` is for tests.
    """

    def __init__(
        self,
        *,
        capacity: int,
        pace: Pace,
        times: ServiceTimes,
        workers: AtWork,
        what: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capacity, self._pace, self._what = capacity, pace, what
        self._times, self._workers, self._clock = times, workers, clock
        self._seats: set[Seat] = set()
        self._turns = count()
        self._promised_s = 0.0

    @property
    def reckoning(self) -> Reckoning:
        """How long one piece of work takes, and how far that varies."""
        return self._times.reckoning

    @property
    def taken(self) -> int:
        """Pieces of work let in and neither finished nor stuck, those on their way to a seat included."""
        now_s = self._clock()
        return self._workers.count + sum(seat.until_s > now_s for seat in self._seats)

    @property
    def places(self) -> int:
        """How many may be in the house now: fewer than fit in, the more their times vary."""
        return self.reckoning.places(self._capacity, self._pace.deviations, workers=self._able)

    @property
    def expected_s(self) -> float:
        """How long whoever is let in now waits for an answer, usually."""
        rounds = 1 + max(0, self.taken + 1 - self._able) / self._able
        return rounds * self.reckoning.usual_s

    @property
    def interval_s(self) -> float:
        """The usual time from one answer to the next while all are at work: how soon places become free."""
        return self.reckoning.usual_s / self._able

    @property
    def bound_s(self) -> float:
        """Within this whoever is let in is answered, but for one in a hundred."""
        return self._capacity * self.interval_s

    def enter(self) -> Seat:
        """A place that is kept for a while; a refusal where nobody could keep to it."""
        self._refuse_if_full()
        seat = Seat(next(self._turns), self._clock() + self._pace.seat_s)
        self._seats.add(seat)
        return seat

    def leave(self, seat: Seat) -> None:
        """The place is not needed any more, or has been handed on."""
        self._seats.discard(seat)

    def turn(self, seat: Seat | None, *, reserved: bool) -> int:
        """Whose turn it is to be: that of the seat, or, where none is held any more, after all others."""
        held = seat is not None and seat.until_s > self._clock()
        if seat is not None:
            self.leave(seat)
            if held:
                return seat.turn
        if not reserved:
            self._refuse_if_full()
        return next(self._turns)

    @property
    def _able(self) -> int:
        """Where all are stuck it is reckoned as if one were not: something must be told."""
        return max(1, self._workers.able)

    def _refuse_if_full(self) -> None:
        """Tell those who come too early to come back one after another, as places become free."""
        taken, interval_s = self.taken, self.interval_s
        if taken < self.places:
            return
        now_s = self._clock()
        latest_s = now_s + self._pace.longest_queues * self._capacity * interval_s
        self._promised_s = min(max(self._promised_s, now_s) + interval_s, latest_s)
        wait_s = max(1, math.ceil(min(self._promised_s - now_s, self._pace.longest_wait_s)))
        raise Busy("the queue is full", seen=f"{taken} {self._what}s in it", retry_after_s=wait_s)
