"""The search by cells: compared with brute force in double precision, ties and empty cells included."""

import numpy as np
import pytest

from nadirfix.retrieval import index as index_module
from nadirfix.retrieval.index import ReferenceIndex

RNG = np.random.default_rng(7)
SIZES = [5, 0, 40, 7, 0, 300, 1, 64]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.fixture
def index() -> ReferenceIndex:
    starts = np.concatenate([[0], np.cumsum(SIZES)])
    return ReferenceIndex(unit(RNG.normal(size=(starts[-1], 96))).astype(np.float16), starts)


def brute(index: ReferenceIndex, query: np.ndarray, classes: list[int] | None, k: int) -> tuple[list, list]:
    """Every row of the classes, measured in double precision and sorted by distance, then row."""
    chosen = range(len(SIZES)) if classes is None else sorted(set(classes))
    rows = [row for c in chosen for row in range(index.starts[c], index.starts[c + 1])]
    far = {row: np.linalg.norm(np.float64(index.descriptors[row]) - np.float64(query)) for row in rows}
    best = sorted(rows, key=lambda row: (far[row], row))[:k]
    return best, [far[row] for row in best]


@pytest.mark.parametrize("classes", [None, [2], [5, 0, 3], [1, 6, 7], [2, 2, 5]])
@pytest.mark.parametrize("k", [1, 10, 150])
def test_search_equals_brute_force(index: ReferenceIndex, classes: list[int] | None, k: int) -> None:
    for query in unit(RNG.normal(size=(20, 96))).astype(np.float32):
        rows, distances = index.search(query, classes, k)
        want_rows, want = brute(index, query, classes, k)
        assert rows.tolist() == want_rows
        np.testing.assert_allclose(distances, want, rtol=1e-12)


def test_all_cells_in_pieces_equal_brute_force(
    index: ReferenceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_ROWS", 16)
    query = unit(RNG.normal(size=96)).astype(np.float32)
    assert index.search(query, None, 12)[0].tolist() == brute(index, query, None, 12)[0]


def test_more_asked_than_the_cells_hold(index: ReferenceIndex) -> None:
    rows, distances = index.search(np.zeros(96, np.float32), [0, 6], 10)
    assert len(rows) == len(distances) == 6


@pytest.mark.parametrize("classes", [[], [1], [1, 4]])
def test_empty_cells_give_nothing(index: ReferenceIndex, classes: list[int]) -> None:
    rows, distances = index.search(np.zeros(96, np.float32), classes, 10)
    assert rows.size == distances.size == 0
    assert rows.dtype == np.int64


def test_distances_are_not_squared() -> None:
    index = ReferenceIndex(np.array([[3.0, 4.0], [0.0, 0.0]], np.float16), [0, 2])
    rows, distances = index.search([0.0, 0.0], None, 2)
    assert rows.tolist() == [1, 0]
    assert distances.tolist() == [0.0, 5.0]


@pytest.mark.parametrize("k", [1, 7, 120])
def test_ties_go_by_row(k: int) -> None:
    """A lake: every reference looks the same, and the first rows answer whatever rounding does with ties."""
    same = np.tile(unit(np.ones(16)), (500, 1)).astype(np.float16)
    same[250] = same[0] * 0.5
    rows, _ = ReferenceIndex(same, [0, 500]).search(np.full(16, 0.25, np.float32), [0], k)
    assert rows.tolist() == list(range(k))


def test_rows_single_precision_cannot_tell_apart_still_come_in_order() -> None:
    query = np.zeros(4, np.float32)
    rows = np.zeros((3, 4), np.float16)
    rows[:, 0] = 1.0
    rows[0, 1], rows[1, 1], rows[2, 1] = 3e-4, 2e-4, 1e-4  # squares differ by less than 1e-7
    assert ReferenceIndex(rows, [0, 3]).search(query, None, 1)[0].tolist() == [2]


def test_only_the_rows_of_the_cells_are_read(tmp_path) -> None:
    """The other rows lie beyond the end of a sparse file that memory could not hold."""
    path = tmp_path / "descriptors.npy"
    shape = (40_000_000, 1024)  # 82 GB
    table = np.lib.format.open_memmap(path, "w+", np.float16, shape)
    table[:8, 0] = np.arange(8)
    lazy = np.load(path, mmap_mode="r")
    rows, distances = ReferenceIndex(lazy, [0, 4, 8, shape[0]]).search(np.zeros(1024, np.float32), [1], 2)
    assert rows.tolist() == [4, 5]
    assert distances.tolist() == [4.0, 5.0]


def test_classes_must_share_out_all_rows() -> None:
    with pytest.raises(ValueError, match="share out"):
        ReferenceIndex(np.zeros((3, 2), np.float16), [0, 2])
    with pytest.raises(ValueError, match="share out"):
        ReferenceIndex(np.zeros((3, 2), np.float16), [0, 4, 3])


def test_many_at_once_are_the_same_as_one_by_one(index: ReferenceIndex) -> None:
    queries = unit(RNG.normal(size=(3, 96)))
    rows, cosines = index.nearest(queries, 7)
    for query, found, cosine in zip(queries, rows, cosines, strict=True):
        wanted, distances = index.search(query, None, 7)
        assert found.tolist() == wanted.tolist()
        assert np.sqrt(2 - 2 * cosine) == pytest.approx(distances, abs=1e-3)


def test_of_equals_the_earlier_row_comes_first_however_many_there_are() -> None:
    table = np.zeros((60, 4), np.float16)
    table[:, 0] = 1
    table[[5, 50]] = 0, 1, 0, 0
    both = ReferenceIndex(table, [0, 60])
    rows, cosines = both.nearest(np.array([[1, 0, 0, 0], [0, 1, 0, 0]], np.float32), 4)
    assert rows.tolist() == [[0, 1, 2, 3], [5, 50, 0, 1]]
    assert cosines.tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]


