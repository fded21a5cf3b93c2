"""Few workers and a short queue before them: what does not fit is refused, and told when to come again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nadirfix.errors import ServiceError
from nadirfix.serve.options import Pace
from nadirfix.serve.queue.admission import Busy, Gate, Seat
from nadirfix.serve.queue.service_time import ServiceTimes
from nadirfix.serve.queue.workers import Workers

__all__ = ["Busy", "ClientGone", "Desk", "Seat"]

Answer = TypeVar("Answer")


class ClientGone(Exception):  # noqa: N818 (nothing is wrong: nobody listens any more)
    """The client has hung up; nobody is there to be told anything."""


class Desk:
    """Takes work until its queue is full, and does it in threads of its own, so many pieces at once.

    Everything but ``stop`` is called from the event loop, so nothing here needs a lock.
    """

    def __init__(
        self,
        *,
        capacity: int,
        workers: int = 1,
        stuck_s: float = math.inf,
        what: str = "photo",
        pace: Pace | None = None,
    ) -> None:
        pace = pace or Pace()
        times = ServiceTimes(pace)
        self._workers, self._what = Workers(times, threads=workers, stuck_s=stuck_s), what
        self._gate = Gate(capacity=capacity, pace=pace, times=times, workers=self._workers, what=what)
        self._stopped = False

    @property
    def gate(self) -> Gate:
        """Who is let in: how many there are, how many may be, and how long they wait."""
        return self._gate

    @property
    def taken(self) -> int:
        """Pieces of work taken and neither finished nor stuck, those on their way to a seat included."""
        return self._gate.taken

    @property
    def stuck(self) -> int:
        """Pieces of work that have been at it for longer than any should."""
        return self._workers.stuck

    @property
    def able(self) -> int:
        """How many pieces can be at work at once; 0 where all are stuck."""
        return self._workers.able

    @property
    def idles(self) -> bool:
        """Whether a worker has nothing to do, and nobody is on the way to it."""
        return self.taken < self.able

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        """A place for a photo before it is sent, or a refusal that costs nobody anything.

        It is kept for a while: whoever sends more slowly must find another when all is there.
        """
        seat = self._gate.enter()
        try:
            yield seat
        finally:
            self._gate.leave(seat)

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
        turn = self._gate.turn(seat, reserved=reserved)
        if self._stopped:
            raise _stopping()
        future = self._workers.put(work, turn=turn)
        answer = asyncio.wrap_future(future)
        both: set[asyncio.Future[Answer] | asyncio.Task[None]] = {answer} if gone is None else {answer, gone}
        try:
            await asyncio.wait(both, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise _too_late(self._what, patience_s) if gone is None or not gone.done() else ClientGone
        finally:
            self._workers.drop(future)
            answer.cancel()

    def stop(self, within_s: float) -> bool:
        """Take nothing new and finish what was taken; False where something is stuck."""
        self._stopped = True
        return self._workers.stop(within_s)


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
