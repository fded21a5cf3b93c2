"""How long so many photos take, one after another: reckoned from those that came before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.serve.options import Pace

__all__ = ["Reckoning", "ServiceTimes"]

#: Below this, times differ by no more than clocks do.
_ALIKE = 1e-6


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What the times of past pieces of work say about those to come."""

    usual_s: float
    spread: float  # their deviation over their mean

    def sure_s(self, count: int, deviations: float) -> float:
        """So many pieces take longer than this as rarely as a normal variable is so many deviations off.

        Sums of waiting times lean to the long side, the more so the fewer they are: they are taken for
        gamma-distributed, whose quantiles are nearly the cube of a normal one (Wilson and Hilferty).
        """
        if count <= 0 or deviations <= 0 or self.spread < _ALIKE:
            return max(0, count) * self.usual_s
        ninth = self.spread**2 / (9 * count)
        return float(count * self.usual_s * (1 - ninth + deviations * math.sqrt(ninth)) ** 3)

    def places(self, queue: int, deviations: float) -> int:
        """How many may be in the house so that the last is surely answered in the usual time of a full queue.

        Two always, where the queue has them: one at work and one that takes over when it is done.
        """
        fit = (n for n in range(queue, 2, -1) if self.sure_s(n, deviations) <= queue * self.usual_s)
        return next(fit, min(queue, 2))


class ServiceTimes:
    """The mean of past times and how far they lie around it; the latest count most."""

    def __init__(self, pace: Pace) -> None:
        self._pace, self._done = pace, 0
        self._mean_s, self._square_s2 = 0.0, 0.0

    def note(self, took_s: float) -> None:
        """One more piece of work is done; the first ones count more, there are few of them."""
        self._done += 1
        weight = max(self._pace.latest, 1 / self._done)
        self._mean_s += weight * (took_s - self._mean_s)
        self._square_s2 += weight * (took_s**2 - self._square_s2)

    @property
    def reckoning(self) -> Reckoning:
        """What is known by now; a few times alike do not mean that all are."""
        pace, mean_s = self._pace, self._mean_s
        if mean_s <= 0:
            return Reckoning(pace.first_guess_s, pace.first_spread)
        seen = min(float(self._done), 1 / pace.latest)
        squares = seen * max(0.0, self._square_s2 / mean_s**2 - 1)
        guessed = pace.first_weight * pace.first_spread**2
        return Reckoning(mean_s, math.sqrt((squares + guessed) / (seen + pace.first_weight)))
