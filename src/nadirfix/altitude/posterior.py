"""The altitude posterior: the network's estimate from the picture and every prior, put together.

Each source is a density over altitude; their product is the posterior. From it come the few altitudes that
are tried: as many as it takes to hold most of the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.sweep import AltitudePosterior
from nadirfix.options.voting import VoteOptions
from nadirfix.types import AltitudeEstimate, KnownAltitude

__all__ = ["Level", "believed", "estimated_altitude", "likely_altitudes", "soft_altitude_m"]

Floats = NDArray[np.float64]

#: Altitudes are compared on steps of this much, relatively: far finer than a level is wide.
_STEP = 0.01
#: A level stands for altitudes this much higher or lower: what descriptors bear.
_HALF_WIDTH = 0.09


@dataclass(frozen=True, slots=True)
class Level:
    """An altitude to try, and how much of the probability lies about it."""

    altitude_m: float
    share: float


def likely_altitudes(
    estimate: AltitudeEstimate | None,
    known: Sequence[KnownAltitude],
    options: VoteOptions,
    *,
    sweep: AltitudePosterior | None = None,
    beyond_classes: float = 0.0,
) -> list[Level]:
    """The altitudes a photo may have been taken from, the likeliest first.

    For a photo from beyond its classes the spectrum names any of them, and is sure of it: ``beyond_classes``
    is the least probability it gives such altitudes, as a share of its peak.
    """
    exact = [k for k in known if k.by_hand and k.sigma_m <= _HALF_WIDTH * k.altitude_m / 3]
    if exact:
        return [Level(min(exact, key=lambda k: k.sigma_m).altitude_m, 1.0)]
    steps = _steps(estimate, known, sweep)
    probability = _density(steps, estimate, known, options, beyond_classes)
    if sweep is not None:
        probability = probability * sweep.density_at(steps)
    return _levels(steps, probability / probability.sum(), options)


def believed(
    altitude_m: Floats, estimate: AltitudeEstimate | None, known: Sequence[KnownAltitude],
    options: VoteOptions, *, floor: float,
) -> Floats:  # fmt: skip
    """How far each of these altitudes is believed before the map is asked: 1 at best.

    The spectrum is sometimes wrong and sure of it: it leaves every altitude at least the ``floor``.
    """
    spectrum = 1.0 if estimate is None else _believed(altitude_m, estimate, (), options, floor)
    return np.asarray(spectrum * _believed(altitude_m, None, known, options, 0.0), np.float64)


def _believed(
    altitude_m: Floats, estimate: AltitudeEstimate | None, known: Sequence[KnownAltitude],
    options: VoteOptions, floor: float,
) -> Floats:  # fmt: skip
    if estimate is None and not known:
        return np.ones(len(altitude_m))
    steps = _steps(estimate, known, None)
    density = _density(steps, estimate, known, options, 0.0)
    least = density.min() / density.max()
    share = np.interp(np.log(altitude_m), steps, density / density.max(), left=least, right=least)
    return np.asarray(np.maximum(share, floor), np.float64)


def _density(
    steps: Floats, estimate: AltitudeEstimate | None, known: Sequence[KnownAltitude], options: VoteOptions,
    beyond_classes: float,
) -> Floats:  # fmt: skip
    """The product of what the spectrum and every prior say of each step."""
    probability = np.ones(len(steps)) if estimate is None else _from_classes(steps, estimate, options.doubt)
    if estimate is not None:
        probability = _at_least_beyond(probability, steps, estimate, beyond_classes)
    for source in known:
        probability = probability * _from_prior(steps, source, options.doubt)
    return probability


def soft_altitude_m(estimate: AltitudeEstimate) -> float:
    """The altitude to be expected from all classes together, beside the published winner's middle."""
    return float(estimate.probabilities @ estimate.centers_m)


def estimated_altitude(estimate: AltitudeEstimate) -> KnownAltitude:
    """The estimate from the picture as one number with its deviation, to be reported beside the priors."""
    mean_m = soft_altitude_m(estimate)
    spread_m2 = float(estimate.probabilities @ (estimate.centers_m - mean_m) ** 2)
    return KnownAltitude(mean_m, math.sqrt(spread_m2), "picture")


