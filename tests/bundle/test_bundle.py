"""A bundle's parts on their own: manifest and seal, references as GeoParquet, descriptors in pieces."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from nadirfix.bundle.layout import read_manifest
from nadirfix.bundle.recipe import recipe_from_manifest
from nadirfix.bundle.references import References, read_references
from nadirfix.camera import Camera
from nadirfix.errors import BundleError
from nadirfix.files import quiet
from nadirfix.geo.crs import transform
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical, canonical_crop
from nadirfix.offline.describe import ReferenceRenderer, describe_references, mean_directions
from nadirfix.offline.manifest import list_parts, recipe_in_manifest, write_manifest
from nadirfix.offline.references import write_references
from nadirfix.options.recipe import RECIPES
from nadirfix.types import Point, View

WEST, NORTH = 452_000.0, 5_411_500.0
CAMERA = Camera(512, 384, 300.0, 300.0)


@pytest.fixture(scope="module")
def known() -> tuple[References, ClassOrder]:
    draw = np.random.default_rng(0)
    east, north = WEST + draw.uniform(150, 450, 150), NORTH - draw.uniform(150, 450, 150)
    grid = Grid(100.0, 2)
    order = ClassOrder.from_cells(grid, [(int(e), int(n)) for e, n in grid.cells_of(east, north)])
    heading = draw.choice([0.0, 90.0, 180.0, 270.0], 150)
    return References.sorted_by_class(east, north, heading, epsg=32633, grid=grid, order=order), order


@pytest.fixture(scope="module")
def texture() -> Texture:
    coarse = np.random.default_rng(1).integers(0, 256, (60, 60, 3)).astype(np.uint8)
    pixels = np.repeat(np.repeat(coarse, 20, axis=0), 20, axis=1)
    return Texture.from_array(pixels, None, affine=(0.5, 0.0, WEST, 0.0, -0.5, NORTH), epsg=32633)


def test_a_manifest_survives_and_is_the_same_bytes_again(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("content")
    manifest = {"format": 1, "number": 0.1 + 0.2, "text": "à côté", "parts": list_parts(tmp_path, ["part"])}
    write_manifest(tmp_path, manifest)
    first = (tmp_path / "manifest.json").read_bytes()
    assert read_manifest(tmp_path) == manifest
    write_manifest(tmp_path, dict(reversed(manifest.items())))
    assert (tmp_path / "manifest.json").read_bytes() == first


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_survives_a_manifest(tmp_path: Path, name: str) -> None:
    recipe = dataclasses.replace(RECIPES[name], camera=Camera(4000, 3000, 2857.142857142857, 2860.1))
    table = json.loads(json.dumps(recipe_in_manifest(recipe)))
    assert recipe_from_manifest({"recipe": table}, tmp_path) == recipe


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_manifest_from_before_one_could_enlarge_means_means(tmp_path: Path, name: str) -> None:
    table = json.loads(json.dumps(recipe_in_manifest(RECIPES[name])))
    del table["enlarge"]
    old = recipe_from_manifest({"recipe": table}, tmp_path)
    assert old == dataclasses.replace(RECIPES[name], enlarge="mean")


def test_a_recipe_in_a_manifest_names_no_folders(tmp_path: Path) -> None:
    (tmp_path / "my-weights").mkdir()
    network = dataclasses.replace(RECIPES["paper"].place_network, weights=str(tmp_path / "my-weights"))
    table = recipe_in_manifest(dataclasses.replace(RECIPES["paper"], place_network=network))
    assert table["place_network"]["weights"] == "my-weights"
    assert table["altitude_network"]["weights"] == "microsoft/resnet-50"


def test_references_survive_to_the_bit(tmp_path: Path, known: tuple[References, ClassOrder]) -> None:
    references, order = known
    write_references(references, order, tmp_path / "a.npy")
    back = read_references(tmp_path / "a.npy", len(order))
    for field in dataclasses.fields(References):
        np.testing.assert_array_equal(getattr(back, field.name), getattr(references, field.name))
    write_references(references, order, tmp_path / "b.npy")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_references_say_where_they_are_for_a_gis(
    tmp_path: Path, known: tuple[References, ClassOrder]
) -> None:
    references, order = known
    write_references(references, order, tmp_path / "references.npy")
    table = np.load(tmp_path / "references.npy")
    east_m, north_m = transform("OGC:CRS84", "EPSG:32633", table["lon"], table["lat"])
    assert np.hypot(east_m - table["east_m"], north_m - table["north_m"]).max() < 1e-6
    groups = [order.classes()[(e, n)][0] for e, n in zip(table["cell_e"], table["cell_n"], strict=True)]
    assert groups == table["group"].tolist()
    assert np.all(np.diff(table["class"]) >= 0)


def test_references_of_an_older_layout_need_an_extra_and_say_so(
    tmp_path: Path, known: tuple[References, ClassOrder], monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    references, order = known
    write_references(references, order, tmp_path / "references.npy")
    table = np.load(tmp_path / "references.npy")
    columns = {name: np.ascontiguousarray(table[name]) for name in table.dtype.names}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "references.parquet")
    back = read_references(tmp_path / "references.parquet", len(order))
    for field in dataclasses.fields(References):
        np.testing.assert_array_equal(getattr(back, field.name), getattr(references, field.name))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BundleError, match="nadirfix\\[parquet\\]"):
        read_references(tmp_path / "references.parquet", len(order))


class Means:
    """A network whose output is the brightness of each quarter of a picture; counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    def run(self, inputs: np.ndarray) -> np.ndarray:
        self.runs += 1
        rows, columns = inputs.shape[2] // 2, inputs.shape[3] // 2
        quarters = inputs.reshape(len(inputs), 3, 2, rows, 2, columns).mean(axis=(3, 5))
        return quarters.reshape(len(inputs), -1).astype(np.float32)


