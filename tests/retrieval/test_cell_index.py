"""Among very many cells the likeliest three are found without comparing with all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.offline.describe import write_cell_index
from nadirfix.options.recipe import HeadOptions
from nadirfix.retrieval.cell_index import CellIndex, index_names
from nadirfix.retrieval.cells import CellClassifier

SIDE, DIMS = 40, 64


class Ground:
    """Embeddings of places: similar for neighbours, not for far ones, as random waves over the map."""

    def __init__(self) -> None:
        draw = np.random.default_rng(4)
        self.waves, self.phases = draw.normal(0, 0.9, (2, DIMS)), draw.uniform(0, 2 * np.pi, DIMS)

    def embedded(self, places: np.ndarray) -> np.ndarray:
        embedding = np.cos(places @ self.waves + self.phases)
        return (embedding / np.linalg.norm(embedding, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def order() -> ClassOrder:
    return ClassOrder.from_cells(Grid(100.0, 2), [(x, y) for x in range(SIDE) for y in range(SIDE)])


@pytest.fixture(scope="module")
def tables(order: ClassOrder) -> list[np.ndarray]:
    return [Ground().embedded(cells + 0.5) for cells in order.cells]


@pytest.fixture(scope="module")
def index(tables: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> CellIndex:
    folder = tmp_path_factory.mktemp("sketches")
    write_cell_index(tables, folder.joinpath)
    return CellIndex(folder, groups=len(tables))


def test_nearly_all_of_the_three_likeliest_cells_are_found(order, tables, index) -> None:
    head = HeadOptions()
    every, quick = CellClassifier(tables, order, head), CellClassifier(tables, order, head, index=index)
    draw = np.random.default_rng(6)
    vectors = Ground().embedded(draw.uniform(0, SIDE, (200, 2))) + draw.normal(0, 0.02, (200, DIMS))
    shared = []
    for vector in vectors.astype(np.float32):
        wanted, found = every.top(vector, 3), quick.top(vector, 3)
        shared.append(len({*map(tuple, wanted.cells.tolist())} & {*map(tuple, found.cells.tolist())}))
        if shared[-1] == 3:
            np.testing.assert_array_equal(found.cells, wanted.cells)
            np.testing.assert_allclose(found.probability, wanted.probability, atol=1e-3)
    assert np.sum(shared) / 600 >= 0.99


def test_group_and_class_still_name_the_cell(order, tables, index) -> None:
    classifier = CellClassifier(tables, order, HeadOptions(), index=index)
    ranking = classifier.top(Ground().embedded(np.array([[12.5, 7.5]]))[0], 3)
    assert tuple(ranking.cells[0]) == (12, 7)
    for cell, group, number in zip(ranking.cells, ranking.group, ranking.index, strict=True):
        assert order.cell_at(int(group), int(number)) == tuple(cell)


def test_a_head_without_angles_compares_with_all(order, tables, index) -> None:
    vector = 3 * Ground().embedded(np.array([[30.2, 4.4]]))[0]
    head = HeadOptions(kind="ce")
    wanted, found = (CellClassifier(tables, order, head, index=i).top(vector, 3) for i in (None, index))
    np.testing.assert_array_equal(found.cells, wanted.cells)


def test_the_same_prototypes_become_the_same_sketches(tables, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_cell_index(tables[:1], (tmp_path / name).joinpath)
    written = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("a", "b")]
    assert written[0] == written[1] and set(written[0]) == set(index_names(1))


@pytest.mark.parametrize("count", [3, 100])
def test_as_many_cells_as_are_asked_for_are_found(order, tables, index, count: int) -> None:
    """Sketches offer eight of each group by themselves: more must be offered where more are wanted."""
    vector = Ground().embedded(np.array([[20.3, 11.8]]))[0]
    wanted = CellClassifier(tables, order, HeadOptions()).top(vector, count)
    found = CellClassifier(tables, order, HeadOptions(), index=index).top(vector, count)
    assert len(found.cells) == len({*map(tuple, found.cells.tolist())}) == count
    shared = {*map(tuple, wanted.cells.tolist())} & {*map(tuple, found.cells.tolist())}
    assert len(shared) >= 0.9 * count


def test_more_cells_than_there_are_is_all_of_them(order, tables, index) -> None:
    vector = Ground().embedded(np.array([[20.3, 11.8]]))[0]
    assert len(CellClassifier(tables, order, HeadOptions(), index=index).top(vector, 9999).cells) == SIDE**2
