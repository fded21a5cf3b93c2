"""A short queue before a few workers: what does not fit is refused and told when to come again (ADR 18)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from nadirfix.errors import ServiceError
from nadirfix.serve.options import QueueOptions
from nadirfix.serve.queue.admission import AdmissionControl, Busy, Reservation
from nadirfix.serve.queue.service_time import ServiceTimes
from nadirfix.serve.queue.workers import Workers

__all__ = ["Busy", "ClientGone", "Reservation", "WorkQueue"]

Result = TypeVar("Result")


class ClientGone(Exception):  # noqa: N818 (nothing is wrong: nobody waits for the answer)
    """The client has disconnected; there is nobody to answer."""


class WorkQueue:
    """Accepts jobs until the queue is full, and runs them in threads of its own, several at once.

    Everything but ``stop`` is called from the event loop, so nothing here needs a lock.
    """

    def __init__(
        self,
        *,
        capacity: int,
        workers: int = 1,
        stuck_s: float = math.inf,
        noun: str = "photo",
        options: QueueOptions | None = None,
    ) -> None:
        options = options or QueueOptions()
        times = ServiceTimes(options)
        self._workers, self._noun = Workers(times, threads=workers, stuck_s=stuck_s), noun
        self._admission = AdmissionControl(
            capacity=capacity, options=options, times=times, workers=self._workers, noun=noun
        )
        self._stopped = False

    @property
    def admission(self) -> AdmissionControl:
        """What decides which jobs are accepted, and knows how long they wait."""
        return self._admission

    @property
    def pending(self) -> int:
        """Jobs accepted that are neither finished nor stuck, reservations included."""
        return self._admission.pending

    @property
    def stuck(self) -> int:
        """Jobs that have been running for longer than any should."""
        return self._workers.stuck

    @property
    def usable(self) -> int:
        """How many jobs can run at the same time; 0 where all workers are stuck."""
        return self._workers.usable

    @property
    def has_idle_worker(self) -> bool:
        """Whether a worker has nothing to do, and no job is on its way to it."""
        return self.pending < self.usable

    @contextmanager
    def reserve(self) -> Iterator[Reservation]:
        """A place for a photo before it is uploaded, or a refusal that costs neither side anything.

        It is kept for a while: a slower upload needs another place when it is complete.
        """
        reservation = self._admission.reserve()
        try:
            yield reservation
        finally:
            self._admission.release(reservation)

    async def submit(
        self,
        work: Callable[[], Result],
        *,
        timeout_s: float,
        disconnected: asyncio.Task[None] | None = None,
        reservation: Reservation | None = None,
        admitted: bool = False,
    ) -> Result:
        """The result, unless it takes too long or the client has ``disconnected``.

        ``admitted`` jobs pass a full queue: the caller makes sure that there are few of them.
        """
        turn = self._admission.turn(reservation, admitted=admitted)
        if self._stopped:
            raise _stopping()
        future = self._workers.put(work, turn=turn)
        result = asyncio.wrap_future(future)
        events: list[asyncio.Future[Any]] = [result] if disconnected is None else [result, disconnected]
        try:
            await asyncio.wait(events, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            raise ClientGone if disconnected and disconnected.done() else _timeout(self._noun, timeout_s)
        finally:
            self._workers.drop(future)
            result.cancel()

    def stop(self, within_s: float) -> bool:
        """Accept nothing new and finish what was accepted; False where something is stuck."""
        self._stopped = True
        return self._workers.stop(within_s)


def _timeout(noun: str, timeout_s: float) -> ServiceError:
    return ServiceError(
        "service.timeout",
        f"the {noun} was not ready in time",
        seen=f"no answer within {timeout_s:g} s",
        do="ask again when the service is less busy",
    )


def _stopping() -> ServiceError:
    return ServiceError(
        "service.stopping",
        "the service is about to stop",
        seen="a request after it was told to",
        do="ask again when it is back",
    )
