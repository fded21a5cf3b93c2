"""METHOD §4, the weighted coordinate, against an oracle in double precision that solves the dual itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from nadirfix.options.locate import LocateOptions
from nadirfix.retrieval.one_class_svm import decisions
from nadirfix.retrieval.wce import fuse, inlier_mask, inverse_distance_weights, standardised
from nadirfix.types import Candidates

OPTIONS = LocateOptions()
NU, EPSILON = 0.4, 1e-8
#: libsvm stops when its gradients agree to 1e-3: this near to the line it may say either.
ORACLE_TOLERANCE = 1e-5  # how well the oracle's own solver converges
#: The oracle's solver counts as at a bound this near to it.
EDGE = 1e-4
HERE, MOVED = np.array([452_500.0, 5_411_500.0]), np.array([123.4, -567.8])


def candidates(places: np.ndarray, distance: np.ndarray) -> Candidates:
    n = len(places)
    return Candidates(
        reference=np.arange(n),
        east_m=places[:, 0],
        north_m=places[:, 1],
        heading_deg=np.zeros(n),
        distance=distance,
        cell=np.zeros((n, 2), np.int64),
        epsg=32633,
    )


def oracle(places: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The one-class machine from its definition: minimise ½aᵀKa, 0 ≤ a ≤ 1, Σa = νn; decision = Ka − ρ.

    Gives Ka and the lowest and highest ρ that solve it: one number where some a lies between its bounds.
    """
    z = (places - places.mean(axis=0)) / places.std(axis=0)
    gamma = 1.0 / (z.shape[1] * z.var())
    K = np.exp(-gamma * ((z[:, None] - z[None]) ** 2).sum(axis=-1))
    n = len(z)
    solved = minimize(
        lambda a: 0.5 * a @ K @ a,
        np.full(n, NU),
        jac=lambda a: K @ a,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - NU * n, "jac": lambda a: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    a, score = solved.x, K @ solved.x
    free = (a > EDGE) & (a < 1 - EDGE)
    if free.any():
        return score, score[free].mean(), score[free].mean()
    return score, score[a >= 1 - EDGE].max(), score[a <= EDGE].min()


def sets(count: int) -> list[np.ndarray]:
    """Clusters with places apart, on a map's coordinates."""
    rng = np.random.default_rng(3)
    made = []
    for _ in range(count):
        near, far = rng.normal(0, 40, (8, 2)), rng.uniform(300, 900, (2, 2))
        made.append(np.concatenate([near, far]) + HERE)
    return made


def test_standardised_coordinates() -> None:
    places = sets(1)[0]
    want = (places - places.mean(axis=0)) / places.std(axis=0)
    np.testing.assert_allclose(standardised(places), want, atol=1e-6)


@pytest.mark.parametrize("places", sets(25))
def test_kept_are_those_with_decision_at_least_zero(places: np.ndarray) -> None:
    score, lowest, highest = oracle(places)
    kept = inlier_mask(places, outlier_share=NU, keep_on_line=True)
    assert kept[score > highest - ORACLE_TOLERANCE].all()
    assert not kept[score < lowest - ORACLE_TOLERANCE].any()
    inside = inlier_mask(places, outlier_share=NU, keep_on_line=False)
    assert inside[score > highest + ORACLE_TOLERANCE].all() or not (score > highest + ORACLE_TOLERANCE).any()
    assert not inside[score < highest - ORACLE_TOLERANCE].any() or inside.sum() == 1


def test_weights_are_inverse_distances_over_the_kept() -> None:
    distance = np.array([0.2, 0.4, 0.5, 0.9])
    kept = np.array([True, False, True, True])
    inverse = [1 / (0.2 + EPSILON), 0, 1 / (0.5 + EPSILON), 1 / (0.9 + EPSILON)]
    np.testing.assert_allclose(
        inverse_distance_weights(distance, kept, epsilon=EPSILON),
        np.array(inverse) / sum(inverse),
        rtol=1e-14,
    )


@pytest.mark.parametrize("places", sets(10))
def test_answer_is_the_weighted_mean(places: np.ndarray) -> None:
    distance = np.sort(np.random.default_rng(1).uniform(0.1, 1.2, len(places)))
    kept = inlier_mask(places, outlier_share=NU, keep_on_line=True)
    inverse = np.where(kept, 1 / (distance + EPSILON), 0)
    east_m, north_m = (inverse / inverse.sum()) @ places
    answer = fuse(candidates(places, distance), OPTIONS)
    assert answer.position.east_m == pytest.approx(east_m, abs=1e-6)
    assert answer.position.north_m == pytest.approx(north_m, abs=1e-6)
    assert answer.weights.sum() == pytest.approx(1)
    assert (answer.weights[~kept] == 0).all()


def test_without_weighting_the_nearest_answers() -> None:
    places = sets(1)[0]
    answer = fuse(candidates(places, np.linspace(0.1, 1, 10)), LocateOptions(weighted=False))
    assert (answer.position.east_m, answer.position.north_m) == tuple(places[0])
    assert answer.weights.tolist() == [1.0] + [0.0] * 9


def test_one_candidate_is_the_answer() -> None:
    answer = fuse(candidates(np.array([[500.0, 700.0]]), np.array([0.3])), OPTIONS)
    assert (answer.position.east_m, answer.position.north_m) == (500.0, 700.0)


@pytest.mark.parametrize("n", [2, 3, 10])
def test_candidates_at_one_place_answer_it(n: int) -> None:
    """Twelve headings of one reference place: no spread to scale by."""
    answer = fuse(candidates(np.tile([[452_565.0, 5_411_435.0]], (n, 1)), np.linspace(0.1, 1, n)), OPTIONS)
    assert (answer.position.east_m, answer.position.north_m) == (452_565.0, 5_411_435.0)
    assert answer.weights.sum() == pytest.approx(1)


def test_candidates_along_a_line_still_answer() -> None:
    places = np.column_stack([np.arange(10) * 65.0, np.full(10, 7.0)])
    answer = fuse(candidates(places, np.linspace(0.1, 1, 10)), OPTIONS)
    assert 0 <= answer.position.east_m <= 585
    assert answer.position.north_m == 7.0


def test_two_candidates_answer_between_them() -> None:
    answer = fuse(candidates(np.array([[0.0, 0.0], [100.0, 50.0]]), np.array([0.2, 0.3])), OPTIONS)
    assert 0 <= answer.position.east_m <= 100
    assert answer.weights.sum() == pytest.approx(1)


def test_zero_distances_weigh_alike() -> None:
    """The photo is a reference, twice."""
    answer = inverse_distance_weights(np.array([0.0, 0.0, 1.0]), np.ones(3, bool), epsilon=EPSILON)
    assert answer[:2] == pytest.approx([0.5, 0.5], abs=1e-7)


def test_nothing_kept_leaves_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nadirfix.retrieval.wce.decisions", lambda points, **_: np.full(len(points), -1.0))
    kept = inlier_mask(sets(1)[0], outlier_share=NU, keep_on_line=True)
    assert kept.tolist() == [True] + [False] * 9


def any_sets(count: int) -> list[np.ndarray]:
    """Two to twelve places: scattered, on the references' lattice (many of them twice), or in a cluster."""
    rng = np.random.default_rng(4)
    made = []
    for i in range(count):
        n = int(rng.integers(2, 13))
        scattered, lattice = rng.normal(0, 100, (n, 2)), 65.0 * rng.integers(0, 4, (n, 2))
        cluster = np.concatenate([rng.normal(0, 30, (n, 2)), rng.uniform(300, 900, (2, 2))])
        made.append((scattered, lattice, cluster)[i % 3] + [0.0, 1.0 * i])
    return [places for places in made if np.ptp(places, axis=0).any()]


def test_the_machine_is_that_of_scikit_learn() -> None:
    """Its kernel is in single precision, hence 1e-6; where no point carries the line it may lie anywhere."""
    from sklearn.svm import OneClassSVM

    compared = 0
    for places in any_sets(150):
        scaled = standardised(places)
        machine = OneClassSVM(nu=NU, gamma="scale", tol=1e-10).fit(scaled)
        carried = (machine.dual_coef_ < 1 - 1e-6).any()
        found, wanted = decisions(scaled, outlier_share=NU), machine.decision_function(scaled)
        shift = 0.0 if carried else (found - wanted).mean()
        np.testing.assert_allclose(found - shift, wanted, atol=1e-6)
        compared += carried
    assert compared > 100


@pytest.mark.parametrize("share", [0.05, 0.4, 0.5, 0.95])
def test_the_machine_is_solved_to_the_last_digits(share: float) -> None:
    """Conditions of the optimum: at most νn outside the line, at least νn on it or outside."""
    for places in any_sets(60):
        found = decisions(standardised(places), outlier_share=share)
        n = len(places)
        assert (found < -1e-9).sum() <= share * n + 1e-9
        assert (found <= 1e-9).sum() >= share * n - 1e-9


@pytest.mark.parametrize("places", sets(25))
def test_moving_the_map_moves_the_answer_with_it(places: np.ndarray) -> None:
    distance = np.linspace(0.1, 1, len(places))
    here = fuse(candidates(places, distance), OPTIONS).position
    there = fuse(candidates(places + MOVED, distance), OPTIONS).position
    assert there.east_m - here.east_m == pytest.approx(123.4, abs=1e-6)
    assert there.north_m - here.north_m == pytest.approx(-567.8, abs=1e-6)
