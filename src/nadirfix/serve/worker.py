"""One thread that does one piece of work after another; what is stuck in it does not hold up the end."""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from nadirfix.serve.reckoning import ServiceTimes

__all__ = ["Worker"]

Answer = TypeVar("Answer")


class _Piece(NamedTuple):
    turn: int
    future: Future[Any]
    work: Callable[[], Any]


class Worker:
    """Does what it is given, whose turn is earliest first.

    Python's own pool waits for its threads when the program ends, and keeps what was cancelled until its turn
    comes, photo and all. This one forgets it at once, and its thread may be left behind.
    """

    def __init__(self, times: ServiceTimes) -> None:
        self._times = times
        self._changed = threading.Condition()
        self._waiting: list[_Piece] = []
        self._thread: threading.Thread | None = None
        self._began_s: float | None = None
        self._stopped = False

    @property
    def count(self) -> int:
        """Pieces of work taken and not finished."""
        with self._changed:
            return len(self._waiting) + (self._began_s is not None)

    @property
    def at_work_s(self) -> float:
        """How long the piece at work has been at it; 0 when there is none."""
        began_s = self._began_s
        return 0.0 if began_s is None else time.monotonic() - began_s

    def put(self, work: Callable[[], Answer], *, turn: int) -> Future[Answer]:
        """Do this when all that is here and has an earlier turn is done."""
        future: Future[Answer] = Future()
        with self._changed:
            insort(self._waiting, _Piece(turn, future, work), key=lambda piece: piece.turn)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="nadirfix-desk", daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def drop(self, future: Future[Any]) -> None:
        """Forget a piece of work that has not begun, with all it holds."""
        with self._changed:
            self._waiting = [kept for kept in self._waiting if kept.future is not future]

    def stop(self, within_s: float) -> bool:
        """Finish what was taken; False where something is still at work after this time."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(within_s)
        return self._thread is None or not self._thread.is_alive()

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
            self._began_s = began_s = time.monotonic()
        try:
            answer, fault = work(), None
        except BaseException as error:  # whoever asked is told
            answer, fault = None, error
        self._note(time.monotonic() - began_s)
        if fault is None:
            future.set_result(answer)
        else:
            future.set_exception(fault)
        return True

    def _note(self, took_s: float) -> None:
        """Its place is free before the answer is heard."""
        with self._changed:
            self._began_s = None
            self._times.note(took_s)
