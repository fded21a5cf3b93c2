"""How high, as a probability: classes and what else is known, put together; levels that hold most of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.altitude.posterior import believed, likely_altitudes, soft_altitude_m
from nadirfix.altitude.sweep import posterior_of
from nadirfix.options.recipe import BinOptions
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.types import AltitudeEstimate, KnownAltitude

BINS = AltitudeBins.from_options(BinOptions())
OPTIONS = VoteOptions()


def estimate(**share: float) -> AltitudeEstimate:
    """``m225=0.6`` gives the class whose middle is 225 m that probability."""
    probabilities = np.zeros(len(BINS))
    for name, value in share.items():
        probabilities[BINS.index_of(float(name[1:]))] = value
    best = float(BINS.centers_m[int(np.argmax(probabilities))])
    return AltitudeEstimate(best, probabilities, BINS.centers_m)


def altitudes(levels) -> list[float]:
    return [level.altitude_m for level in levels]


def test_a_sure_class_high_up_is_one_level() -> None:
    levels = likely_altitudes(estimate(m625=1.0), [], replace(OPTIONS, doubt=0.01))
    assert altitudes(levels)[0] == pytest.approx(625, rel=0.02)
    assert levels[0].share > 0.85


def test_a_class_low_down_is_wider_than_one_level() -> None:
    """At 125 m a class of 50 m is a factor of 1.5: more than one scale has to be looked at."""
    levels = likely_altitudes(estimate(m125=1.0), [], OPTIONS)
    assert len(levels) >= 2
    assert max(altitudes(levels)) / min(altitudes(levels)) > 1.15


def test_two_likely_classes_are_both_looked_at_the_likelier_first() -> None:
    found = altitudes(likely_altitudes(estimate(m275=0.6, m525=0.4), [], OPTIONS))
    assert found[0] == pytest.approx(275, rel=0.1)
    assert min(abs(np.array(found) - 525)) < 50


def test_what_is_told_decides_between_classes() -> None:
    found = likely_altitudes(estimate(m275=0.6, m525=0.4), [KnownAltitude(500.0, 40.0)], OPTIONS)
    assert altitudes(found)[0] == pytest.approx(515, rel=0.04)
    assert found[0].share > 0.7


def test_against_the_product_of_two_bells() -> None:
    """Two altitudes that were told: the weighted mean of both, by the inverse squares of their deviations."""
    priors = [KnownAltitude(300.0, 30.0), KnownAltitude(330.0, 60.0)]
    wanted = (300 / 30**2 + 330 / 60**2) / (1 / 30**2 + 1 / 60**2)
    assert altitudes(likely_altitudes(None, priors, OPTIONS))[0] == pytest.approx(wanted, rel=0.015)


def test_an_exact_altitude_is_the_only_one() -> None:
    levels = likely_altitudes(estimate(m125=1.0), [KnownAltitude(321.0, 0.0)], OPTIONS)
    assert altitudes(levels) == [321.0] and levels[0].share == 1.0


def test_told_against_the_picture_still_gives_an_answer() -> None:
    levels = likely_altitudes(estimate(m125=1.0), [KnownAltitude(600.0, 30.0)], OPTIONS)
    assert altitudes(levels)[0] == pytest.approx(600, rel=0.05)


def test_levels_stay_few_and_apart_and_their_shares_add_up() -> None:
    flat = AltitudeEstimate(125.0, np.full(len(BINS), 1 / len(BINS)), BINS.centers_m)
    levels = likely_altitudes(flat, [], OPTIONS)
    assert 10 <= len(levels) <= OPTIONS.max_altitudes
    assert sum(level.share for level in levels) == pytest.approx(1, abs=1e-9)
    ratios = np.diff(np.sort(np.log(altitudes(levels))))
    assert ratios.min() > 0.09


@pytest.mark.parametrize("wanted", [0.3, 0.8])
def test_levels_end_as_soon_as_they_hold_enough(wanted: float) -> None:
    levels = likely_altitudes(estimate(m275=0.6, m525=0.4), [], replace(OPTIONS, scale_share=wanted))
    held = np.cumsum([level.share for level in levels])
    assert held[-1] >= wanted > (held[-2] if len(held) > 1 else 0.0)
    assert sorted(held - np.r_[0.0, held[:-1]], reverse=True) == pytest.approx([lv.share for lv in levels])


@pytest.mark.parametrize("tag_m", [1000.0, 5000.0, 20_000.0])
def test_a_tag_alone_never_leaves_out_what_the_picture_says(tag_m: float) -> None:
    """A tag counts from the take-off, or is wrong: the map must still be asked at the picture's altitude."""
    tag = KnownAltitude(tag_m, 0.15 * tag_m + 30, "RelativeAltitude")
    levels = likely_altitudes(estimate(m170=0.8, m225=0.2), [tag], OPTIONS)
    nearest = min(levels, key=lambda level: abs(np.log(level.altitude_m / 170)))
    assert abs(np.log(nearest.altitude_m / 170)) <= 0.09
    assert levels.index(nearest) < OPTIONS.promising, "the whole frame is asked there, too"
    assert abs(np.log(max(altitudes(levels[:2])) / tag_m)) <= 0.09, "nor is the tag's word left out"


