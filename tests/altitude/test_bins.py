"""Edges and classes agree to the last bit, whatever the classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.errors import InputError
from nadirfix.options.recipe import BinOptions

KINDS = [*(BinOptions(width_m=w) for w in (25.0, 50.0, 75.0, 100.0)), BinOptions(kind="variable")]
NAMES = ["25", "50", "75", "100", "variable"]


@pytest.mark.parametrize("options", KINDS, ids=NAMES)
def test_every_edge_and_its_neighbours(options: BinOptions) -> None:
    bins = AltitudeBins.from_options(options)
    for k, edge in enumerate(bins.edges_m):
        if edge < options.max_m:
            assert bins.index_of(edge) == k
            assert bins.index_of(np.nextafter(edge, np.inf)) == k
        if k:
            below = np.nextafter(min(edge, options.max_m), 0)
            assert bins.index_of(below) == k - 1


def test_the_closed_form_would_fail_here() -> None:
    """The logarithm disagrees with its own edges: this is why classes are looked up."""
    edges = AltitudeBins.from_options(KINDS[-1]).edges_m[:-1]
    naive = np.floor(np.log(1 + (edges - 100) * (1.1 - 1) / 20) / np.log(1.1)).astype(int)
    assert (naive != np.arange(15)).any()


@pytest.mark.parametrize("options", KINDS, ids=NAMES)
@given(altitude_m=st.floats(100, 700, exclude_max=True))
def test_an_altitude_lies_between_its_edges(options: BinOptions, altitude_m: float) -> None:
    bins = AltitudeBins.from_options(options)
    index = bins.index_of(altitude_m)
    assert bins.edges_m[index] <= altitude_m < bins.edges_m[index + 1]
    assert bins.edges_m[index] < bins.centers_m[index] < bins.edges_m[index + 1]


@given(
    kind=st.sampled_from(["fixed", "variable"]),
    first=st.integers(1, 60),
    count=st.integers(1, 40),
    low=st.floats(1, 500),
    ratio=st.floats(1.01, 2),
)
def test_any_classes_cover_their_range(kind: str, first: int, count: int, low: float, ratio: float) -> None:
    width = float(first)
    options = BinOptions(
        kind=kind, min_m=low, max_m=low + count * width, width_m=width, first_width_m=width, ratio=ratio
    )
    bins = AltitudeBins.from_options(options)
    assert (np.diff(bins.edges_m) > 0).all()
    assert bins.edges_m[0] == low
    assert bins.edges_m[-1] >= options.max_m
    assert bins.edges_m[-2] < options.max_m
    assert [bins.index_of(e) for e in bins.edges_m[:-1]] == list(range(len(bins)))


@given(altitudes=st.lists(st.floats(allow_nan=True), min_size=1))
def test_outside_is_always_an_error(altitudes: list[float]) -> None:
    bins = AltitudeBins.from_options(BinOptions())
    if all(100 <= a < 700 for a in altitudes):
        assert bins.indices_of(altitudes).size == len(altitudes)
    else:
        with pytest.raises(InputError):
            bins.indices_of(altitudes)
