"""The only training loop: both networks, both schedules, one process or many.

A step's batch follows from the seed and the step's number alone. So a run can be stopped at any moment, even
by kill -9, and resumed to the same weights, bit for bit on a CPU.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nadirfix.errors import TrainingError
from nadirfix.options.training import TrainOptions
from nadirfix.random_numbers import mix_seed
from nadirfix.train.checkpoint import StepLog, identity_of, load_checkpoint, save_checkpoint
from nadirfix.train.distributed import Ranks, process_group
from nadirfix.train.schedule import make_schedule

__all__ = ["Job", "Report", "StepReport", "train"]

#: Seconds between fetches of the losses; fetching makes a GPU wait.
_FETCH_EVERY_S = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """A network in training: how its loss is computed, and what the loop needs to know of it."""

    name: str
    network: nn.Module  # what is learned and kept
    loss: nn.Module  # holds the network; a batch in, the mean loss out
    classifier: list[nn.Parameter]  # learns at its own rate; all the rest is the extractor
    batch: Callable[[int, int, slice], tuple[Any, ...]]  # step, epoch, this process's part of the batch
    validate: Callable[[], dict[str, float]]  # on views held out from training; headline measure first
    epoch_views: int
    epochs_per_cycle: int = 1  # how many epochs it takes until every group has been trained once
    details: dict[str, Any] = field(default_factory=dict)  # recipe and data: what a checkpoint belongs to


@dataclass(frozen=True, slots=True)
class StepReport:
    """How training is going."""

    name: str
    step: int
    loss: float
    images_per_s: float
    extractor_rate: float
    elapsed_s: float
    share_done: float | None  # None where the end cannot be known
    left_s: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """How training went."""

    name: str
    steps: int
    seconds: float
    loss: float
    finished: bool  # False when it was stopped before its time
    validation: dict[str, float]


def train(
    job: Job,
    options: TrainOptions,
    *,
    device: torch.device | str = "cpu",
    folder: Path | None = None,
    resume: bool = False,
    report: Callable[[StepReport], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Report:
    """Train until the schedule ends or ``should_stop`` is True; with a folder the run can be resumed."""
    where = torch.device(device)
    gpus = list(range(torch.cuda.device_count())) if where.type == "cuda" else []
    with process_group(where) as ranks, torch.random.fork_rng(devices=gpus):
        run = _Run(job, options, where, ranks, folder)
        run.connect(report, should_stop)
        run.begin(resume=resume)
        while run.may_go_on():
            run.step_once()
        return run.end()


class _Run:
    """One training run: its network, optimiser, schedule, clock and log."""

    def __init__(
        self, job: Job, options: TrainOptions, device: torch.device, ranks: Ranks, folder: Path | None
    ) -> None:
        self.job, self.options, self.device, self.ranks = job, options, device, ranks
        self.folder = folder if ranks.first else None
        self.resume_folder = folder
        self.identity = identity_of(options, {"name": job.name, **job.details})
        job.loss.to(device)
        if device.type == "cuda":
            job.loss.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.module = ranks.wrapped(job.loss, device)
        self.optimizer = torch.optim.Adam(_groups(job, options))
        self.schedule = make_schedule(options, self.optimizer, epochs_per_cycle=job.epochs_per_cycle)
        self.epoch_steps = options.steps_per_epoch or max(1, math.ceil(job.epoch_views / options.batch))
        self.log = StepLog(self.folder)
        self.step, self.epoch_total, self.last_loss = 0, 0.0, math.nan
        self.before_s, self.complete, self.stopping = 0.0, False, False
        self.measured: dict[str, float] = {}
        self.pending: list[tuple[int, Tensor, tuple[float, ...]]] = []

    def connect(
        self, report: Callable[[StepReport], None] | None, should_stop: Callable[[], bool] | None
    ) -> None:
        """Where progress goes and what may stop the run; only the first process has them."""
        first = self.ranks.first
        self.report = report if report and first else lambda _: None
        self.should_stop = should_stop if should_stop and first else lambda: False

    def begin(self, *, resume: bool) -> None:
        """From the last checkpoint, or from the start."""
        checkpoint = load_checkpoint(self.resume_folder, identity=self.identity) if resume else None
        if checkpoint:
            self._restore(checkpoint)
        self.log.begin(checkpoint["log_bytes"] if checkpoint else 0)
        self.started_s = self.fetched_s = self.saved_s = time.monotonic()
        self.elapsed = self.before_s

    def may_go_on(self) -> bool:
        """Whether there is another step; also when to fetch the losses and when to save."""
        now = time.monotonic()
        self.elapsed, stop, fetch, save = self.ranks.broadcast(
            self.before_s + now - self.started_s,
            float(self.should_stop()),
            float(now - self.fetched_s >= _FETCH_EVERY_S or self.device.type == "cpu"),
            float(now - self.saved_s >= self.options.checkpoint_every_s),
            device=self.device,
        )
        self.stopping = bool(stop)
        self.complete = self.complete or not self.schedule.start_step(self.step, self.elapsed)
        if fetch or save or self.stopping:
            self._fetch_losses()
        if save:
            self._save()
        return not (self.complete or self.stopping)

    def step_once(self) -> None:
        """One batch."""
        epoch = self.step // self.epoch_steps
        torch.manual_seed(mix_seed(self.options.seed, f"step {self.ranks.rank}", self.step))
        batch = self.job.batch(self.step, epoch, self.ranks.batch_slice(self.options.batch))
        self._to_training()
        self.optimizer.zero_grad(set_to_none=True)
        with _half(self.device):
            loss: Tensor = self.module(*batch)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.options.clip_norm > 0:
            nn.utils.clip_grad_norm_(self.module.parameters(), self.options.clip_norm)
        self.optimizer.step()
        self.pending.append((self.step, loss.detach(), self._rates()))
        self.step += 1
        if self.step % self.epoch_steps == 0:
            self._end_epoch()

    def _to_training(self) -> None:
        self.module.train()
        if self.options.freeze_norm:
            for layer in self.module.modules():
                if isinstance(layer, nn.BatchNorm2d):
                    layer.eval()

    def end(self) -> Report:
        """Fetch the last losses, validate, save."""
        self._fetch_losses()
        if self.complete and not self.measured:
            self.measured = self._validated()
        self._save()
        return Report(self.job.name, self.step, self.elapsed, self.last_loss, self.complete, self.measured)

    def _end_epoch(self) -> None:
        self._fetch_losses()
        self.schedule.end_epoch(self.epoch_total / self.epoch_steps)
        self.epoch_total = 0.0
        if self.options.schedule == "plateau":
            self._validated()

    def _validated(self) -> dict[str, float]:
        self.module.eval()
        with torch.no_grad(), _half(self.device):
            measured = self.job.validate()
        headline = next(iter(measured.values()), None)
        self.log.add([(self.step, None, *self._rates(), None, self.elapsed, headline)])
        return measured

    def _fetch_losses(self) -> None:
        """Fetch the losses of the last steps: log them, report them, stop at the first that is not finite."""
        if not self.pending:
            return
        losses = self.ranks.mean(torch.stack([loss for _, loss, _ in self.pending])).tolist()
        now = time.monotonic()
        speed = len(losses) * self.options.batch / max(now - self.fetched_s, 1e-9)
        for (step, _, rates), loss in zip(self.pending, losses, strict=True):
            if not math.isfinite(loss):
                raise _diverged(self.job.name, step, loss, rates)
            self.epoch_total += loss
        rows = zip(self.pending, losses, strict=True)
        self.log.add((step + 1, loss, *rates, speed, self.elapsed, None) for (step, _, rates), loss in rows)
        self.pending, self.fetched_s, self.last_loss = [], now, losses[-1]
        self.report(self._step_report(speed))

    def _step_report(self, speed: float) -> StepReport:
        share = self.schedule.share_done(self.step, self.elapsed)
        left = self.elapsed * (1 - share) / share if share else None
        rate = self._rates()[0]
        return StepReport(self.job.name, self.step, self.last_loss, speed, rate, self.elapsed, share, left)

    def _rates(self) -> tuple[float, ...]:
        return tuple(float(group["lr"]) for group in self.optimizer.param_groups)

    def _save(self) -> None:
        self.saved_s = time.monotonic()
        if self.folder is None:
            return
        content = {
            "network": self.job.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state(),
            "step": self.step,
            "epoch_total": self.epoch_total,
            "elapsed_s": self.elapsed,
            "last_loss": self.last_loss,
            "complete": self.complete,
            "validation": self.measured,
            "log_bytes": self.log.size(),
        }
        save_checkpoint(self.folder, content, identity=self.identity)

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        self.job.network.load_state_dict(checkpoint["network"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.schedule.restore(checkpoint["schedule"])
        self.step, self.epoch_total = checkpoint["step"], checkpoint["epoch_total"]
        self.before_s, self.last_loss = checkpoint["elapsed_s"], checkpoint["last_loss"]
        self.complete, self.measured = checkpoint["complete"], checkpoint["validation"]


def _groups(job: Job, options: TrainOptions) -> list[dict[str, Any]]:
    """Extractor and classifier, each with its learning rate."""
    classifier = {id(p) for p in job.classifier}
    extractor = [p for p in job.loss.parameters() if id(p) not in classifier and p.requires_grad]
    return [
        {"params": extractor, "lr": options.extractor_rate},
        {"params": job.classifier, "lr": options.classifier_rate},
    ]


def _half(device: torch.device) -> Any:
    """Half precision where the device is built for it."""
    return torch.autocast("cuda", dtype=torch.bfloat16) if device.type == "cuda" else nullcontext()


def _diverged(name: str, step: int, loss: float, rates: tuple[float, ...]) -> TrainingError:
    return TrainingError(
        "training.diverged",
        f"training the {name} network diverged",
        seen=f"the loss is {loss} at step {step + 1}, learning rates {rates[0]:.3g} and {rates[1]:.3g}",
        do="lower extractor_rate and classifier_rate in the recipe, or clip_norm, and start again",
    )
