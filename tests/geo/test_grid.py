"""Cells, groups and class order: round trips, on both sides of zero."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nadirfix.errors import InputError
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.options.recipe import GridOptions

GRID = Grid.from_options(GridOptions(anchor="zone"), anchor_m=(123.4, -567.8))
METRES = st.floats(-1e7, 1e7)
CELL = st.tuples(st.integers(-100_000, 100_000), st.integers(-100_000, 100_000))
CELLS = st.lists(CELL, min_size=1, max_size=60)


def test_cells_by_hand() -> None:
    assert GRID.cell_of(250, 99.999) == (2, 0)
    assert GRID.cell_of(300, 100) == (3, 1)
    assert GRID.cell_of(-0.001, -100) == (-1, -1)
    assert GRID.cell_of(-100.001, -200.001) == (-2, -3)
    assert GRID.group_of((-1, 4)) == (1, 0)
    assert GRID.center_m((-1, 4)) == (-50, 450)
    assert GRID.bounds_m((-1, 4)) == (-100, 400, 0, 500)


@given(east=METRES, north=METRES, side=st.sampled_from([25.0, 60.0, 100.0, 128.0]))
def test_a_place_lies_in_its_cell(east: float, north: float, side: float) -> None:
    grid = Grid(side, 2)
    cell = grid.cell_of(east, north)
    west, south, right, top = grid.bounds_m(cell)
    assert west <= east < right
    assert south <= north < top


@given(k=st.integers(-100_000, 100_000))
def test_a_border_and_its_neighbours(k: int) -> None:
    border = k * 100.0
    assert GRID.cell_of(border, border) == (k, k)
    assert GRID.cell_of(np.nextafter(border, -np.inf), border) == (k - 1, k)
    assert GRID.cell_of(np.nextafter(border, np.inf), border) == (k, k)


@given(cell=CELL)
def test_a_cells_middle_lies_in_it(cell: tuple[int, int]) -> None:
    assert GRID.cell_of(*GRID.center_m(cell)) == cell


@given(cell=CELL, n=st.integers(2, 6))
def test_neighbours_never_share_a_group(cell: tuple[int, int], n: int) -> None:
    grid = Grid(100.0, n)
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    groups = [grid.group_of((cell[0] + i, cell[1] + j)) for i, j in around]
    assert grid.group_of(cell) not in groups
    assert all(0 <= g < n for group in groups for g in group)


@given(cells=CELLS, n=st.integers(1, 4))
def test_class_order_round_trips(cells: list[tuple[int, int]], n: int) -> None:
    grid = Grid(100.0, n)
    order = ClassOrder.from_cells(grid, cells)
    classes = order.classes()
    assert set(classes) == set(cells)
    assert len(order) == len(set(cells))
    for cell, (group, index) in classes.items():
        assert order.cell_at(group, index) == cell
        assert order.groups[group] == grid.group_of(cell)
    assert all(np.array_equal(c, sorted(map(tuple, c))) for c in order.cells)


@given(cells=CELLS)
def test_class_order_does_not_depend_on_how_cells_came(cells: list[tuple[int, int]]) -> None:
    here = ClassOrder.from_cells(GRID, cells)
    there = ClassOrder.from_cells(GRID, [*reversed(cells), *cells])
    assert here.to_dict() == there.to_dict()


@given(cells=CELLS)
def test_class_order_survives_json(cells: list[tuple[int, int]]) -> None:
    order = ClassOrder.from_cells(GRID, cells)
    back = ClassOrder.from_dict(json.loads(json.dumps(order.to_dict())))
    assert back.to_dict() == order.to_dict()
    assert back.cells[0].dtype == np.int64


@given(west=METRES, south=METRES, width=st.floats(0.01, 900), height=st.floats(0.01, 900))
def test_cells_touching_are_those_with_common_ground(
    west: float, south: float, width: float, height: float
) -> None:
    east, north = west + width, south + height
    cells = GRID.cells_touching(west, south, east, north)
    assert cells == sorted(cells)
    low, high = (
        GRID.cell_of(west, south),
        GRID.cell_of(np.nextafter(east, -np.inf), np.nextafter(north, -np.inf)),
    )
    assert (cells[0], cells[-1]) == (low, high)
    assert len(cells) == (high[0] - low[0] + 1) * (high[1] - low[1] + 1)


def test_cells_touching_bounds_on_borders() -> None:
    assert GRID.cells_touching(0, 0, 200, 100) == [(0, 0), (1, 0)]
    assert GRID.cells_touching(-100, -100, 0, 0) == [(-1, -1)]


@pytest.mark.parametrize(("side", "n"), [(0, 2), (-1, 2), (float("nan"), 2), (float("inf"), 2), (100, 0)])
def test_a_grid_without_cells_is_refused(side: float, n: int) -> None:
    with pytest.raises(InputError) as caught:
        Grid(side, n)
    assert caught.value.code == "options.invalid"
