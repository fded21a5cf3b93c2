"""Views cut from mosaics are the views: the same ground, to the metre, in the same order."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from nadirfix.arrays import unit
from nadirfix.bundle.references import References
from nadirfix.camera import Camera
from nadirfix.files import quiet
from nadirfix.geo.angle import along_heading, from_heading
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.offline.describe import ReferenceRenderer, describe_mosaics
from nadirfix.offline.mosaic import mosaics_fit, plan_mosaics, pool_views, write_feature_network
from nadirfix.offline.views import choose_views
from nadirfix.options.recipe import NetworkOptions, ReferenceOptions
from nadirfix.runtime import load_network
from nadirfix.types import Point, View

WEST, NORTH = 452_000.0, 5_411_500.0
CANONICAL = Canonical(Camera(512, 384, 300.0, 300.0), 100.0)
STEPS, SIZE = 8, (64, 64)
OPTIONS = ReferenceOptions(headings=5, stride_m=70.0, steps=STEPS)
GEM = NetworkOptions(width_px=64, height_px=64, encoder="small", weights="random", aggregator="gem")
GRID = Grid(100.0, 2, origin_m=(WEST + 450.0, NORTH - 400.0))


@pytest.fixture(scope="module")
def texture() -> Texture:
    """Ground of 900 × 800 m with detail of 10 m and more, half a metre a pixel."""
    coarse = np.random.default_rng(1).integers(0, 256, (80, 90, 3)).astype(np.uint8)
    pixels = np.repeat(np.repeat(coarse, 20, axis=0), 20, axis=1)
    return Texture.from_array(pixels, None, affine=(0.5, 0.0, WEST, 0.0, -0.5, NORTH), epsg=32633)


@pytest.fixture(scope="module")
def references(texture: Texture) -> References:
    views = choose_views(texture, CANONICAL, GRID, OPTIONS).views
    cells = {(int(e), int(n)) for e, n in GRID.cells_of(views.east_m, views.north_m)}
    order = ClassOrder.from_cells(GRID, cells)
    return References.sorted_by_class(
        views.east_m, views.north_m, views.heading_deg, epsg=32633, grid=GRID, order=order
    )


def whole(texture: Texture, references: References, row: int) -> bool:
    center = Point(float(references.east_m[row]), float(references.north_m[row]), 32633)
    view = View(center, CANONICAL.altitude_m, float(references.heading_deg[row]))
    return texture.render(view, CANONICAL.camera, (32, 32)).valid_share == 1.0


class Blocks:
    """A network without padding: features are the means of 8 × 8 pixels, cubed."""

    def run(self, inputs: np.ndarray) -> np.ndarray:
        count, channels, rows, columns = inputs.shape
        blocks = inputs.reshape(count, channels, rows // 8, 8, columns // 8, 8)
        return np.asarray(blocks.mean(axis=(3, 5)) ** 3, np.float32)


def pooled(features: np.ndarray) -> np.ndarray:
    """The generalised mean over quarters, written out."""
    half = STEPS // 2
    quarters = [
        features[:, :, y : y + half, x : x + half].mean(axis=(2, 3)) for y in (0, half) for x in (0, half)
    ]
    return np.concatenate(quarters, axis=1) ** (1 / 3)


def test_views_on_whole_steps_lie_within_half_a_step_of_where_they_would_lie(texture: Texture) -> None:
    loose = choose_views(
        texture, CANONICAL, GRID, ReferenceOptions(headings=5, stride_m=70.0, valid_share=0.01)
    )
    tight = choose_views(
        texture, CANONICAL, GRID, ReferenceOptions(headings=5, stride_m=70.0, valid_share=0.01, steps=STEPS)
    )
    for heading_deg in np.unique(tight.views.heading_deg):
        some = tight.views.heading_deg == heading_deg
        place = tight.views.east_m[some] - GRID.origin_m[0], tight.views.north_m[some] - GRID.origin_m[1]
        for along, side_m in zip(along_heading(*place, heading_deg), CANONICAL.footprint_m, strict=True):
            steps = along / (side_m / STEPS)
            assert np.abs(steps - np.rint(steps)).max() < 1e-6
    most_m = np.hypot(*(side_m / STEPS / 2 for side_m in CANONICAL.footprint_m))
    there = np.column_stack([loose.views.east_m, loose.views.north_m])
    here = np.column_stack([tight.views.east_m, tight.views.north_m])
    apart_m = np.sqrt(((here[:, None] - there[None]) ** 2).sum(-1)).min(axis=1)
    print(f"{len(here)} views moved by {apart_m.max():.1f} m at most, {most_m:.1f} m allowed")
    assert apart_m.max() <= most_m + 1e-6


def test_axes_along_a_heading_are_the_camera_s() -> None:
    right, ahead = along_heading(np.array([3.0]), np.array([0.0]), 90.0)
    assert (float(right[0]), float(ahead[0])) == pytest.approx((0.0, 3.0))  # looking east, east is ahead
    east, north = from_heading(np.array([2.0]), np.array([5.0]), 217.0)
    back = along_heading(east, north, 217.0)
    assert (float(back[0][0]), float(back[1][0])) == pytest.approx((2.0, 5.0))


def test_every_view_is_on_one_mosaic_and_whole(references: References) -> None:
    mosaics = plan_mosaics(references, CANONICAL, STEPS, origin_m=GRID.origin_m)
    members = np.concatenate([mosaic.members for mosaic in mosaics])
    np.testing.assert_array_equal(np.sort(members), np.arange(len(references)))
    for mosaic in mosaics:
        assert mosaic.left.min() >= 1 and mosaic.top.min() >= 1
        assert (mosaic.left + STEPS).max() < mosaic.columns and (mosaic.top + STEPS).max() < mosaic.rows
    rendered = sum(mosaic.columns * mosaic.rows for mosaic in mosaics)
    print(f"{len(mosaics)} mosaics show {rendered / STEPS**2:.0f} views' ground for {len(references)} views")
    assert rendered < 0.6 * len(references) * STEPS**2


def test_a_view_cut_from_a_mosaic_is_the_view_rendered_alone(
    texture: Texture, references: References
) -> None:
    renderer = ReferenceRenderer(texture, CANONICAL, references, SIZE)
    mosaics = plan_mosaics(references, CANONICAL, STEPS, origin_m=GRID.origin_m)
    similarities = []
    for mosaic in mosaics:
        cut = unit(pool_views(Blocks(), renderer.mosaic(mosaic, STEPS), mosaic, STEPS, GEM))
        for i, row in enumerate(mosaic.members.tolist()):
            if whole(texture, references, row):  # beyond the map's edge each is filled with a mean of its own
                wanted = unit(pooled(Blocks().run(renderer.picture(row)[None])))[0]
                similarities.append(float(cut[i] @ wanted))
    print(f"{len(similarities)} views, cosine at worst {min(similarities):.6f}")
    assert len(similarities) > 50 and min(similarities) > 0.9995


def test_all_mosaics_together_are_all_references_and_survive_a_stop(
    texture: Texture, references: References, tmp_path: Path
) -> None:
    renderer = ReferenceRenderer(texture, CANONICAL, references, SIZE)
    mosaics = plan_mosaics(references, CANONICAL, STEPS, origin_m=GRID.origin_m)
    stops: list[int] = []

    def embed(mosaic):
        return pool_views(Blocks(), renderer.mosaic(mosaic, STEPS), mosaic, STEPS, GEM)

    def stop(_stage: str, done: int, _total: int) -> None:
        stops.append(done)
        if len(stops) == 2:
            raise KeyboardInterrupt

    settings = {"folder": tmp_path / "mosaics"}
    with pytest.raises(KeyboardInterrupt):
        describe_mosaics(renderer, embed, mosaics, tmp_path / "a.npy", progress=stop, **settings)
    kept = len(list((tmp_path / "mosaics").iterdir()))
    runs: list[int] = []
    describe_mosaics(
        renderer,
        lambda s: (runs.append(1), embed(s))[1],
        mosaics,
        tmp_path / "a.npy",
        progress=quiet,
        **settings,
    )
    assert len(runs) == len(mosaics) - kept < len(mosaics)
    array = np.load(tmp_path / "a.npy")
    assert array.dtype == np.float16 and len(array) == len(references)
    row = len(references) // 2
    wanted = unit(pooled(Blocks().run(renderer.picture(row)[None])))[0]
    assert float(array[row].astype(np.float32) @ wanted) > 0.999


@pytest.mark.parametrize(
    ("changed", "fits"),
    [({}, True), ({"aggregator": "mixvpr"}, False), ({"width_px": 60}, False)],
)
def test_only_a_network_that_pools_by_parts_can_be_cut(changed: dict, fits: bool) -> None:
    assert mosaics_fit(dataclasses.replace(GEM, **changed), STEPS) is fits
    assert not mosaics_fit(GEM, 0)


def test_the_features_of_a_network_are_what_it_pools(tmp_path: Path) -> None:
    """The network cut before its means, then the means written out: the whole network's output."""
    pytest.importorskip("torch")
    from nadirfix.train.export import export_network
    from nadirfix.train.models.embedder import Embedder
    from nadirfix.train.models.weights import load_encoder

    encoder, record = load_encoder(GEM)
    export_network(Embedder(encoder, GEM, record), tmp_path / "n.onnx", input_shape=(3, 64, 64))
    assert write_feature_network(tmp_path / "n.onnx", tmp_path / "f.onnx")
    assert not write_feature_network(tmp_path / "f.onnx", tmp_path / "g.onnx"), (
        "there is nothing left to cut off"
    )
    pictures = np.random.default_rng(2).uniform(0, 255, (2, 3, 64, 64)).astype(np.float32)
    wanted = load_network(tmp_path / "n.onnx").run(pictures)
    features = load_network(tmp_path / "f.onnx").run(pictures)
    means = [features[:, :, y : y + 2, x : x + 2].mean(axis=(2, 3)) for y in (0, 2) for x in (0, 2)]
    np.testing.assert_allclose(np.concatenate(means, axis=1) ** (1 / 3), wanted, rtol=1e-4)
    wide = load_network(tmp_path / "f.onnx").run(np.zeros((1, 3, 128, 192), np.float32))
    assert wide.shape[2:] == (8, 12)
