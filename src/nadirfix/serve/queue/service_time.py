"""How long so many photos take, some of them at once: reckoned from those that came before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from nadirfix.serve.options import Pace

__all__ = ["Reckoning", "ServiceTimes"]

#: Below this, times differ by no more than clocks do.
_ALIKE = 1e-6


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What the times of past pieces of work say about those to come."""

    usual_s: float
    spread: float  # their deviation over their mean

    def sure_s(self, count: int, deviations: float, *, workers: int = 1) -> float:
        """The last of so many is done later than this as rarely as a normal variable is that far off.

        Until it begins nobody idles, so all before it have taken no longer than their times together, over
        the number of workers; then comes its own time. Such sums lean to the long side, the more so the fewer
        they are: they are taken for gamma-distributed, whose quantiles are nearly the cube of a normal one
        (Wilson and Hilferty).
        """
        before = count - 1 if count > workers else 0
        mean_s = self.usual_s * (before / workers + 1) if count > 0 else 0.0
        if mean_s <= 0 or deviations <= 0 or self.spread < _ALIKE:
            return mean_s
        ninth = (self.spread * self.usual_s / mean_s) ** 2 * (before / workers**2 + 1) / 9
        return float(mean_s * (1 - ninth + deviations * math.sqrt(ninth)) ** 3)

    def places(self, queue: int, deviations: float, *, workers: int = 1) -> int:
        """How many may be in the house so that the last is surely answered in the usual time of a full queue.

        Two for each worker always, where the queue has them: one at work and one that takes over.
        """
        bound_s, least = queue * self.usual_s / workers, 2 * workers
        if deviations <= 0:
            return queue
        sure = partial(self.sure_s, deviations=deviations, workers=workers)
        return next((n for n in range(queue, least, -1) if sure(n) <= bound_s), min(queue, least))


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
