"""Training in several processes at once: which part each one computes, and how they stay in step.

Started by ``torchrun``; alone, everything here costs nothing. Each process takes its slice of the same
batch, so that many processes train on what one would.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn

from nadirfix.errors import InputError

__all__ = ["Ranks", "all_gathered", "current_ranks", "process_group"]


@dataclass(frozen=True, slots=True)
class Ranks:
    """Which of how many processes this is."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes the files and decides for all."""
        return self.rank == 0

    def batch_slice(self, batch: int) -> slice:
        """The part of a batch that falls to this process."""
        if batch % self.count:
            raise InputError(
                "options.invalid",
                "the batch cannot be shared equally among the processes",
                seen=f"batch {batch}, {self.count} processes",
                do="choose a batch that the number of processes divides",
            )
        part = batch // self.count
        return slice(self.rank * part, (self.rank + 1) * part)

    def broadcast(self, *values: float, device: torch.device) -> tuple[float, ...]:
        """The first process's values for all; clocks differ, decisions must not."""
        if self.count == 1:
            return values
        shared = torch.tensor(values, dtype=torch.float64, device=device)
        distributed.broadcast(shared, src=0)
        return tuple(shared.tolist())

    def mean(self, values: Tensor) -> Tensor:
        """The mean over all processes."""
        if self.count == 1:
            return values
        total = values.clone()
        distributed.all_reduce(total)
        return total / self.count

    def wrapped(self, module: nn.Module, device: torch.device) -> nn.Module:
        """The module with its gradients averaged over all processes.

        Batch statistics are taken over all processes where the device can. A step may leave parameters
        unused (the classifiers of the groups not trained in this epoch).
        """
        if self.count == 1:
            return module
        if device.type == "cuda":
            module = nn.SyncBatchNorm.convert_sync_batchnorm(module)  # type: ignore[no-untyped-call]
        where = [device.index or 0] if device.type == "cuda" else None
        return nn.parallel.DistributedDataParallel(module, device_ids=where, find_unused_parameters=True)


def current_ranks() -> Ranks:
    """Which process this is now."""
    if not (distributed.is_available() and distributed.is_initialized()):
        return Ranks()
    return Ranks(distributed.get_rank(), distributed.get_world_size())


@contextmanager
def process_group(device: torch.device) -> Iterator[Ranks]:
    """The process group torchrun started; a single process when it started none."""
    alone = int(os.environ.get("WORLD_SIZE", "1")) == 1
    if alone or distributed.is_initialized():
        yield current_ranks()
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield current_ranks()
    finally:
        distributed.destroy_process_group()


def all_gathered(values: Tensor) -> tuple[Tensor, slice]:
    """These values of all processes, and which of them are this one's; they carry no gradient."""
    ranks = current_ranks()
    own = slice(ranks.rank * len(values), (ranks.rank + 1) * len(values))
    if ranks.count == 1:
        return values, own
    parts = [torch.empty_like(values) for _ in range(ranks.count)]
    distributed.all_gather(parts, values.detach().contiguous())
    return torch.cat(parts), own
