"""Training views: on the map, never on held-out ground, the same ones for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.errors import TrainingError
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import BinOptions

torch = pytest.importorskip("torch")

from nadirfix.altitude.bins import AltitudeBins  # noqa: E402
from nadirfix.geo.coverage import BLOCK_M, MapCoverage, fingerprint, held_out, sharp_altitude_m  # noqa: E402
from nadirfix.geo.views import Views  # noqa: E402
from nadirfix.options.training import AugmentOptions  # noqa: E402
from nadirfix.train.data.altitude_views import AltitudeSampler  # noqa: E402
from nadirfix.train.data.batches import Pictures, Sampling, batch_index  # noqa: E402
from nadirfix.train.data.device_renderer import DeviceRenderer  # noqa: E402
from nadirfix.train.data.place_views import Lattice, PlaceSampler, scales_within_bins  # noqa: E402

EPSG, WEST, NORTH = 32633, 500_000.0, 5_000_000.0
BINS = AltitudeBins.from_options(BinOptions())
GRID = Grid(100.0, 2)


def make_texture(size_m: float = 2000.0, *, gsd_m: float = 4.0, hole: bool = False) -> Texture:
    side = round(size_m / gsd_m)
    pixels = np.random.default_rng(0).integers(0, 255, (side, side, 3)).astype(np.uint8)
    mask = np.full((side, side), 255, np.uint8)
    if hole:
        mask[: side // 2, : side // 2] = 0
    return Texture.from_array(pixels, mask, affine=(gsd_m, 0.0, WEST, 0.0, -gsd_m, NORTH), epsg=EPSG)


def make_sampling(
    *, valid_share: float = 0.95, tilt_deg: float = 0.0, camera: Camera = DEFAULT_CAMERA
) -> Sampling:
    return Sampling(camera=camera, seed=7, valid_share=valid_share, tilt_deg=tilt_deg)


def altitude_sampler(texture: Texture, **settings: Any) -> AltitudeSampler:
    return AltitudeSampler(MapCoverage(texture), make_sampling(), BINS, **settings)


def held_out_of(sampler: AltitudeSampler, views: Views) -> np.ndarray:
    """Blocks are counted from the map's corner, so that they move with it."""
    west, south, _, _ = sampler.coverage.bounds
    return held_out(views.east_m - west, views.north_m - south)


def place_sampler(texture: Texture, lattice: Lattice | None = None) -> PlaceSampler:
    return PlaceSampler(
        MapCoverage(texture), make_sampling(valid_share=0.8), GRID, altitude_m=125.0,
        scales=scales_within_bins(BINS), lattice=lattice,
    )  # fmt: skip


def test_how_much_of_a_view_is_on_the_map() -> None:
    ground = MapCoverage(make_texture(hole=True))
    inside = Views.level(*(np.array([v]) for v in (WEST + 1500, NORTH - 1500, 200.0, 30.0)))
    in_hole = Views.level(*(np.array([v]) for v in (WEST + 500, NORTH - 500, 200.0, 30.0)))
    on_edge = Views.level(*(np.array([v]) for v in (WEST + 2000, NORTH - 1500, 200.0, 0.0)))
    shares = [float(ground.valid_share(v, DEFAULT_CAMERA)[0]) for v in (inside, in_hole, on_edge)]
    assert shares[0] == 1.0 and shares[1] == 0.0 and abs(shares[2] - 0.5) < 0.07


def test_a_tenth_of_the_ground_is_held_out_in_whole_blocks() -> None:
    east, north = (g.ravel() for g in np.meshgrid(np.arange(0, 4000, 5.0), np.arange(0, 4000, 5.0)))
    flags = held_out(east, north)
    assert 0.08 < flags.mean() < 0.12
    corner = held_out(np.floor(east / BLOCK_M) * BLOCK_M, np.floor(north / BLOCK_M) * BLOCK_M)
    assert (flags == corner).all()


def test_altitude_views_lie_on_the_map_and_off_held_out_ground() -> None:
    sampler = altitude_sampler(make_texture(hole=True))
    views, labels = sampler.draw(np.arange(400))
    assert (sampler.coverage.valid_share(views, DEFAULT_CAMERA) >= 0.95).all()
    assert not held_out_of(sampler, views).any()
    assert (BINS.indices_of(views.altitude_m) == labels).all()
    assert np.bincount(labels, minlength=12).min() > 12  # 33 expected of each