def test_a_tag_surer_than_steps_are_fine_is_weighed_all_the_same() -> None:
    """Its bell must not fall between two steps, which would make everything 0 / 0."""
    for tag_m in (150.0, 19_999.0):
        levels = likely_altitudes(estimate(m170=1.0), [KnownAltitude(tag_m, 1e-6, "GPSAltitude")], OPTIONS)
        assert min(abs(np.log(np.array(altitudes(levels)) / tag_m))) <= 0.09
        assert np.isfinite(altitudes(levels)).all()


def test_what_a_person_says_still_outweighs_the_picture() -> None:
    by_hand, by_tag = KnownAltitude(300.0, 5.0), KnownAltitude(300.0, 5.0, "RelativeAltitude")
    assert altitudes(likely_altitudes(estimate(m625=1.0), [by_hand], OPTIONS)) == [300.0]
    assert max(altitudes(likely_altitudes(estimate(m625=1.0), [by_tag], OPTIONS))) > 600


def test_nothing_known_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="nothing is known"):
        likely_altitudes(None, [], OPTIONS)
    with pytest.raises(ValueError, match="above 0"):
        KnownAltitude(0.0, 1.0)


def test_soft_decoding_is_the_mean_of_all_classes() -> None:
    assert soft_altitude_m(estimate(m275=0.5, m325=0.25, m375=0.25)) == pytest.approx(312.5)


def test_bins_that_widen_much_reach_down_to_the_ground_and_no_farther() -> None:
    bins = AltitudeBins.from_options(
        BinOptions(kind="variable", min_m=20, max_m=1500, first_width_m=10, ratio=1.3)
    )
    scores = np.zeros(len(bins.centers_m))
    found = likely_altitudes(bins.estimate(scores), (), VoteOptions())
    assert all(np.isfinite(level.altitude_m) and level.altitude_m > 0 for level in found)


def test_where_the_spectrum_has_no_class_a_sweep_is_not_outvoted() -> None:
    """A photo from 70 m: the spectrum says 600 m and is sure of it, the map says 70 m and is less so."""
    sweep = posterior_of(np.array([70.0, 92.0, 600.0]), np.array([0.8, 0.15, 0.05]), SweepOptions())
    sure = estimate(m625=1.0)
    assert altitudes(likely_altitudes(sure, [], OPTIONS))[0] > 550
    assert altitudes(likely_altitudes(sure, [], OPTIONS, sweep=sweep, beyond_classes=1.0))[0] < 90
    assert altitudes(likely_altitudes(None, [], OPTIONS, sweep=sweep))[0] < 90


def test_how_far_altitudes_are_believed_before_the_map_is_asked() -> None:
    """The spectrum leaves every altitude its floor; what is known by hand does not."""
    altitude_m = np.array([60.0, 300.0, 625.0])
    by_spectrum = believed(altitude_m, estimate(m625=1.0), (), OPTIONS, floor=0.3)
    assert by_spectrum == pytest.approx([0.3, 0.3, 1.0], rel=0.02)
    by_hand = believed(altitude_m, None, [KnownAltitude(300.0, 30.0)], OPTIONS, floor=0.3)
    assert by_hand[1] == pytest.approx(1.0, rel=0.02) and max(by_hand[[0, 2]]) < 0.02
    both = believed(altitude_m, estimate(m625=1.0), [KnownAltitude(300.0, 30.0)], OPTIONS, floor=0.3)
    assert both == pytest.approx(by_spectrum * by_hand)
    assert believed(altitude_m, None, (), OPTIONS, floor=0.3).tolist() == [1.0, 1.0, 1.0]
