"""Shows on standard error how far long work is, and how long it will still take."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from nadirfix.files import Progress
from nadirfix.files import quiet as silent

if TYPE_CHECKING:
    from rich import progress as rich_progress

__all__ = ["PlainProgress", "progress_bar"]

#: A log file wants a line now and then, not a moving bar.
_PLAIN_EVERY_S = 10.0
#: Signals after which the work is put in order and stopped.
_STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def progress_bar(quiet: bool, *, heartbeat_s: float | None = None) -> Iterator[Progress]:
    """A callback that draws a bar with the time left, writes plain lines into a log, or stays silent.

    With a heartbeat the log says at least so often where the work is, also while a step takes longer.
    """
    with _reliable_ctrl_c() as checking:
        if quiet:
            yield checking(silent)
        elif sys.stderr.isatty():
            with _bar() as bar:
                yield checking(_Stages(bar).show)
        elif heartbeat_s is None:
            yield checking(PlainProgress(sys.stderr, every_s=_PLAIN_EVERY_S).show)
        else:
            plain = PlainProgress(sys.stderr, every_s=heartbeat_s)
            with _heartbeat(plain, every_s=heartbeat_s):
                yield checking(plain.show)


@contextmanager
def _reliable_ctrl_c() -> Iterator[Callable[[Progress], Progress]]:
    """Ctrl-C and SIGTERM stop at the next step at the latest, even where their exception was lost."""
    interrupts: list[int] = []
    before = {number: signal.getsignal(number) for number in _STOPPING}

    def stop(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    def checking(show: Progress) -> Progress:
        def checked(stage: str, done: int, total: int) -> None:
            if interrupts:
                raise KeyboardInterrupt
            show(stage, done, total)

        return checked

    if None in before.values() or threading.current_thread() is not threading.main_thread():
        yield checking
        return
    for number in _STOPPING:
        signal.signal(number, stop)
    try:
        yield checking
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bar() -> rich_progress.Progress:
    from rich import progress as rich_progress
    from rich.console import Console

    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(),
        rich_progress.TextColumn("left"),
        rich_progress.TimeRemainingColumn(),
        console=Console(stderr=True),
    )


@contextmanager
def _heartbeat(plain: PlainProgress, *, every_s: float) -> Iterator[None]:
    """A thread that repeats the last line where nothing new came for so long."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(every_s / 4):
            plain.repeat_if_silent()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class _Stages:
    """One line of the bar per stage, in the order they come."""

    def __init__(self, bar: rich_progress.Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, rich_progress.TaskID] = {}

    def show(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=total)
        self._bar.update(self._tasks[stage], completed=done, total=total)


class PlainProgress:
    """One line when a stage begins, one now and then, one when it is done."""

    def __init__(self, stream: TextIO, *, every_s: float) -> None:
        self._stream, self._every_s = stream, every_s
        self._stage, self._began_s, self._printed_s = "", 0.0, time.monotonic()
        self._done, self._total = 0, 0
        self._lock = threading.Lock()

    def repeat_if_silent(self) -> None:
        """Say once more where the work is, and for how long it has been there, if nothing was said lately."""
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._printed_s < self._every_s:
                return
            self._printed_s = now_s
            what = f"{self._stage} {self._done}/{self._total}" if self._stage else "beginning"
            since = f", {now_s - self._began_s:.0f} s so far" if self._stage else ""
            print(what + since, file=self._stream, flush=True)

    def show(self, stage: str, done: int, total: int) -> None:
        """Report that ``done`` of ``total`` steps of a stage are behind us."""
        with self._lock:
            now_s = time.monotonic()
            begins = stage != self._stage
            if begins:
                self._stage, self._began_s = stage, now_s
            self._done, self._total = done, total
            if begins or done >= total or now_s - self._printed_s >= self._every_s:
                self._printed_s = now_s
                left = _time_left(now_s - self._began_s, done, total)
                with suppress(OSError, ValueError):  # nobody reads it: the work goes on
                    print(f"{stage} {done}/{total}{left}", file=self._stream, flush=True)


def _time_left(spent_s: float, done: int, total: int) -> str:
    """About how long the rest takes, once there is something to judge by."""
    if done <= 0 or done >= total or spent_s <= 0:
        return ""
    return f", about {spent_s * (total - done) / done:.0f} s left"
