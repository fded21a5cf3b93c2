"""Long stories in stages: what is whole is kept, what tells of something older is made again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nadirfix.files import output_errors

__all__ = ["Stage", "Story", "tell"]


@dataclass(frozen=True)
class Stage:
    """One thing to make, what it is made from, and how to see that it is whole."""

    name: str
    target: Path
    make: Callable[[], None]
    needs: tuple[str, ...] = ()
    whole: Path | None = field(default=None, kw_only=True)  # appears last, where that is not the target
    also: Path | None = field(default=None, kw_only=True)  # left behind by work that was stopped

    @property
    def done(self) -> bool:
        """Whether it has been made to its end."""
        return (self.whole or self.target).exists()


@dataclass(frozen=True)
class Story:
    """What was made, and how long each stage took; None where it was there already."""

    made: dict[str, Path]
    seconds: dict[str, float | None]


def tell(stages: Sequence[Stage], *, anew: bool) -> Story:
    """Make every stage that is not whole, in order; whatever was made from an older one goes first."""
    seconds: dict[str, float | None] = {}
    if anew:
        _remove(stages)
    for stage in stages:
        seconds[stage.name] = None if stage.done else _make(stage, stages)
    return Story({stage.name: stage.target for stage in stages}, seconds)


def _make(stage: Stage, stages: Sequence[Stage]) -> float:
    _remove([other for other in stages if stage.name in other.needs])
    began_s = time.monotonic()
    stage.make()
    return round(time.monotonic() - began_s, 1)


def _remove(stages: Sequence[Stage]) -> None:
    for stage in stages:
        for path in (stage.target, stage.also):
            if path is not None and path.exists():
                with output_errors(path):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
