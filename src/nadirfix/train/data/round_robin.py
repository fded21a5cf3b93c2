"""Training on many maps at once: each step takes one of them, round-robin."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from nadirfix.train.loop import Job

__all__ = ["round_robin"]


def round_robin(jobs: Sequence[Job]) -> Job:
    """One job out of several that train the same network, each on a map of its own."""
    first = jobs[0]
    if any(job.network is not first.network for job in jobs):
        raise ValueError("jobs trained round-robin must share one network")

    def batch(step: int, epoch: int, part: slice) -> tuple[Any, ...]:
        return jobs[step % len(jobs)].batch(step // len(jobs), epoch, part)

    def validate() -> dict[str, float]:
        measured = [job.validate() for job in jobs]
        return {name: sum(f[name] for f in measured) / len(measured) for name in measured[0]}

    return dataclasses.replace(
        first,
        batch=batch,
        validate=validate,
        epoch_views=sum(job.epoch_views for job in jobs),
        details={"maps": [job.details for job in jobs]},
    )
