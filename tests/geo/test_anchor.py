"""The middle of a map's ground, against sums over its pixels; and what is counted from it."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.geo.anchor import map_anchor
from nadirfix.geo.grid import Grid, lattice_places
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import RECIPES, GridOptions

WEST, NORTH = 452_000.0, 5_411_500.0


def texture(mask: np.ndarray, *, gsd_m: float = 0.5, turn_deg: float = 0.0) -> Texture:
    turn = np.radians(turn_deg)
    a, b = gsd_m * np.cos(turn), gsd_m * np.sin(turn)
    pixels = np.zeros((*mask.shape, 3), np.uint8)
    return Texture.from_array(pixels, mask, affine=(a, b, WEST, b, -a, NORTH), epsg=32633)


def mask_with_holes(height: int, width: int) -> np.ndarray:
    mask = np.full((height, width), 255, np.uint8)
    mask[: height // 3, width // 2 :] = 0
    mask[-7:, :11] = 0
    return mask


@pytest.mark.parametrize("turn_deg", [0.0, 33.0])
def test_it_is_the_mean_of_all_valid_pixels(turn_deg: float) -> None:
    mask = mask_with_holes(1031, 777)
    row, col = np.nonzero(mask)
    turn = np.radians(turn_deg)
    x, y = 0.5 * (col + 0.5), 0.5 * (row + 0.5)
    east = WEST + np.cos(turn) * x + np.sin(turn) * y
    north = NORTH + np.sin(turn) * x - np.cos(turn) * y
    middle = map_anchor(texture(mask, turn_deg=turn_deg))
    assert np.abs(np.subtract(middle, (east.mean(), north.mean()))).max() < 1e-6


def test_a_finer_file_of_the_same_ground_has_the_same_middle() -> None:
    mask = mask_with_holes(300, 400)
    fine = np.repeat(np.repeat(mask, 4, axis=0), 4, axis=1)
    coarse, finer = map_anchor(texture(mask, gsd_m=0.5)), map_anchor(texture(fine, gsd_m=0.125))
    assert np.abs(np.subtract(coarse, finer)).max() < 0.05


def test_empty_margins_do_not_count() -> None:
    mask = mask_with_holes(300, 400)
    wide = np.pad(mask, ((0, 123), (0, 77)))
    assert np.abs(np.subtract(map_anchor(texture(mask)), map_anchor(texture(wide)))).max() < 1e-6


def test_cells_and_places_move_with_the_origin() -> None:
    shift = np.array([123.4, -567.8])
    here = Grid.from_options(GridOptions(), anchor_m=(WEST, NORTH))
    there = Grid.from_options(GridOptions(), anchor_m=(WEST + shift[0], NORTH + shift[1]))
    east, north = np.random.default_rng(0).uniform(-3000, 3000, (2, 500)) + np.array([[WEST], [NORTH]])
    moved = there.cells_of(east + shift[0], north + shift[1])
    np.testing.assert_array_equal(here.cells_of(east, north), moved)
    assert np.subtract(there.center_m((3, -2)), here.center_m((3, -2))) == pytest.approx(shift)
    assert np.subtract(there.bounds_m((3, -2))[:2], here.bounds_m((3, -2))[:2]) == pytest.approx(shift)


def test_the_lattice_is_counted_from_the_origin() -> None:
    east, north = lattice_places((0.0, 0.0, 200.0, 100.0), 65.0, origin_m=(10.0, 20.0))
    assert set(east) == {-22.5, 42.5, 107.5, 172.5}
    assert set(north) == {-12.5, 52.5, 117.5}


def test_the_published_grid_is_the_zones_own() -> None:
    grid = Grid.from_options(RECIPES["paper"].grid, anchor_m=(WEST, NORTH))
    assert grid.origin_m == (0.0, 0.0)
    assert Grid.from_options(RECIPES["standard"].grid, anchor_m=(WEST, NORTH)).origin_m == (WEST, NORTH)


def test_a_grid_survives_a_manifest() -> None:
    grid = Grid.from_options(GridOptions(), anchor_m=(WEST + 0.1, NORTH + 0.2))
    assert Grid.from_dict(grid.to_dict()) == grid
