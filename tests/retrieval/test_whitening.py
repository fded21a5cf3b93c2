"""Whitening against scikit-learn's principal components."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from nadirfix.arrays import unit
from nadirfix.retrieval.whitening import Projection

RNG = np.random.default_rng(3)
#: Descriptors that differ far more along some axes than along others, about a mean of their own.
MIXED = RNG.normal(size=(600, 24)) * np.geomspace(2.0, 0.05, 24) @ RNG.normal(size=(24, 24)) + 3.0
UNITS = unit(MIXED)


def test_against_scikit_learn() -> None:
    oracle = PCA(10, whiten=True, svd_solver="full").fit(UNITS.astype(np.float64))
    wanted = oracle.transform(UNITS.astype(np.float64))
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    whitened = Projection.fit(UNITS, 10)(UNITS)
    same_sign = np.sign((whitened * wanted).sum(axis=0))
    assert whitened * same_sign == pytest.approx(wanted, abs=2e-4)


def test_what_is_whitened_has_no_mean_and_no_direction() -> None:
    projection = Projection.fit(UNITS, 24)
    spread = (UNITS - projection.mean) @ projection.axes.T
    assert spread.mean(axis=0) == pytest.approx(np.zeros(len(projection.axes)), abs=2e-2)
    assert spread.T @ spread / len(spread) == pytest.approx(np.eye(len(projection.axes)), abs=2e-2)


def test_half_the_power_is_half_way_between_turned_and_whitened() -> None:
    oracle = PCA(10, svd_solver="full").fit(UNITS.astype(np.float64))
    turned = oracle.transform(UNITS.astype(np.float64))
    for power in (0.0, 0.5):
        wanted = turned / turned.std(axis=0) ** power
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        whitened = Projection.fit(UNITS, 10, power=power)(UNITS)
        assert whitened * np.sign((whitened * wanted).sum(axis=0)) == pytest.approx(wanted, abs=2e-4)


def test_descriptors_come_out_at_unit_length() -> None:
    lengths = np.linalg.norm(Projection.fit(UNITS, 5)(UNITS), axis=1)
    assert lengths == pytest.approx(np.ones(len(UNITS)), abs=1e-6)


def test_few_rows_give_no_more_axes_than_they_can_tell_apart() -> None:
    assert len(Projection.fit(UNITS[:6], 24).axes) == 5
    assert len(Projection.fit(np.repeat(UNITS[:2], 9, axis=0), 24).axes) == 1


def test_the_same_rows_give_the_same_bytes_and_survive_being_stored() -> None:
    first, again = Projection.fit(UNITS, 8).to_array(), Projection.fit(UNITS.copy(), 8).to_array()
    assert first.tobytes() == again.tobytes() and first.dtype == np.float32
    kept = Projection.from_array(first)
    assert kept(UNITS[:3]).tobytes() == Projection.fit(UNITS, 8)(UNITS[:3]).tobytes()


def test_halves_are_whitened_as_they_are_stored() -> None:
    halves = UNITS.astype(np.float16)
    assert Projection.fit(halves, 8)(halves) == pytest.approx(Projection.fit(UNITS, 8)(UNITS), abs=0.02)
