"""How high, as a probability: what the picture shows and what else is known, put together.

Each source says a density over altitude; their product is what is believed. From it come the few altitudes
a photo is looked at from: as many as it takes to hold most of the probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.options_frame import VoteOptions
from nadirfix.types import AltitudeEstimate

__all__ = ["KnownAltitude", "Level", "likely_altitudes", "soft_altitude_m"]

Floats = NDArray[np.float64]

#: Altitudes are compared on steps of this much, relatively: far finer than a level is wide.
_STEP = 0.01
#: Even a class without a vote may be it: the share of belief that is spread evenly.
_DOUBT = 0.01
#: A level stands for altitudes this much higher or lower: what descriptors bear.
_HALF_WIDTH = 0.09


@dataclass(frozen=True, slots=True)
class KnownAltitude:
    """An altitude above ground that was told, and its standard deviation."""

    altitude_m: float
    sigma_m: float

    def __post_init__(self) -> None:
        if not (self.altitude_m > 0 and self.sigma_m >= 0):
            raise ValueError("a known altitude is above 0 m and has a deviation of at least 0 m")


@dataclass(frozen=True, slots=True)
class Level:
    """An altitude to look at the photo from, and how much of the probability lies about it."""

    altitude_m: float
    share: float


def likely_altitudes(
    estimate: AltitudeEstimate | None, known: Sequence[KnownAltitude], options: VoteOptions
) -> list[Level]:
    """The altitudes a photo may have been taken from, the likeliest first."""
    exact = [k for k in known if k.sigma_m <= _HALF_WIDTH * k.altitude_m / 3]
    if exact:
        return [Level(min(exact, key=lambda k: k.sigma_m).altitude_m, 1.0)]
    steps = _steps(estimate, known)
    belief = np.ones(len(steps)) if estimate is None else _from_classes(steps, estimate)
    for source in known:
        belief = belief * np.exp(-0.5 * ((np.exp(steps) - source.altitude_m) / source.sigma_m) ** 2)
    return _levels(steps, belief / belief.sum(), options)


def soft_altitude_m(estimate: AltitudeEstimate) -> float:
    """The altitude to be expected from all classes together, beside the published winner's middle."""
    return float(estimate.probabilities @ estimate.centers_m)


def _steps(estimate: AltitudeEstimate | None, known: Sequence[KnownAltitude]) -> Floats:
    """Logarithms of the altitudes that come into question."""
    reach = [a for k in known for a in (max(k.altitude_m - 3 * k.sigma_m, 0.1 * k.altitude_m),
                                        k.altitude_m + 3 * k.sigma_m)]  # fmt: skip
    if estimate is not None:
        half = np.diff(estimate.centers_m).max(initial=0.0) / 2
        reach += [float(estimate.centers_m[0] - half), float(estimate.centers_m[-1] + half)]
    if not reach:
        raise ValueError("nothing is known of the altitude")
    low, high = np.log(min(reach)), np.log(max(reach))
    return np.linspace(low, high, max(2, round((high - low) / _STEP)))


def _from_classes(steps: Floats, estimate: AltitudeEstimate) -> Floats:
    """What the classes say of each altitude: every class a bell as wide as itself, and a little doubt."""
    centers = estimate.centers_m
    width = np.gradient(centers) / 2 if len(centers) > 1 else centers / 10
    bells = np.exp(-0.5 * ((np.exp(steps)[:, None] - centers) / width) ** 2) / width
    said = (bells * np.exp(steps)[:, None]) @ estimate.probabilities
    return np.asarray((1 - _DOUBT) * said / said.sum() + _DOUBT / len(steps), np.float64)


def _levels(steps: Floats, belief: Floats, options: VoteOptions) -> list[Level]:
    """Windows that hold most of the belief, one after the other, until enough of it is held."""
    found: list[Level] = []
    left = belief.copy()
    while len(found) < options.scales and sum(level.share for level in found) < options.scale_share:
        inside = np.abs(steps[:, None] - steps[None, :]) <= _HALF_WIDTH
        held = inside @ left
        best = int(np.argmax(held))
        if held[best] <= 0:
            break
        middle = float((inside[best] * left) @ steps / held[best])
        found.append(Level(float(np.exp(middle)), float(held[best])))
        left = np.where(inside[best], 0.0, left)
    return found
