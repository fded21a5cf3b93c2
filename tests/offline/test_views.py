"""Which reference views there are: counts, the share of map under them, the size of a bundle."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.bundle.references import References
from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.errors import InputError, MapError
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.offline.views import choose_views
from nadirfix.options.recipe import RECIPES, ReferenceOptions

CANONICAL = Canonical(DEFAULT_CAMERA, 125.0)
WEST, NORTH = 452_000.0, 5_411_500.0


def make_texture(width_m: float, height_m: float, *, gsd_m: float = 8.0, hole: bool = False) -> Texture:
    shape = round(height_m / gsd_m), round(width_m / gsd_m)
    mask = np.full(shape, 255, np.uint8)
    if hole:
        mask[: shape[0] // 2, : shape[1] // 2] = 0
    pixels = np.zeros((*shape, 3), np.uint8)
    return Texture.from_array(pixels, mask, affine=(gsd_m, 0.0, WEST, 0.0, -gsd_m, NORTH), epsg=32633)


def test_views_of_a_whole_map_are_a_lattice_of_places_and_headings() -> None:
    texture = make_texture(1000.0, 800.0)
    grid = Grid(100.0, 2, origin_m=(WEST + 500, NORTH - 400))
    chosen = choose_views(texture, CANONICAL, grid, ReferenceOptions(headings=3))
    assert set(chosen.views.heading_deg) == {0.0, 120.0, 240.0}
    local = grid.local_m(chosen.views.east_m, chosen.views.north_m)
    np.testing.assert_allclose(local % 65.0, 32.5)
    assert len(chosen.views) + chosen.left_out == 16 * 14 * 3
    assert set(chosen.views.altitude_m) == {125.0}


def test_views_over_a_hole_are_left_out_and_counted() -> None:
    grid = Grid(100.0, 2)
    whole = choose_views(make_texture(2000.0, 2000.0), CANONICAL, grid, ReferenceOptions(headings=1))
    holed = choose_views(
        make_texture(2000.0, 2000.0, hole=True), CANONICAL, grid, ReferenceOptions(headings=1)
    )
    assert len(whole.views) + whole.left_out == len(holed.views) + holed.left_out
    in_hole = (holed.views.east_m < WEST + 950) & (holed.views.north_m > NORTH - 950)
    assert not in_hole.any()
    assert 0.70 < len(holed.views) / len(whole.views) < 0.80


@pytest.mark.parametrize("options", [{"stride_m": 0.0}, {"headings": 0}, {"valid_share": 1.5}])
def test_options_that_make_no_lattice(options: dict[str, float]) -> None:
    with pytest.raises(InputError) as caught:
        choose_views(make_texture(500.0, 500.0), CANONICAL, Grid(100.0, 2), ReferenceOptions(**options))
    assert caught.value.code == "options.invalid"


def test_a_map_without_room_for_a_view() -> None:
    with pytest.raises(MapError) as caught:
        choose_views(make_texture(80.0, 80.0), CANONICAL, Grid(100.0, 2), ReferenceOptions())
    assert caught.value.code == "map.too_small"


def test_twenty_square_kilometres_fit_in_200_mb() -> None:
    """Descriptors, prototypes, networks and texture of the standard recipe, counted by what they hold."""
    recipe = RECIPES["standard"]
    texture = make_texture(5000.0, 4000.0, gsd_m=16.0)
    grid = Grid.from_options(recipe.grid, anchor_m=(WEST + 2500, NORTH - 2000))
    chosen = choose_views(texture, CANONICAL, grid, recipe.references)
    cells = np.unique(grid.cells_of(chosen.views.east_m, chosen.views.north_m), axis=0)
    dimensions = recipe.place_network.mix_channels * recipe.place_network.mix_rows
    assert dimensions <= 1024
    assert 4_000 * 12 < len(chosen.views) <= 4_900 * 12
    descriptors_mb = len(chosen.views) * dimensions * 2 / 1e6
    prototypes_mb = len(cells) * dimensions * 2 / 1e6
    print(f"{len(chosen.views)} views, {len(cells)} cells: {descriptors_mb:.0f} + {prototypes_mb:.0f} MB")
    assert descriptors_mb + prototypes_mb < 122


def test_references_are_sorted_by_class_then_place_then_heading() -> None:
    grid = Grid(100.0, 2)
    draw = np.random.default_rng(0)
    places = draw.uniform(0, 500, (60, 2)).repeat(3, axis=0)
    heading = np.tile([240.0, 0.0, 120.0], 60)
    shuffled = draw.permutation(180)
    east, north, heading = places[shuffled, 0], places[shuffled, 1], heading[shuffled]
    cells = [(int(e), int(n)) for e, n in grid.cells_of(east, north)]
    order = ClassOrder.from_cells(grid, [c for c in cells if c != cells[0]])
    known = References.sorted_by_class(east, north, heading, epsg=32633, grid=grid, order=order)
    assert len(known) == sum(c != cells[0] for c in cells)
    assert (np.diff(known.label) >= 0).all()
    np.testing.assert_array_equal(np.concatenate(order.cells)[known.label], known.cell)
    np.testing.assert_array_equal(known.heading_deg.reshape(-1, 3), [[0.0, 120.0, 240.0]] * (len(known) // 3))
    for label in range(len(order)):
        assert (known.label[known.rows_of(label)] == label).all()