def test_validation_views_are_only_on_held_out_ground() -> None:
    sampler = altitude_sampler(make_texture())
    views, _ = sampler.draw(np.arange(100), validation=True)
    assert held_out_of(sampler, views).all()


def test_a_view_depends_on_its_index_alone() -> None:
    texture = make_texture(hole=True)
    whole, labels = altitude_sampler(texture).draw(np.arange(200))
    part, part_labels = altitude_sampler(texture).draw(np.arange(150, 160))
    np.testing.assert_array_equal(whole.take(slice(150, 160)).east_m, part.east_m)
    np.testing.assert_array_equal(labels[150:160], part_labels)
    index = np.concatenate([batch_index(3, 8, slice(0, 4)), batch_index(3, 8, slice(4, 8))])
    np.testing.assert_array_equal(index, batch_index(3, 8, slice(0, 8)))


def test_the_published_altitudes_come_every_five_metres() -> None:
    views, _ = altitude_sampler(make_texture(), step_m=5.0).draw(np.arange(500))
    assert set(np.unique(views.altitude_m % 5)) == {0.0}
    assert views.altitude_m.min() == 100 and views.altitude_m.max() <= 695


def test_a_map_too_small_for_the_highest_class_is_an_error() -> None:
    with pytest.raises(TrainingError) as error:
        altitude_sampler(make_texture(900.0)).check()
    assert error.value.code == "training.empty_class"
    assert "m" in error.value.seen and "map" in str(error.value)


def test_place_views_lie_in_their_cell() -> None:
    sampler = place_sampler(make_texture(hole=True))
    order = sampler.order()
    sampler.use(order)
    for group in range(len(order.groups)):
        views, labels = sampler.draw(np.arange(200), group)
        cells = GRID.cells_of(views.east_m, views.north_m)
        np.testing.assert_array_equal(cells, order.cells[group][labels])
        scale = views.altitude_m / 125.0
        assert scale.min() >= 0.8 and scale.max() < 1.2 and scale.std() > 0.02
        reserved = held_out(views.east_m, views.north_m, block_m=20.0)
        assert not reserved.any()
        checked, _ = sampler.draw(np.arange(200), group, validation=True)
        assert held_out(checked.east_m, checked.north_m, block_m=20.0).all()


def test_cells_without_map_are_no_classes_and_asking_for_one_is_an_error() -> None:
    sampler = place_sampler(make_texture(hole=True))
    order = sampler.order()
    hole = GRID.cell_of(WEST + 300, NORTH - 300)
    assert hole not in order.classes() and len(order) > 150
    more = ClassOrder.from_cells(GRID, [*order.classes(), hole])
    with pytest.raises(TrainingError) as error:
        sampler.use(more)
    assert error.value.code == "training.empty_class" and str(hole[0]) in str(error.value)


def test_the_published_protocol_samples_reference_places_only() -> None:
    sampler = place_sampler(make_texture(), Lattice(65.0, 12))
    sampler.use(sampler.order())
    views, _ = sampler.draw(np.arange(300), 0)
    assert set(np.unique(views.heading_deg % 30)) == {0.0}
    np.testing.assert_allclose((views.east_m / 65.0) % 1, 0.5, atol=1e-6)


def test_pictures_have_no_black_borders() -> None:
    texture = make_texture(hole=True)
    pictures = Pictures(DeviceRenderer(texture, "cpu"), DEFAULT_CAMERA, (64, 48), AugmentOptions(), seed=0)
    views = Views.level(*(np.array([v]) for v in (WEST + 1000, NORTH - 900, 200.0, 0.0)))
    assert float(pictures.rendered(views).min()) > 10.0


def test_what_a_checkpoint_belongs_to_and_where_blur_begins() -> None:
    one, other = make_texture(), make_texture(hole=True)
    assert fingerprint(one) == fingerprint(make_texture()) != fingerprint(other)
    assert sharp_altitude_m(one, DEFAULT_CAMERA, 448) == pytest.approx(4.0 * 1200 * 448 / 2048)


def test_a_map_teaches_only_the_altitudes_it_can() -> None:
    sampler = altitude_sampler(make_texture(), within_m=(230.0, 410.0))
    sampler.check()
    views, labels = sampler.draw(np.arange(400))
    assert views.altitude_m.min() >= 230.0 and views.altitude_m.max() < 410.0
    assert np.array_equal(labels, BINS.indices_of(views.altitude_m))
    whole = altitude_sampler(make_texture())
    assert whole.draw(np.arange(400))[0].altitude_m.min() < 150.0
