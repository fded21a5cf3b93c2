"""The map as altimeter: the references a photo resembles at each of a few scales, as a probability.

The middle of a photo is cut for a geometric series of ground sampling distances; each crop is described and
looked up among all references (ADR 45, 53). Near the true scale the best cosine similarities are high, and
neighbouring scales name the same place; far from it they are those of chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.options.sweep import SweepOptions

__all__ = ["AltitudePosterior", "geometric_series", "posterior_of"]

Floats = NDArray[np.float64]

#: Altitudes are compared on steps of this much, relatively: far finer than descriptors tell them apart.
_STEP = 0.01
#: An altitude and its deviation are those of the most probable window, this much to either side.
_WINDOW = 0.18


@dataclass(frozen=True, slots=True, eq=False)
class AltitudePosterior:
    """A probability for every even step of the logarithm of the altitude above ground."""

    log_altitude: Floats
    probability: Floats

    def __post_init__(self) -> None:
        if self.log_altitude.shape != self.probability.shape or abs(self.probability.sum() - 1) > 1e-6:
            raise ValueError("every step has a probability, and all together are 1")

    @property
    def altitude_m(self) -> float:
        """The mean altitude of the most probable window."""
        window = self._window()
        return math.exp(float(self.log_altitude[window] @ self.probability[window]) / self._held(window))

    @property
    def sigma(self) -> float:
        """The relative deviation about that altitude, of all that is probable."""
        off = self.log_altitude - math.log(self.altitude_m)
        return math.sqrt(float(self.probability @ off**2))

    @property
    def certainty(self) -> float:
        """The probability of the most probable window."""
        return self._held(self._window())

    def density_at(self, log_altitude: Floats) -> Floats:
        """The probability per step at other steps; beyond the first and last the least there is."""
        least = float(self.probability.min())
        return np.interp(log_altitude, self.log_altitude, self.probability, left=least, right=least)

    def _window(self) -> slice:
        first, last = (
            np.searchsorted(self.log_altitude, self.log_altitude + side) for side in (-_WINDOW, _WINDOW)
        )
        held_before = np.concatenate([[0.0], np.cumsum(self.probability)])
        best = int(np.argmax(held_before[last] - held_before[first]))
        return slice(int(first[best]), int(last[best]))

    def _held(self, window: slice) -> float:
        return float(self.probability[window].sum())


def geometric_series(lowest: float, highest: float, ratio: float) -> Floats:
    """Values from the lowest up, each so many times the one before, until the highest is reached."""
    if not (0 < lowest <= highest and ratio > 1):
        raise ValueError("a geometric series rises from above 0 by a ratio above 1")
    count = 1 + math.ceil(math.log(highest / lowest) / math.log(ratio) - 1e-9)
    return np.asarray(lowest * ratio ** np.arange(count), np.float64)


def posterior_of(altitude_m: Floats, weight: Floats, options: SweepOptions) -> AltitudePosterior:
    """The probability of every altitude, from hypotheses and what each weighs.

    A share of doubt is spread evenly, as the true place may have changed, and another may be similar.
    """
    middle, margin = np.log(altitude_m), 3 * options.spread
    low, high = float(middle.min()) - margin, float(middle.max()) + margin
    steps = np.linspace(low, high, max(2, 1 + round((high - low) / _STEP)))
    bells = np.exp(-0.5 * ((steps[:, None] - middle) / options.spread) ** 2) @ weight
    return AltitudePosterior(steps, (1 - options.doubt) * bells / bells.sum() + options.doubt / steps.size)
