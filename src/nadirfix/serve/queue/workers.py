"""A few worker threads that run jobs in order; a stuck job blocks neither the others nor shutting down.

Decided in ADR 34.
"""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from nadirfix.serve.queue.service_time import ServiceTimes

__all__ = ["Workers"]

Result = TypeVar("Result")


class _Job(NamedTuple):
    turn: int
    future: Future[Any]
    work: Callable[[], Any]


class Workers:
    """Runs jobs, earliest turn first, at most ``threads`` of them at the same time.

    Python's own pool waits for its threads when the program ends, and keeps a cancelled job until its turn
    comes, photo included. This one forgets it at once, and its threads may be left behind. A job that takes
    longer than ``stuck_s`` cannot be stopped: its thread does not count any more until it is done.
    """

    def __init__(self, times: ServiceTimes, *, threads: int, stuck_s: float) -> None:
        self._times, self._max_threads, self._stuck_s = times, threads, stuck_s
        self._changed = threading.Condition()
        self._waiting: list[_Job] = []
        self._started_s: dict[Future[Any], float] = {}
        self._threads: list[threading.Thread] = []
        self._stopped = False

    @property
    def count(self) -> int:
        """Jobs accepted that are neither finished nor stuck."""
        with self._changed:
            return len(self._waiting) + len(self._started_s) - self._stuck()

    @property
    def stuck(self) -> int:
        """Jobs that have been running for longer than any should."""
        with self._changed:
            return self._stuck()

    @property
    def usable(self) -> int:
        """How many jobs can run at the same time: threads that are not stuck."""
        return self._max_threads - self.stuck

    def put(self, work: Callable[[], Result], *, turn: int) -> Future[Result]:
        """Run this after all waiting jobs with an earlier turn have started."""
        future: Future[Result] = Future()
        with self._changed:
            self._add_thread()  # before the job: where no thread can be started, nothing of it is kept
            insort(self._waiting, _Job(turn, future, work), key=lambda job: job.turn)
            self._changed.notify()
        return future

    def drop(self, future: Future[Any]) -> None:
        """Forget a job that has not started, with all it holds."""
        with self._changed:
            self._waiting = [job for job in self._waiting if job.future is not future]

    def stop(self, within_s: float) -> bool:
        """Finish what was accepted; False where something is still running after this time."""
        until_s = time.monotonic() + within_s
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _add_thread(self) -> None:
        """One more, while there are fewer than allowed; one that cannot start does not count."""
        if len(self._threads) < self._max_threads:
            thread = threading.Thread(target=self._run, name="nadirfix-worker", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _stuck(self) -> int:
        now_s = time.monotonic()
        return sum(now_s - started_s > self._stuck_s for started_s in self._started_s.values())

    def _run(self) -> None:
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Run one job; nothing of it is kept while waiting for the next."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
            if not self._waiting:
                return False
            _, future, work = self._waiting.pop(0)
            if not future.set_running_or_notify_cancel():
                return True
            self._started_s[future] = time.monotonic()
        try:
            result, failure = work(), None
        except BaseException as error:  # handed on to whoever waits for the result
            result, failure = None, error
        self._finish(future)
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
        return True

    def _finish(self, future: Future[Any]) -> None:
        """Free the place before the result is delivered."""
        with self._changed:
            self._times.note(time.monotonic() - self._started_s.pop(future))