def test_descriptors_are_unit_vectors_made_in_pieces(
    tmp_path: Path, texture: Texture, known: tuple[References, ClassOrder]
) -> None:
    renderer = ReferenceRenderer(texture, Canonical(CAMERA, 60.0), known[0], (32, 32))
    target, folder, network = tmp_path / "descriptors.npy", tmp_path / "pieces", Means()
    describe_references(renderer, network, target, folder=folder, progress=quiet)
    array = np.load(target, mmap_mode="r")
    assert array.dtype == np.float16 and array.shape == (150, 12)
    assert network.runs == 3 and not folder.exists()
    lengths = np.linalg.norm(array.astype(np.float64), axis=1)
    assert np.abs(lengths - 1).max() < 1e-3
    with ThreadPoolExecutor(1) as pool:
        alone = Means().run(renderer.pictures(range(70, 71), pool))[0]
    np.testing.assert_allclose(array[70], alone / np.linalg.norm(alone), atol=1e-3)


def test_pieces_that_are_there_are_kept(
    tmp_path: Path, texture: Texture, known: tuple[References, ClassOrder]
) -> None:
    renderer = ReferenceRenderer(texture, Canonical(CAMERA, 60.0), known[0], (32, 32))
    stops: list[int] = []

    def stop_after_two(_stage: str, done: int, _total: int) -> None:
        stops.append(done)
        if len(stops) == 2:
            raise KeyboardInterrupt

    settings = {"folder": tmp_path / "pieces"}
    with pytest.raises(KeyboardInterrupt):
        describe_references(renderer, Means(), tmp_path / "a.npy", progress=stop_after_two, **settings)
    network = Means()
    describe_references(renderer, network, tmp_path / "a.npy", progress=quiet, **settings)
    assert network.runs == 1
    describe_references(renderer, Means(), tmp_path / "b.npy", progress=quiet, **settings)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_a_reference_equals_the_crop_of_a_photo_from_there(
    texture: Texture, known: tuple[References, ClassOrder]
) -> None:
    """A photo from higher up, cropped to the canonical scale, against the reference at the same place."""
    references, canonical = known[0], Canonical(CAMERA, 100.0)
    renderer = ReferenceRenderer(texture, canonical, references, (32, 32))
    for row in (0, 50, 149):
        center = Point(float(references.east_m[row]), float(references.north_m[row]), 32633)
        photo = texture.render(View(center, 150.0, float(references.heading_deg[row])), CAMERA).pixels
        crop = canonical_crop(photo, CAMERA, CAMERA.gsd_m(150.0), canonical, width_px=32, height_px=32)
        apart = np.abs(np.moveaxis(crop.pixels, -1, 0) - renderer.picture(row)).mean()
        assert apart < 6.0  # grey levels, on squares of pure noise 10 m wide
        assert np.abs(np.moveaxis(crop.pixels, -1, 0) - renderer.picture(row - 3)).mean() > 30.0


