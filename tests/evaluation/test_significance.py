"""Intervals and tests against oracles: the binomial distribution, and what is known of a mean."""

import math

import numpy as np
import pytest
from scipy import stats

from nadirfix.evaluation.significance import difference_interval, interval, mcnemar_p, median


@pytest.mark.parametrize(("only_one", "only_two", "both"), [(0, 0, 5), (1, 0, 3), (9, 1, 20), (7, 7, 0)])
def test_mcnemar_is_the_exact_binomial_test(only_one, only_two, both):
    first = [True] * only_one + [False] * only_two + [True] * both + [False] * 4
    other = [False] * only_one + [True] * only_two + [True] * both + [False] * 4
    split = only_one + only_two
    expected = stats.binomtest(only_one, split, 0.5).pvalue if split else 1.0
    assert mcnemar_p(first, other) == pytest.approx(expected)
    assert mcnemar_p(other, first) == mcnemar_p(first, other)


def test_the_interval_of_a_share_is_the_normal_one():
    flags = np.arange(400) % 4 == 0
    low, high = interval(flags, lambda drawn: drawn.mean(axis=1))
    half = 1.96 * math.sqrt(0.25 * 0.75 / 400)
    assert (low, high) == pytest.approx((0.25 - half, 0.25 + half), abs=0.01)


def test_a_difference_on_the_same_photos_is_surer_than_two_shares():
    """Photos are easy or hard for both: drawn together, that cancels out."""
    first = np.arange(200) < 100
    other = np.arange(200) < 110
    low, high = difference_interval(first, other)
    half = 1.96 * math.sqrt(0.05 * 0.95 / 200)
    assert (low, high) == pytest.approx((0.05 - half, 0.05 + half), abs=0.012)
    assert low > 0


def test_medians_with_photos_that_got_no_answer():
    lines = np.array([[1.0, 2.0, 3.0, math.inf], [1.0, 2.0, math.inf, math.inf], [5.0, 1.0, 3.0, 4.0]])
    assert median(lines).tolist() == [2.5, math.inf, 3.5]
    low, high = interval([1.0] * 60 + [math.inf] * 41, median)
    assert low == 1.0 and high in (1.0, math.inf)


def test_the_same_photos_give_the_same_interval():
    values = np.random.default_rng(1).uniform(size=50)
    assert interval(values, median) == interval(values.copy(), median)
