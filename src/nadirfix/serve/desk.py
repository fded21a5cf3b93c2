"""One worker and a short queue before it: what does not fit is refused, and told when to come again."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from nadirfix.errors import ServiceError

__all__ = ["Busy", "ClientGone", "Desk"]

Answer = TypeVar("Answer")

#: How much the latest piece of work counts in the usual time of one.
_LATEST = 0.1
#: How long one piece of work is thought to take before there has been any.
_FIRST_GUESS_S = 0.1
#: Nobody is told to wait longer than this many full queues.
_LONGEST_QUEUES = 4


class ClientGone(Exception):  # noqa: N818 (nothing is wrong: nobody listens any more)
    """The client has hung up; nobody is there to be told anything."""


class Busy(ServiceError):  # noqa: N818 (the queue is full, nothing is broken)
    """The queue is full; ``retry_after_s`` says when to come again."""

    def __init__(self, what: str, *, seen: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            "service.busy", what, seen=seen, do=f"ask again in {retry_after_s} s, as Retry-After says"
        )


class Desk:
    """Takes work until its queue is full, and does it piece by piece in a thread of its own."""

    def __init__(self, *, capacity: int) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="nadirfix-desk")
        self._lock = threading.Lock()
        self._capacity, self._usual_s = capacity, _FIRST_GUESS_S
        self._taken, self._promised_s = 0, 0.0
        self._began_s: float | None = None
        self._stopped = False

    @property
    def taken(self) -> int:
        """Pieces of work taken and not finished."""
        return self._taken

    @property
    def usual_s(self) -> float:
        """How long one piece of work usually takes."""
        return self._usual_s

    @property
    def at_work_s(self) -> float:
        """How long the piece at work has been at it; 0 when there is none."""
        began_s = self._began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    def check(self) -> None:
        """Refuse now what would be refused anyway, before its photo has been sent."""
        with self._lock:
            self._refuse_if_full()

    async def ask(
        self,
        work: Callable[[], Answer],
        *,
        patience_s: float,
        gone: asyncio.Task[None] | None = None,
        reserved: bool = False,
    ) -> Answer:
        """The answer, unless it takes too long or ``gone`` tells that nobody waits for it any more.

        Reserved work has its place already: whoever brings it makes sure that there is little of it.
        """
        future = self._take(work, reserved=reserved)
        answer = asyncio.wrap_future(future)
        both: set[asyncio.Future[Answer] | asyncio.Task[None]] = {answer} if gone is None else {answer, gone}
        try:
            await asyncio.wait(both, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise _too_late(patience_s) if gone is None or not gone.done() else ClientGone
        finally:
            future.cancel()  # what has not begun will not begin
            answer.cancel()

    def stop(self) -> None:
        """Take nothing new and finish what was taken."""
        with self._lock:
            self._stopped = True
        self._pool.shutdown(wait=True)

    def _take(self, work: Callable[[], Answer], *, reserved: bool) -> Future[Answer]:
        with self._lock:
            if not reserved:
                self._refuse_if_full()
            if self._stopped:
                raise _stopping()
            self._taken += 1
            future = self._pool.submit(self._timed, work)
        future.add_done_callback(self._finished)
        return future

    def _refuse_if_full(self) -> None:
        """Tell those who come too early to come back one after another, not all at once."""
        if self._taken < self._capacity:
            return
        now_s = time.monotonic()
        queue_s = self._capacity * self._usual_s
        free_s = now_s + self._taken * self._usual_s
        self._promised_s = min(
            max(self._promised_s, free_s) + self._usual_s, now_s + _LONGEST_QUEUES * queue_s
        )
        wait_s = max(1, math.ceil(self._promised_s - now_s))
        raise Busy("the queue is full", seen=f"{self._taken} photos wait", retry_after_s=wait_s)

    def _timed(self, work: Callable[[], Answer]) -> Answer:
        self._began_s = began_s = time.monotonic()
        try:
            return work()
        finally:
            self._began_s = None
            self._usual_s += _LATEST * (time.monotonic() - began_s - self._usual_s)

    def _finished(self, _: Future[Answer]) -> None:
        with self._lock:
            self._taken -= 1


def _too_late(patience_s: float) -> ServiceError:
    return ServiceError(
        "service.timeout",
        "the photo was not placed in time",
        seen=f"no answer within {patience_s:g} s",
        do="ask again when the service is less busy, or send a smaller picture",
    )


def _stopping() -> ServiceError:
    return ServiceError(
        "service.stopping",
        "the service is about to stop",
        seen="a request after it was told to",
        do="ask again when it is back",
    )
