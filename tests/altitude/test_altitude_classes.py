"""METHOD §1, altitude classes: numbers worked out by hand, and exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.errors import InputError
from nadirfix.options.recipe import BinOptions, ReferenceOptions

VARIABLE = BinOptions(kind="variable")


def fixed(width_m: float) -> AltitudeBins:
    return AltitudeBins.from_options(BinOptions(width_m=width_m))


@pytest.mark.parametrize(("altitude_m", "index"), [(100, 0), (149.999, 0), (150, 1), (699.9, 11)])
def test_fixed_bins_by_hand(altitude_m: float, index: int) -> None:
    assert fixed(50).index_of(altitude_m) == index


@pytest.mark.parametrize("altitude_m", [700, 99.999, 0, -5, np.inf, np.nan, np.nextafter(100, 0)])
@pytest.mark.parametrize("options", [BinOptions(), VARIABLE])
def test_outside_the_range_is_refused(altitude_m: float, options: BinOptions) -> None:
    with pytest.raises(InputError) as caught:
        AltitudeBins.from_options(options).index_of(altitude_m)
    assert caught.value.code == "altitude.invalid"


@pytest.mark.parametrize(
    ("width_m", "count", "first_m"), [(25, 24, 112.5), (50, 12, 125), (75, 8, 137.5), (100, 6, 150)]
)
def test_fixed_centres(width_m: float, count: int, first_m: float) -> None:
    bins = fixed(width_m)
    assert len(bins) == count
    assert bins.centers_m.tolist() == [first_m + width_m * i for i in range(count)]
    assert bins.edges_m.tolist() == [100 + width_m * i for i in range(count + 1)]


def test_width_that_does_not_divide_names_both_numbers() -> None:
    with pytest.raises(InputError, match="width 70 m, range 600 m") as caught:
        fixed(70)
    assert caught.value.code == "options.invalid"


@pytest.mark.parametrize(
    "options",
    [
        BinOptions(width_m=0),
        BinOptions(width_m=-50),
        BinOptions(width_m=1200),
        BinOptions(min_m=700),
        BinOptions(max_m=float("inf")),
        BinOptions(min_m=0),
        BinOptions(kind="variable", ratio=1.0),
        BinOptions(kind="variable", first_width_m=0),
        BinOptions(width_m=float("nan")),
    ],
)
def test_options_that_describe_no_classes_are_refused(options: BinOptions) -> None:
    with pytest.raises(InputError) as caught:
        AltitudeBins.from_options(options)
    assert caught.value.code == "options.invalid"


def test_variable_bins_by_hand() -> None:
    bins = AltitudeBins.from_options(VARIABLE)
    assert len(bins) == 15
    assert bins.edges_m[-2:] == pytest.approx([659.4997, 735.4496], abs=5e-5)
    assert bins.centers_m[0] == pytest.approx(110)
    assert bins.centers_m[-1] == pytest.approx(697.4747, abs=5e-5)
    assert bins.index_of(np.nextafter(700, 0)) == 14


def test_variable_edges_against_rational_arithmetic() -> None:
    """H_k = 100 + 20·(1.1^k − 1)/0.1 with 1.1 = 11/10, in whole numbers."""
    bins = AltitudeBins.from_options(VARIABLE)
    exact = [100 + 200 * (Fraction(11, 10) ** k - 1) for k in range(16)]
    assert bins.edges_m == pytest.approx([float(e) for e in exact], rel=1e-14)
    for altitude in range(100, 700, 5):
        by_definition = sum(altitude >= edge for edge in exact) - 1
        assert bins.index_of(altitude) == by_definition


@pytest.mark.parametrize(
    ("options", "altitude_m"),
    [
        (BinOptions(), 125),
        (BinOptions(width_m=75), 125),
        (BinOptions(width_m=100), 125),
        (BinOptions(width_m=25), 112.5),
        (VARIABLE, 110),
    ],
)
def test_canonical_altitude(options: BinOptions, altitude_m: float) -> None:
    bins = AltitudeBins.from_options(options)
    assert canonical_altitude_m(ReferenceOptions(), bins) == pytest.approx(altitude_m)


def test_estimate_takes_the_smallest_index_among_the_maxima() -> None:
    bins = fixed(50)
    logits = np.zeros(12)
    logits[[3, 7]] = 2.5
    estimate = bins.estimate(logits)
    assert estimate.altitude_m == 275
    assert not estimate.at_edge
    powers = np.exp(logits)
    assert estimate.probabilities == pytest.approx(powers / powers.sum(), abs=1e-15)
    assert estimate.centers_m.tolist() == bins.centers_m.tolist()


@pytest.mark.parametrize(("best", "altitude_m"), [(0, 125), (11, 675)])
def test_estimate_says_when_it_is_at_the_edge(best: int, altitude_m: float) -> None:
    estimate = fixed(50).estimate(np.eye(12)[best] * 900)  # large scores must not overflow
    assert estimate.at_edge
    assert estimate.altitude_m == altitude_m
    assert estimate.probabilities[best] == pytest.approx(1)
