"""How long photos take to be located, several at once: estimated from those located before (ADR 31)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from nadirfix.serve.options import QueueOptions

__all__ = ["ServiceTimeEstimate", "ServiceTimes"]

#: Below this, times differ by no more than the clock's noise.
_MIN_VARIATION = 1e-6


@dataclass(frozen=True, slots=True)
class ServiceTimeEstimate:
    """What the times of past jobs say about those to come."""

    mean_s: float
    variation: float  # coefficient of variation: deviation over mean

    def quantile_s(self, count: int, deviations: float, *, workers: int = 1) -> float:
        """The time until the last of ``count`` jobs is done, at so many deviations of a normal distribution.

        Until the last job begins no worker idles, so all jobs before it have taken no longer than the sum of
        their times over the number of workers; then comes its own time. Such sums are skewed to the right,
        the more so the fewer they are: they are taken as gamma-distributed, whose quantiles are nearly the
        cube of a normal one (Wilson and Hilferty).
        """
        before = count - 1 if count > workers else 0
        total_s = self.mean_s * (before / workers + 1) if count > 0 else 0.0
        if total_s <= 0 or deviations <= 0 or self.variation < _MIN_VARIATION:
            return total_s
        ninth = (self.variation * self.mean_s / total_s) ** 2 * (before / workers**2 + 1) / 9
        return float(total_s * (1 - ninth + deviations * math.sqrt(ninth)) ** 3)

    def admissible(self, queue: int, deviations: float, *, workers: int = 1) -> int:
        """How many jobs may be pending so that the last is answered in the mean time of a full queue.

        Always two for each worker, where the queue has them: one running and one that follows it.
        """
        bound_s, minimum = queue * self.mean_s / workers, 2 * workers
        if deviations <= 0:
            return queue
        quantile_s = partial(self.quantile_s, deviations=deviations, workers=workers)
        return next((n for n in range(queue, minimum, -1) if quantile_s(n) <= bound_s), min(queue, minimum))


class ServiceTimes:
    """Running mean and deviation of service times; the latest ones weigh most."""

    def __init__(self, options: QueueOptions) -> None:
        self._options, self._count = options, 0
        self._mean_s, self._mean_square_s2 = 0.0, 0.0

    def note(self, took_s: float) -> None:
        """One more job is done; the first ones weigh more, as there are few of them."""
        self._count += 1
        weight = max(self._options.latest_weight, 1 / self._count)
        self._mean_s += weight * (took_s - self._mean_s)
        self._mean_square_s2 += weight * (took_s**2 - self._mean_square_s2)

    @property
    def estimate(self) -> ServiceTimeEstimate:
        """What is known by now; a few equal times do not mean that all are equal."""
        options, mean_s = self._options, self._mean_s
        if mean_s <= 0:
            return ServiceTimeEstimate(options.prior_mean_s, options.prior_variation)
        counted = min(float(self._count), 1 / options.latest_weight)
        measured = counted * max(0.0, self._mean_square_s2 / mean_s**2 - 1)
        prior = options.prior_weight * options.prior_variation**2
        return ServiceTimeEstimate(mean_s, math.sqrt((measured + prior) / (counted + options.prior_weight)))
