"""Many photos at once, processed in parallel and returned in order, with only a few in memory."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Barrier, Lock, current_thread, main_thread
from typing import TypeVar

__all__ = ["cores", "map_in_order", "one_blas_thread", "run_in_background"]

A = TypeVar("A")
B = TypeVar("B")


def cores() -> int:
    """Cores this process may use: fewer than there are where its affinity is limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(work: Callable[[A], B], items: Iterable[A], *, workers: int) -> Iterator[B]:
    """The result for each item, in the items' order, some of them computed ahead.

    At most one item more than there are workers is taken before its result is needed, so that memory does not
    grow with their number. With one worker nothing is computed ahead, and no thread is started. An exception
    is raised where the item's result would have been.
    """
    if workers <= 1:
        yield from map(work, items)
        return
    waiting: deque[Future[B]] = deque()
    with _pool(workers) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def run_in_background(*calls: Callable[[], object]) -> Iterator[None]:
    """Run these in threads of their own while the block runs; their exceptions are raised after it."""
    with _pool(max(1, len(calls))) as pool:
        begun = [pool.submit(call) for call in calls]
        yield
        for one in begun:
            one.result()


class _OneThread:
    """Keeps the libraries behind numpy's matrix products to one thread while anybody needs it."""

    def __init__(self) -> None:
        self._lock, self._users, self._limit = Lock(), 0, ExitStack()

    def begin(self) -> None:
        """One more needs it; the first sets the limit."""
        from threadpoolctl import ThreadpoolController

        with self._lock:
            if self._users == 0:
                self._limit.enter_context(ThreadpoolController().limit(limits=1, user_api="blas"))
            self._users += 1

    def end(self) -> None:
        """One fewer needs it; the last lifts the limit."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.close()


_ONE_THREAD = _OneThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute matrix products on one thread each: shared out among more, their last digits are others.

    The limit is the process's, so it is counted how many need it. ONNX Runtime and OpenCV give the same
    numbers on any number of threads and keep theirs (ADR 49).
    """
    _ONE_THREAD.begin()
    try:
        yield
    finally:
        _ONE_THREAD.end()


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """So many threads, none of them left when the block is over: what they work with may be closed then.

    Python's pool starts a thread when it is first needed, and forgets one whose start Ctrl-C has broken off:
    it goes on with what others have closed, which ends the process. So all are started beforehand.
    """
    pool, all_there = ThreadPoolExecutor(threads), Barrier(threads)
    try:
        with _ctrl_c_later():
            for one in [pool.submit(all_there.wait) for _ in range(threads)]:
                one.result()
        yield pool
    finally:
        all_there.abort()  # where one could not be started the others would wait for it
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Ctrl-C counts when the block is over. Only the main thread ever gets it."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or current_thread() is not main_thread():
        yield
        return
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        signal.raise_signal(signal.SIGINT)