def test_what_is_little_is_brought_into_single_precision_once(index: ReferenceIndex) -> None:
    """The second photo must not pay again: the rows on disk are not read any more."""
    query = unit(RNG.normal(size=96)).astype(np.float32)
    before = [index.search(query, None, 5)[0].tolist(), index.nearest(query[None], 5)[0].tolist()]
    index.descriptors[:] = 0
    assert [index.search(query, None, 5)[0].tolist(), index.nearest(query[None], 5)[0].tolist()] == before


def test_a_map_of_twenty_square_kilometres_is_kept_in_memory() -> None:
    references_per_km2, numbers = 2_840, 256
    assert 20 * references_per_km2 * numbers <= index_module._MAX_CACHED


@pytest.mark.parametrize("little", [0, 2**20])
def test_many_are_searched_alike_in_pieces_and_at_once(
    index: ReferenceIndex, little: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "_MAX_CACHED", little)
    monkeypatch.setattr(index_module, "_ROWS", 16)
    queries = unit(RNG.normal(size=(5, 96))).astype(np.float32)
    rows, cosines = index.nearest(queries, 20)
    table = queries.astype(np.float64) @ index.descriptors.astype(np.float64).T
    assert rows.tolist() == np.argsort(-table, axis=1, kind="stable")[:, :20].tolist()
    np.testing.assert_allclose(cosines, np.take_along_axis(table, rows, axis=1), atol=1e-5)


def test_only_the_rows_that_count_are_found() -> None:
    """The same rows and distances as an index of those rows alone."""
    draw = np.random.default_rng(3)
    descriptors = draw.normal(size=(50, 8)).astype(np.float16)
    index, within = ReferenceIndex(descriptors, [0, 20, 50]), np.array([3, 7, 19, 20, 44])
    query = draw.normal(size=8).astype(np.float32)
    distances = np.linalg.norm(descriptors[within].astype(np.float64) - query, axis=1)
    rows, found = index.search(query, [0], 3, within=within)
    assert rows.tolist() == within[np.argsort(distances)][:3].tolist()
    assert found == pytest.approx(np.sort(distances)[:3])
    rows, cosines = index.nearest(query[None], 9, within=within)
    assert rows[0].tolist() == within[np.argsort(-(descriptors[within].astype(float) @ query))].tolist()
    assert cosines.shape == (1, 5)
    assert index.search(query, None, 3, within=np.empty(0, np.int64))[0].size == 0
