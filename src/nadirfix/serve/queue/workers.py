"""A few threads that do work in its order; what is stuck in one holds up neither the others nor the end."""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from nadirfix.serve.queue.service_time import ServiceTimes

__all__ = ["Workers"]

Answer = TypeVar("Answer")


class _Piece(NamedTuple):
    turn: int
    future: Future[Any]
    work: Callable[[], Any]


class Workers:
    """Do what they are given, whose turn is earliest first; so many pieces are at work at once.

    Python's own pool waits for its threads when the program ends, and keeps what was cancelled until its turn
    comes, photo and all. This one forgets it at once, and its threads may be left behind. A piece that takes
    longer than ``stuck_s`` cannot be stopped: its thread does not count any more until it is done.
    """

    def __init__(self, times: ServiceTimes, *, threads: int, stuck_s: float) -> None:
        self._times, self._most, self._stuck_s = times, threads, stuck_s
        self._changed = threading.Condition()
        self._waiting: list[_Piece] = []
        self._begun_s: dict[Future[Any], float] = {}
        self._threads: list[threading.Thread] = []
        self._stopped = False

    @property
    def count(self) -> int:
        """Pieces of work taken and neither finished nor stuck."""
        with self._changed:
            return len(self._waiting) + len(self._begun_s) - self._stuck()

    @property
    def stuck(self) -> int:
        """Pieces of work that have been at it for longer than any should."""
        with self._changed:
            return self._stuck()

    @property
    def able(self) -> int:
        """How many pieces can be at work at once: threads that are not stuck."""
        return self._most - self.stuck

    def put(self, work: Callable[[], Answer], *, turn: int) -> Future[Answer]:
        """Do this when all that is here and has an earlier turn has begun."""
        future: Future[Answer] = Future()
        with self._changed:
            self._add_thread()  # before the work: where none can be had, nothing of it is kept
            insort(self._waiting, _Piece(turn, future, work), key=lambda piece: piece.turn)
            self._changed.notify()
        return future

    def drop(self, future: Future[Any]) -> None:
        """Forget a piece of work that has not begun, with all it holds."""
        with self._changed:
            self._waiting = [kept for kept in self._waiting if kept.future is not future]

    def stop(self, within_s: float) -> bool:
        """Finish what was taken; False where something is still at work after this time."""
        until_s = time.monotonic() + within_s
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _add_thread(self) -> None:
        """One more, while there are fewer than may be; one that cannot start does not count."""
        if len(self._threads) < self._most:
            thread = threading.Thread(target=self._run, name="nadirfix-desk", daemon=True)
            thread.start()
            self._threads.append(thread)

    def _stuck(self) -> int:
        now_s = time.monotonic()
        return sum(now_s - began_s > self._stuck_s for began_s in self._begun_s.values())

    def _run(self) -> None:
        while self._do_next():
            pass

    def _do_next(self) -> bool:
        """One piece of work; nothing of it is kept while the next is waited for."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
            if not self._waiting:
                return False
            _, future, work = self._waiting.pop(0)
            if not future.set_running_or_notify_cancel():
                return True
            self._begun_s[future] = time.monotonic()
        try:
            answer, fault = work(), None
        except BaseException as error:  # whoever asked is told
            answer, fault = None, error
        self._note(future)
        if fault is None:
            future.set_result(answer)
        else:
            future.set_exception(fault)
        return True

    def _note(self, future: Future[Any]) -> None:
        """Its place is free before the answer is heard."""
        with self._changed:
            self._times.note(time.monotonic() - self._begun_s.pop(future))
