"""Long work in stages: complete results are kept, and those made from older ones are made again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nadirfix.files import remove_ours
from nadirfix.files.owned import Recognise, any_file

__all__ = ["Stage", "StageResults", "run_stages"]


@dataclass(frozen=True)
class Stage:
    """One thing to make, what it is made from, and which file shows that it is complete."""

    name: str
    target: Path
    make: Callable[[], None]
    needs: tuple[str, ...] = ()
    recognise: Recognise = field(kw_only=True)  # tells what of ours lies at the target
    complete_when: Path | None = field(
        default=None, kw_only=True
    )  # written last, where that is not the target
    work_folder: Path | None = field(default=None, kw_only=True)  # left behind by work that was stopped
    recognise_work: Recognise = field(default=any_file, kw_only=True)

    @property
    def is_done(self) -> bool:
        """Whether it is complete."""
        return (self.complete_when or self.target).exists()


@dataclass(frozen=True)
class StageResults:
    """What was made, and how long each stage took; None where it was there already."""

    made: dict[str, Path]
    seconds: dict[str, float | None]


def run_stages(stages: Sequence[Stage], *, restart: bool) -> StageResults:
    """Make every stage that is not complete, in order; results of an older one are removed first."""
    seconds: dict[str, float | None] = {}
    if restart:
        _remove(stages)
    for stage in stages:
        seconds[stage.name] = None if stage.is_done else _make(stage, stages)
    return StageResults({stage.name: stage.target for stage in stages}, seconds)


def _make(stage: Stage, stages: Sequence[Stage]) -> float:
    _remove([other for other in stages if stage.name in other.needs])
    began_s = time.monotonic()
    stage.make()
    return round(time.monotonic() - began_s, 1)


def _remove(stages: Sequence[Stage]) -> None:
    for stage in stages:
        remove_ours(stage.target, recognise=stage.recognise)
        if stage.work_folder is not None:
            remove_ours(stage.work_folder, recognise=stage.recognise_work)
