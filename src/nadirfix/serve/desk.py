"""One worker and a short queue before it: what does not fit is refused, and told when to come again."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from nadirfix.errors import ServiceError
from nadirfix.serve.options import Pace
from nadirfix.serve.worker import Worker

__all__ = ["Busy", "ClientGone", "Desk", "Seat"]

Answer = TypeVar("Answer")


class ClientGone(Exception):  # noqa: N818 (nothing is wrong: nobody listens any more)
    """The client has hung up; nobody is there to be told anything."""


class Busy(ServiceError):  # noqa: N818 (the queue is full, nothing is broken)
    """The queue is full; ``retry_after_s`` says when to come again."""

    def __init__(self, what: str, *, seen: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            "service.busy", what, seen=seen, do=f"ask again in {retry_after_s} s, as Retry-After says"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """A place in the queue for work that is still on its way."""

    until_s: float


class Desk:
    """Takes work until its queue is full, and does it piece by piece in a thread of its own.

    Everything but ``stop`` is called from the event loop, so nothing here needs a lock.
    """

    def __init__(self, *, capacity: int, what: str = "photo", pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._worker = Worker(self._pace)
        self._capacity, self._what = capacity, what
        self._seats: set[Seat] = set()
        self._promised_s = 0.0
        self._stopped = False

    @property
    def taken(self) -> int:
        """Pieces of work taken and not finished, those on their way to a seat included."""
        now_s = time.monotonic()
        return self._worker.count + sum(seat.until_s > now_s for seat in self._seats)

    @property
    def usual_s(self) -> float:
        """How long one piece of work usually takes."""
        return self._worker.usual_s

    @property
    def at_work_s(self) -> float:
        """How long the piece at work has been at it; 0 when there is none."""
        return self._worker.at_work_s

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        """A place for a photo before it is sent, or a refusal that costs nobody anything.

        It is kept for a while: whoever sends more slowly must find another when all is there.
        """
        self._refuse_if_full()
        seat = Seat(time.monotonic() + self._pace.seat_s)
        self._seats.add(seat)
        try:
            yield seat
        finally:
            self._seats.discard(seat)

    async def ask(
        self,
        work: Callable[[], Answer],
        *,
        patience_s: float,
        gone: asyncio.Task[None] | None = None,
        seat: Seat | None = None,
        reserved: bool = False,
    ) -> Answer:
        """The answer, unless it takes too long or ``gone`` tells that nobody waits for it any more.

        Reserved work has its place already: whoever brings it makes sure that there is little of it.
        """
        self._admit(seat, reserved=reserved)
        future = self._worker.put(work)
        answer = asyncio.wrap_future(future)
        both: set[asyncio.Future[Answer] | asyncio.Task[None]] = {answer} if gone is None else {answer, gone}
        try:
            await asyncio.wait(both, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise _too_late(self._what, patience_s) if gone is None or not gone.done() else ClientGone
        finally:
            self._worker.drop(future)
            answer.cancel()

    def stop(self, within_s: float) -> bool:
        """Take nothing new and finish what was taken; False where something is stuck."""
        self._stopped = True
        return self._worker.stop(within_s)

    def _admit(self, seat: Seat | None, *, reserved: bool) -> None:
        """Whoever holds a seat gives it for a place in the queue; whoever has none must find one."""
        seated = seat is not None and seat.until_s > time.monotonic()
        if seat is not None:
            self._seats.discard(seat)
        if not (reserved or seated):
            self._refuse_if_full()
        if self._stopped:
            raise _stopping()

    def _refuse_if_full(self) -> None:
        """Tell those who come too early to come back one after another, not all at once."""
        taken, usual_s = self.taken, self.usual_s
        if taken < self._capacity:
            return
        now_s = time.monotonic()
        next_s = max(self._promised_s, now_s + taken * usual_s) + usual_s
        self._promised_s = min(next_s, now_s + self._pace.longest_queues * self._capacity * usual_s)
        wait_s = max(1, math.ceil(min(self._promised_s - now_s, self._pace.longest_wait_s)))
        raise Busy("the queue is full", seen=f"{taken} {self._what}s in it", retry_after_s=wait_s)


def _too_late(what: str, patience_s: float) -> ServiceError:
    return ServiceError(
        "service.timeout",
        f"the {what} was not ready in time",
        seen=f"no answer within {patience_s:g} s",
        do="ask again when the service is less busy",
    )


def _stopping() -> ServiceError:
    return ServiceError(
        "service.stopping",
        "the service is about to stop",
        seen="a request after it was told to",
        do="ask again when it is back",
    )
