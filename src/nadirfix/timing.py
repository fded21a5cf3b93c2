"""How long each stage of an answer took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Stopwatch"]


class Stopwatch:
    """Milliseconds per stage, and since it was started."""

    def __init__(self) -> None:
        self._began_s = time.perf_counter()
        self._spent_ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside; a stage that comes again adds up."""
        began_s = time.perf_counter()
        yield
        self._spent_ms[name] = self._spent_ms.get(name, 0.0) + 1000 * (time.perf_counter() - began_s)

    def timings_ms(self) -> dict[str, float]:
        """Every stage, and the whole."""
        return {**self._spent_ms, "total": 1000 * (time.perf_counter() - self._began_s)}
