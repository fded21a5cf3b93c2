"""METHOD §3, inference: a softmax in every group, the best cells over all groups."""

import math

import numpy as np
import pytest

from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.options.recipe import HeadOptions
from nadirfix.retrieval.cells import CellClassifier, log_odds

GRID = Grid(100.0, 2)
CELLS = [(4000 + i, 55000 + j) for i in range(5) for j in range(3)]
ORDER = ClassOrder.from_cells(GRID, CELLS)
DIMS = 8


def tables(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(size, DIMS)) * rng.uniform(0.1, 5, (size, 1)) for size in ORDER.sizes]


def oracle(x: np.ndarray, table: np.ndarray, head: HeadOptions) -> list[float]:
    scores = []
    for w in table:
        along = float(x @ w)
        scores.append(along if head.kind == "ce" else head.scale * along / (math.hypot(*x) * math.hypot(*w)))
    powers = [math.exp(s - max(scores)) for s in scores]
    return [p / sum(powers) for p in powers]


@pytest.mark.parametrize("kind", ["ce", "aamc", "qamc"])
@pytest.mark.parametrize("seed", range(3))
def test_probabilities_against_the_equation(kind: str, seed: int) -> None:
    head = HeadOptions(kind=kind, scale=20.0)
    x = np.random.default_rng(100 + seed).normal(size=DIMS) * 3
    found = CellClassifier(tables(seed), ORDER, head).probabilities(x)
    for group, table in enumerate(tables(seed)):
        assert found[group] == pytest.approx(oracle(x, table, head), abs=1e-4)
        assert found[group].sum() == pytest.approx(1)


def test_top_cells_keep_group_and_class() -> None:
    head, x = HeadOptions(scale=8.0), np.random.default_rng(7).normal(size=DIMS)
    ranking = CellClassifier(tables(1), ORDER, head).top(x, 6)
    every = [
        (p, group, index)
        for group, table in enumerate(tables(1))
        for index, p in enumerate(oracle(x, table, head))
    ]
    wanted = sorted(every, key=lambda row: -row[0])[:6]
    assert [tuple(r) for r in zip(ranking.group, ranking.index, strict=True)] == [r[1:] for r in wanted]
    assert ranking.probability == pytest.approx([r[0] for r in wanted], abs=1e-5)
    for cell, group, index in zip(ranking.cells, ranking.group, ranking.index, strict=True):
        assert tuple(cell) == ORDER.cell_at(group, index)
    assert len({tuple(c) for c in ranking.cells}) == 6


def test_several_of_the_top_cells_may_be_of_one_group() -> None:
    """The three largest over all groups, not one per group."""
    order = ClassOrder.from_cells(GRID, [(i, j) for i in range(10) for j in range(10)])
    prototypes = [np.tile([1.0, 0.0], (size, 1)) for size in order.sizes]
    prototypes[2][:] = [0.0, 1.0]
    prototypes[2][[1, 3]] = [1.0, 0.0]
    ranking = CellClassifier(prototypes, order, HeadOptions()).top([1.0, 0.0], 2)
    assert ranking.probability == pytest.approx([0.5, 0.5])
    assert ranking.group.tolist() == [2, 2]
    assert ranking.index.tolist() == [1, 3]


def test_equals_come_in_class_order_and_count_is_bounded() -> None:
    prototypes = [np.ones((size, DIMS)) for size in ORDER.sizes]
    ranking = CellClassifier(prototypes, ORDER, HeadOptions()).top(np.ones(DIMS), 99)
    assert len(ranking) == len(CELLS)
    assert (np.diff(ranking.probability) <= 0).all()
    smallest = int(np.argmin(ORDER.sizes))
    assert ranking.group[0] == smallest
    assert ranking.index[0] == 0


def test_half_precision_prototypes_name_the_same_cell() -> None:
    x = np.random.default_rng(2).normal(size=DIMS)
    full = CellClassifier(tables(3), ORDER, HeadOptions()).top(x, 1)
    half = CellClassifier([t.astype(np.float16) for t in tables(3)], ORDER, HeadOptions()).top(x, 1)
    assert full.cells.tolist() == half.cells.tolist()


def test_prototypes_must_match_the_class_order() -> None:
    with pytest.raises(ValueError, match="one prototype per class"):
        CellClassifier(tables(0)[:-1], ORDER, HeadOptions())


def test_odds_against_high_precision() -> None:
    rng = np.random.default_rng(8)
    for scale in (1.0, 30.0, 300.0):
        logits = rng.normal(size=9) * scale
        exact = []
        for i, logit in enumerate(logits):
            others = np.sort(np.delete(logits, i))[::-1].astype(np.longdouble)
            exact.append(float(np.longdouble(logit) - (others[0] + np.log(np.exp(others - others[0]).sum()))))
        np.testing.assert_allclose(log_odds(logits), exact, rtol=1e-9, atol=1e-9)
    assert log_odds(np.array([3.0])).tolist() == [np.inf]


def test_the_surer_group_wins_where_both_probabilities_are_one() -> None:
    """Scores this sharp round to a probability of one in both groups; the second is surer by far."""
    grid = Grid(100.0, 2)
    order = ClassOrder.from_cells(grid, [(0, 0), (2, 0), (1, 0), (3, 0)])
    sure, unsure = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    classifier = CellClassifier(
        [[unsure, -unsure], [sure, -sure]], order, HeadOptions(kind="qamc", scale=100.0)
    )
    ranking = classifier.top(np.array([5.0, 0.0]), 2)
    assert ranking.probability.tolist() == [1.0, 1.0]
    assert ranking.group.tolist() == [1, 0]
