"""Hostile input, case by case, in a process of its own that is watched: what broke, hung, or took all memory.

A case is made from the seed and its number alone. The process that tries it says when it begins and when it
ends; one that says nothing for half a minute, or dies, is replaced, and the next goes on behind it.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from nadirfix.errors import NadirfixError

__all__ = ["HANG_S", "MOST_MB", "Attempt", "attempt_all"]

#: What no case may take.
HANG_S, MOST_MB = 30.0, 2048
#: Tries one case, by its number: what was done to it. It raises whatever comes of it.
Attempt = Callable[[int], str]
#: Makes what tries cases, in the process that does, from the seed, a folder for files and other settings.
Maker = Callable[..., Attempt]


class _Case(NamedTuple):
    """What came of one case, how long it took, and the most memory its process has needed so far."""

    number: int
    kind: str
    answer: str
    took_s: float
    peak_mb: float


@dataclass
class _Found:
    """What came of all cases so far."""

    answers: Counter[str] = field(default_factory=Counter)
    internal: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)
    died: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    peak_mb: float = 0.0

    def note(self, case: _Case) -> None:
        self.answers[case.answer.partition(": ")[0]] += 1
        self.slowest_s = max(self.slowest_s, case.took_s)
        self.peak_mb = max(self.peak_mb, case.peak_mb)
        if case.answer.startswith("internal"):
            self.internal.append(f"{case.number}, {case.kind}: {case.answer}")


@dataclass(frozen=True)
class _Task:
    """Which cases a process tries, and where."""

    maker: Maker
    seed: int
    folder: str
    first: int
    count: int
    settings: dict[str, Any]


def attempt_all(maker: Maker, count: int, *, seed: int, most_s: float, **settings: Any) -> dict[str, Any]:
    """Every case from 0 on, until there are enough or the time is up."""
    found, began_s, done = _Found(), time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "tmp")
        scratch.mkdir()
        while done < count and time.monotonic() - began_s < most_s:
            task = _Task(maker, seed, folder, done, count, settings)
            done = _watched(task, found, until_s=began_s + most_s)
        left = sorted(path.name for path in scratch.iterdir())
    return {
        "seed": seed,
        "cases": done,
        "asked_for": count,
        "seconds": round(time.monotonic() - began_s, 1),
        "answers": dict(found.answers.most_common()),
        "internal_errors": found.internal,
        "hung": found.hung,
        "died": found.died,
        "slowest_s": round(found.slowest_s, 2),
        "peak_mb": round(found.peak_mb),
        "left_behind": left,
    }


def _watched(task: _Task, found: _Found, *, until_s: float) -> int:
    """Cases in one process, until it has done all or one of them was too much; the number to go on with."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(theirs, task), daemon=True)
    worker.start()
    theirs.close()
    number, kind, began_s = task.first - 1, "the start", time.monotonic()
    try:
        while time.monotonic() < until_s:
            if not mine.poll(HANG_S if number >= task.first else 300):
                found.hung.append(f"{number + 1}, after {kind}")
                return number + 2
            case = mine.recv()
            if case is None:
                break
            found.note(case)
            number, kind = case.number, case.kind
    except EOFError:
        found.died.append(f"{number + 1}, after {kind}, {time.monotonic() - began_s:.0f} s after the start")
        return number + 2
    finally:
        worker.kill()
        worker.join()
    return number + 1


def _work(pipe: Connection, task: _Task) -> None:
    warnings.simplefilter("ignore")
    os.chdir(Path(task.folder, "tmp"))
    os.environ["TMPDIR"] = tempfile.tempdir = str(Path.cwd())  # where whatever is left behind would lie
    attempt = task.maker(task.seed, Path(task.folder), **task.settings)
    for number in range(task.first, task.count):
        pipe.send(_tried(attempt, number))
    pipe.send(None)


def _tried(attempt: Attempt, number: int) -> _Case:
    began_s, kind = time.monotonic(), ""
    try:
        kind, answer = attempt(number), "answered"
    except NadirfixError as error:
        answer = error.code if error.exit_number != 1 else f"internal: {error}"
    except Exception as error:  # what must not come out is what is looked for
        answer = f"internal: {type(error).__name__}: {error}"[:300]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return _Case(number, kind, answer, time.monotonic() - began_s, peak_mb)