def _steps(
    estimate: AltitudeEstimate | None, known: Sequence[KnownAltitude], sweep: AltitudePosterior | None
) -> Floats:
    """Logarithms of the altitudes that come into question."""
    bounds_m = [a for k in known for a in (max(k.altitude_m - 3 * k.sigma_m, 0.1 * k.altitude_m),
                                        k.altitude_m + 3 * k.sigma_m)]  # fmt: skip
    if estimate is not None:
        bounds_m += _class_bounds_m(estimate)
    if sweep is not None:
        bounds_m += np.exp(sweep.log_altitude[[0, -1]]).tolist()
    if not bounds_m:
        raise ValueError("nothing is known of the altitude")
    low, high = np.log(min(bounds_m)), np.log(max(bounds_m))
    return np.linspace(low, high, max(2, round((high - low) / _STEP)))


def _class_bounds_m(estimate: AltitudeEstimate) -> list[float]:
    """The lowest and the highest altitude that belong to a class."""
    centers = estimate.centers_m
    first, last = (np.diff(centers)[[0, -1]] / 2) if len(centers) > 1 else (0.0, 0.0)
    return [max(float(centers[0] - first), 0.1 * float(centers[0])), float(centers[-1] + last)]


def _at_least_beyond(probability: Floats, steps: Floats, estimate: AltitudeEstimate, share: float) -> Floats:
    """The probability, and at least a share of its peak beyond the first and the last class."""
    low_m, high_m = _class_bounds_m(estimate)
    inside = (np.exp(steps) >= low_m) & (np.exp(steps) <= high_m)
    return np.where(inside, probability, np.maximum(probability, share * probability.max()))


def _from_classes(steps: Floats, estimate: AltitudeEstimate, doubt: float) -> Floats:
    """The density of the altitude classes: every class a bell as wide as itself, and some doubt."""
    centers = estimate.centers_m
    width = np.gradient(centers) / 2 if len(centers) > 1 else centers / 10
    bells = np.exp(-0.5 * ((np.exp(steps)[:, None] - centers) / width) ** 2) / width
    density = (bells * np.exp(steps)[:, None]) @ estimate.probabilities
    return np.asarray((1 - doubt) * density / density.sum() + doubt / len(steps), np.float64)


def _from_prior(steps: Floats, source: KnownAltitude, doubt: float) -> Floats:
    """The density of a prior: a bell, and for one from a tag the same doubt as about the picture.

    Without that a tag written at take-off, or on a hill, would leave the map no altitude to correct it by.
    """
    sigma_m = max(source.sigma_m, _STEP * source.altitude_m)  # or it might fall between two steps
    bell = np.exp(-0.5 * ((np.exp(steps) - source.altitude_m) / sigma_m) ** 2)
    if source.by_hand:
        return np.asarray(bell, np.float64)
    return np.asarray((1 - doubt) * bell / bell.sum() + doubt / len(steps), np.float64)


def _levels(steps: Floats, probability: Floats, options: VoteOptions) -> list[Level]:
    """The window that holds most of the probability and its neighbours all along the range, likeliest first.

    No altitude lies farther from a level than half a window; levels are left out when enough is held.
    """
    first, last = (np.searchsorted(steps, steps + side) for side in (-_HALF_WIDTH, _HALF_WIDTH))
    held_before = np.concatenate([[0.0], np.cumsum(probability)])
    best = int(np.argmax(held_before[last] - held_before[first]))
    window = slice(first[best], last[best])
    middle = float(probability[window] @ steps[window] / probability[window].sum())
    window_of_step = np.rint((steps - middle) / (2 * _HALF_WIDTH)).astype(int)
    levels = []
    for index in np.unique(window_of_step):
        inside = window_of_step == index
        held = float(probability[inside].sum())
        if held > 0:
            middle = float(probability[inside] @ steps[inside]) / held
            levels.append(Level(float(np.exp(middle)), held))
    levels.sort(key=lambda level: -level.share)
    needed = np.cumsum([0.0] + [level.share for level in levels])[:-1] < options.scale_share
    return [level for level, wanted in zip(levels, needed, strict=True) if wanted][: options.max_altitudes]
