"""Learning-rate schedules: when the rate falls and when training ends."""

from __future__ import annotations

import math
from typing import Any, Protocol

from torch.optim import Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from nadirfix.errors import InputError
from nadirfix.options.training import TrainOptions

__all__ = ["Budget", "Plateau", "Schedule", "make_schedule"]


class Schedule(Protocol):
    """The two schedules, as the loop sees them."""

    def start_step(self, step: int, elapsed_s: float) -> bool:
        """Set the learning rates for this step; False when training is over."""

    def end_epoch(self, loss: float) -> None:
        """Take in the mean training loss of an epoch."""

    def share_done(self, step: int, elapsed_s: float) -> float | None:
        """How much of the training lies behind, where that can be known."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""


def make_schedule(options: TrainOptions, optimizer: Optimizer, *, epochs_per_cycle: int) -> Schedule:
    """The schedule these options name."""
    if options.schedule == "plateau":
        return Plateau(options, optimizer, epochs_per_cycle)
    return Budget(options, optimizer)


class Budget:
    """A given number of steps or seconds, whichever ends first: a short warm-up, then a cosine to zero."""

    def __init__(self, options: TrainOptions, optimizer: Optimizer) -> None:
        if options.budget_steps <= 0 and options.budget_s <= 0:
            raise InputError(
                "options.invalid",
                "a budget schedule needs a budget",
                seen=f"budget_steps {options.budget_steps}, budget_s {options.budget_s}",
                do="set budget_steps or budget_s above zero in the recipe's training",
            )
        self.options, self.optimizer = options, optimizer
        self._full = [float(group["lr"]) for group in optimizer.param_groups]

    def start_step(self, step: int, elapsed_s: float) -> bool:
        """Set the learning rates for this step; False when the budget is spent."""
        share = self.share_done(step, elapsed_s)
        for group, full in zip(self.optimizer.param_groups, self._full, strict=True):
            group["lr"] = full * _warm_cosine(share, self.options.warm_up)
        return share < 1.0

    def end_epoch(self, loss: float) -> None:
        """Nothing: a budget does not depend on the loss."""

    def share_done(self, step: int, elapsed_s: float) -> float:
        """How much of the budget is spent."""
        steps = step / self.options.budget_steps if self.options.budget_steps > 0 else 0.0
        seconds = elapsed_s / self.options.budget_s if self.options.budget_s > 0 else 0.0
        return max(steps, seconds)

    def state(self) -> dict[str, Any]:
        """Nothing: step and time say it all."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to restore."""


class Plateau:
    """The published protocol: a tenth of the rate whenever the training loss has stopped falling.

    Where epochs alternate between groups of cells, the mean over one cycle of groups is compared: the losses
    of two groups are not comparable.
    """

    def __init__(self, options: TrainOptions, optimizer: Optimizer, epochs_per_cycle: int) -> None:
        self.options, self.optimizer, self._cycle = options, optimizer, epochs_per_cycle
        self._watch = ReduceLROnPlateau(
            optimizer, factor=options.rate_factor, patience=options.patience_epochs
        )
        self._recent: list[float] = []

    def start_step(self, step: int, elapsed_s: float) -> bool:
        """False when the extractor's rate has fallen so low that nothing more would be learned."""
        seconds, steps = self.options.budget_s, self.options.budget_steps
        spent = (0 < seconds <= elapsed_s) or (0 < steps <= step)
        return not spent and float(self.optimizer.param_groups[0]["lr"]) >= self.options.stop_rate

    def end_epoch(self, loss: float) -> None:
        """Compare the loss with the best so far; too long without a better one lowers the rates."""
        self._recent = [*self._recent, loss][-self._cycle :]
        self._watch.step(sum(self._recent) / len(self._recent))

    def share_done(self, step: int, elapsed_s: float) -> float | None:  # noqa: ARG002
        """Nobody can know."""
        return None

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold."""
        return {"watch": self._watch.state_dict(), "recent": list(self._recent)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._watch.load_state_dict(state["watch"])
        self._recent = list(state["recent"])


def _warm_cosine(share: float, warm_up: float) -> float:
    """The learning rate as a share of the full one."""
    if share < warm_up:
        return (share + 1e-3) / (warm_up + 1e-3)
    left = (min(share, 1.0) - warm_up) / max(1.0 - warm_up, 1e-9)
    return 0.5 * (1.0 + math.cos(math.pi * left))
