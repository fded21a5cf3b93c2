"""The altitude posterior of a sweep over altitudes, against its equations written out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nadirfix.altitude.sweep import AltitudePosterior, geometric_series, posterior_of
from nadirfix.options.sweep import SweepOptions

OPTIONS = SweepOptions()


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
    """A bell for every hypothesis, as heavy as that weighs, and some doubt."""
    altitude_m, weight = np.array([80.0, 300.0, 310.0]), np.array([0.2, 0.5, 0.3])
    found = posterior_of(altitude_m, weight, OPTIONS)
    wanted = np.zeros(len(found.log_altitude))
    for i, step in enumerate(found.log_altitude):
        for middle_m, heavy in zip(altitude_m, weight, strict=True):
            wanted[i] += heavy * math.exp(-0.5 * ((step - math.log(middle_m)) / OPTIONS.spread) ** 2)
    wanted = (1 - OPTIONS.doubt) * wanted / wanted.sum() + OPTIONS.doubt / len(wanted)
    assert found.probability == pytest.approx(wanted, rel=1e-9)
    assert found.altitude_m == pytest.approx(304, rel=0.03), "the window about the two that agree"


def test_one_sure_hypothesis_is_surer_than_many_that_disagree() -> None:
    sure = posterior_of(np.array([200.0, 60.0, 600.0]), np.array([1.0, 0.0, 0.0]), OPTIONS)
    unsure = posterior_of(np.array([200.0, 60.0, 600.0]), np.ones(3), OPTIONS)
    assert sure.certainty > 0.5 > unsure.certainty
    assert sure.sigma < unsure.sigma
    assert sure.density_at(np.log([5000.0]))[0] == sure.probability.min() > 0


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="all together are 1"):
        replace(bell(300, 0.2), probability=np.full(300, 0.5))