def test_off_the_map_a_reference_has_the_colour_of_the_rest(texture: Texture) -> None:
    one = np.array([WEST + 5.0]), np.array([NORTH - 300.0]), np.array([0.0])
    starts = np.array([0, 1])
    edge = References(*one, np.zeros((1, 2), np.int64), starts, 32633)
    picture = ReferenceRenderer(texture, Canonical(CAMERA, 60.0), edge, (32, 32)).picture(0)
    assert picture[:, :, :10].std() < 1e-3 or np.ptp(picture[:, :, :10], axis=(1, 2)).max() < 1e-3
    np.testing.assert_allclose(picture[:, 0, 0], picture[:, :, 17:].mean(axis=(1, 2)), atol=12.0)


def test_untrained_prototypes_are_mean_directions(known: tuple[References, ClassOrder]) -> None:
    references, order = known
    vectors = np.random.default_rng(2).normal(size=(len(references), 8))
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    prototypes = mean_directions(unit, references)
    assert prototypes.dtype == np.float16 and len(prototypes) == len(order)
    for label in range(len(order)):
        mean = unit[references.label == label].astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(prototypes[label], mean / np.linalg.norm(mean), atol=2e-3)


def test_opening_bundles_needs_no_torch() -> None:
    code = "import sys, nadirfix.bundle, nadirfix.offline; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_networks_are_stored_at_half_their_size(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from nadirfix.offline.compress import store_float16
    from nadirfix.runtime import load_network

    draw = np.random.default_rng(3)
    arrays = {
        "large": draw.normal(size=(64, 64)),
        "small": draw.normal(size=64),
        "huge": np.full((64, 64), 1e5),
    }
    given = [onnx.numpy_helper.from_array(a.astype(np.float32), name) for name, a in arrays.items()]
    steps = [
        ("MatMul", ["inputs", "large"], "a"),
        ("Add", ["a", "small"], "b"),
        ("MatMul", ["b", "huge"], "outputs"),
    ]
    nodes = [onnx.helper.make_node(kind, inputs, [output]) for kind, inputs, output in steps]
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 64])
        for name in ("inputs", "outputs")
    ]
    graph = onnx.helper.make_graph(nodes, "test", ends[:1], ends[1:], given)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    path = tmp_path / "network.onnx"
    onnx.save(model, path)
    store_float16(path)
    stored = {t.name: onnx.numpy_helper.to_array(t).dtype for t in onnx.load(path).graph.initializer}
    assert stored == {"large.half": np.float16, "small": np.float32, "huge": np.float32}
    inputs = draw.normal(size=(5, 64)).astype(np.float32)
    rounded = arrays["large"].astype(np.float32).astype(np.float16).astype(np.float64)
    expected = (inputs @ rounded + arrays["small"]) @ arrays["huge"]
    np.testing.assert_allclose(load_network(path).run(inputs), expected, rtol=1e-4, atol=50.0)
