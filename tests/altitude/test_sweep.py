"""The altitude posterior of a sweep over scales, against its equations written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nadirfix.altitude.sweep import (
    AltitudePosterior,
    SweptSimilarities,
    geometric_series,
    sweep_posterior,
)
from nadirfix.options.sweep import SweepOptions

OPTIONS = SweepOptions()
ALTITUDES_M = geometric_series(100.0, 800.0, OPTIONS.ratio)


def similarities(altitude_m: float, *, best: float = 0.5, chance: float = 0.28) -> SweptSimilarities:
    """A bell about where a photo from there looks most like its references."""
    off = np.log(ALTITUDES_M / altitude_m) + OPTIONS.bias
    return SweptSimilarities(ALTITUDES_M, chance + (best - chance) * np.exp(-0.5 * (off / 0.4) ** 2))


def bell(mean_m: float, sigma: float) -> AltitudePosterior:
    steps = np.linspace(math.log(50), math.log(1000), 300)
    heights = np.exp(-0.5 * ((steps - math.log(mean_m)) / sigma) ** 2)
    return AltitudePosterior(steps, heights / heights.sum())


def test_a_series_rises_by_its_ratio_and_ends_no_sooner_than_wanted() -> None:
    assert geometric_series(100, 133.1, 1.1) == pytest.approx([100, 110, 121, 133.1])
    assert geometric_series(100, 140, 1.1)[-1] == pytest.approx(146.41)
    assert geometric_series(100, 100, 1.1) == pytest.approx([100])
    for wrong in ((0, 1, 1.1), (2, 1, 1.1), (1, 2, 1.0)):
        with pytest.raises(ValueError, match="geometric"):
            geometric_series(*wrong)


def test_against_the_equations_written_out() -> None:
    """softmax(s / T) between altitudes, blurred, and some doubt."""
    swept = similarities(300.0)
    found = sweep_posterior(swept, OPTIONS)
    steps, centers = found.log_altitude, np.log(ALTITUDES_M) + OPTIONS.bias
    wanted = np.empty(len(steps))
    for i, step in enumerate(steps):
        weight = [math.exp(-0.5 * ((step - center) / OPTIONS.smooth) ** 2) for center in centers]
        between = sum(w * s for w, s in zip(weight, swept.similarity, strict=True)) / max(sum(weight), 1e-300)
        inside = step <= centers[-1] + OPTIONS.smooth
        wanted[i] = math.exp((between if inside else np.median(swept.similarity)) / OPTIONS.temperature)
    wanted /= wanted.sum()
    blurred = np.zeros(len(steps))
    for i in range(len(steps)):
        share = np.exp(-0.5 * ((np.arange(len(steps)) - i) * 0.01 / OPTIONS.spread) ** 2)
        blurred[i] = share @ wanted / share.sum()
    blurred /= blurred.sum()
    inside = steps > centers[0]
    wanted = (1 - OPTIONS.doubt) * blurred + OPTIONS.doubt / len(steps)
    assert found.probability[inside] == pytest.approx(wanted[inside], rel=1e-3)
    assert found.probability.sum() == pytest.approx(1)


@pytest.mark.parametrize("altitude_m", [210.0, 333.0, 500.0, 700.0])
def test_the_altitude_is_found_between_those_tried(altitude_m: float) -> None:
    found = sweep_posterior(similarities(altitude_m), OPTIONS)
    assert found.altitude_m == pytest.approx(altitude_m, rel=0.08)
    assert 0.05 < found.sigma < 0.6


def test_where_nothing_stands_out_all_altitudes_are_as_good() -> None:
    flat = sweep_posterior(SweptSimilarities(ALTITUDES_M, np.full(len(ALTITUDES_M), 0.3)), OPTIONS)
    assert flat.probability == pytest.approx(
        np.full(flat.probability.size, 1 / flat.probability.size), rel=1e-3
    )
    assert flat.certainty < 0.2 < sweep_posterior(similarities(300.0), OPTIONS).certainty


def test_a_little_below_the_first_altitude_its_crop_still_counts_and_farther_none_does() -> None:
    low = sweep_posterior(similarities(100.0), OPTIONS)
    assert math.exp(low.log_altitude[0]) == pytest.approx(100 * math.exp(-OPTIONS.below))
    assert low.density_at(np.log([80.0]))[0] > 3 * low.density_at(np.log([300.0]))[0]
    assert low.density_at(np.log([20.0]))[0] == low.probability.min()


def test_what_makes_no_sense_is_refused() -> None:
    for altitude_m, similarity in (([2.0, 1.0], [0.1, 0.2]), ([0.0], [0.1]), ([1.0, 2.0], [0.1])):
        with pytest.raises(ValueError, match="altitudes rise"):
            SweptSimilarities(np.array(altitude_m), np.array(similarity))
    with pytest.raises(ValueError, match="all together are 1"):
        replace(bell(300, 0.2), probability=np.full(300, 0.5))
