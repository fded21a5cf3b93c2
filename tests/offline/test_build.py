"""nadirfix build, info and verify as a pilot uses them."""

from __future__ import annotations

import dataclasses
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from sklearn.decomposition import PCA

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import FORMAT, MANIFEST, read_manifest
from nadirfix.offline import build_bundle
from nadirfix.offline.altitude_fit import ViewSamples, draw_views
from nadirfix.offline.describe import ReferenceRenderer
from nadirfix.offline.manifest import write_manifest
from nadirfix.online import locate
from nadirfix.options.recipe import BinOptions, FitOptions, NetworkOptions, QuantiseOptions, load_recipe
from nadirfix.runtime import load_network
from nadirfix.runtime.onnx import OnnxNetwork
from nadirfix.types import View
from tests.bundles import RECIPE, RECIPE_TOML, SIDE_M, photo_of, write_ground
from tests.command import nadirfix

GEM = NetworkOptions(width_px=64, height_px=64, encoder="small", weights="random", aggregator="gem")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    (folder / "recipe.toml").write_text(RECIPE_TOML)
    write_ground(folder / "map.tif")
    return folder


@pytest.fixture(scope="module")
def built(folder: Path) -> tuple[Path, dict]:
    arguments = (folder / "map.tif", "--out", folder / "b.nadir", "--recipe", folder / "recipe.toml")
    done = nadirfix("build", *arguments, "--train", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "describing references" in done.stderr
    return folder / "b.nadir", json.loads(done.stdout)


def test_the_recipe_in_toml_is_the_one_in_python(folder: Path) -> None:
    assert load_recipe(str(folder / "recipe.toml")) == RECIPE


def test_build_prints_what_it_made(built: tuple[Path, dict]) -> None:
    path, summary = built
    assert summary["trained"] == {"altitude": True, "place": True}
    assert summary["described"] == {"precision": "single", "sheets": None, "eight_bits_likeness": None}
    counts = summary["counts"]
    assert counts["references"] + counts["left_out"] + counts["without_class"] == 12 * 12 * 4
    assert set(summary["accuracy"]["place"]) == {"cell_accuracy", "group_accuracy"}
    assert summary["bytes"] == sum(p.stat().st_size for p in path.iterdir() if p.name != MANIFEST)
    assert not list(path.parent.glob(".b.nadir*"))


def test_info_and_verify(built: tuple[Path, dict]) -> None:
    path, summary = built
    info = json.loads(nadirfix("info", path).stdout)
    assert {key: info[key] for key in summary} == summary
    assert info["manifest"]["map"]["epsg"] == 32633
    assert info["manifest"]["source"][0]["files"][0]["name"] == "map.tif"
    verified = nadirfix("check", path)
    assert verified.returncode == 0 and json.loads(verified.stdout)["whole"]


def test_the_manifest_names_no_folder_of_this_machine(built: tuple[Path, dict]) -> None:
    for part in (MANIFEST, "altitude.onnx", "place.onnx", "references.npy"):
        content = (built[0] / part).read_bytes()
        assert str(built[0].parent).encode() not in content
        assert b"site-packages" not in content and b"nadirfix/src" not in content


def test_the_same_build_in_python_is_the_same_bytes(built: tuple[Path, dict], trained_bundle: Path) -> None:
    assert (trained_bundle / MANIFEST).read_bytes() == (built[0] / MANIFEST).read_bytes()


def test_resuming_what_is_whole_leaves_it_alone(built: tuple[Path, dict], folder: Path) -> None:
    before = (built[0] / MANIFEST).stat().st_mtime_ns
    bundle = build_bundle(folder / "map.tif", built[0], recipe=RECIPE, train=True, resume=True)
    assert bundle.path == built[0]
    assert (built[0] / MANIFEST).stat().st_mtime_ns == before


def test_overwriting_replaces_it_whole(trained_bundle: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.nadir"
    first = Bundle.load(shutil.copytree(trained_bundle, target))
    write_ground(tmp_path / "other.tif", east_m=50.0)
    second = build_bundle(tmp_path / "other.tif", target, recipe=RECIPE, train=False, overwrite=True)
    assert second.manifest["source"] != first.manifest["source"]
    assert not (target / "place.safetensors").exists(), "nothing of the first is left"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_an_opened_bundle_fits_together(built: tuple[Path, dict]) -> None:
    bundle = Bundle.load(built[0])
    references = bundle.references
    assert bundle.camera == RECIPE.camera and bundle.recipe == RECIPE
    assert len(bundle.index) == len(references) == len(bundle.descriptors)
    assert isinstance(bundle.descriptors, np.memmap)
    np.testing.assert_array_equal(
        bundle.grid.cells_of(references.east_m, references.north_m), references.cell
    )
    size = RECIPE.place_network
    embedding = bundle.place_network.run(np.zeros((1, 3, size.height_px, size.width_px), np.float32))
    assert embedding.shape[1] == bundle.descriptors.shape[1] == bundle.prototypes.shape[1]
    assert len(bundle.cell_classifier.top(embedding[0], 3)) == 3
    west, south, east, north = bundle.texture.bounds
    assert (east - west, north - south) == pytest.approx((SIDE_M, SIDE_M))


def test_a_trained_head_brings_its_own_prototypes(built: tuple[Path, dict]) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    weights = safetensors.load_file(built[0] / "place.safetensors")
    tables = [weights[f"heads.prototypes.{group}"] for group in range(4)]
    expected = np.concatenate(tables).astype(np.float16)
    np.testing.assert_array_equal(Bundle.load(built[0]).prototypes, expected)


def test_without_training_networks_are_as_they_start(untrained_bundle: Path) -> None:
    bundle = Bundle.load(untrained_bundle)
    assert bundle.manifest["accuracy"]["place"] is None
    assert not (bundle.path / "altitude.safetensors").exists()
    assert not (bundle.path / "place.safetensors").exists()
    first = bundle.descriptors[bundle.references.rows_of(0)].astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(bundle.prototypes[0], first / np.linalg.norm(first), atol=2e-3)


def test_without_training_classes_of_altitude_come_from_the_map(folder: Path, tmp_path: Path) -> None:
    """Also where the embedder starts from nothing: right more than twice as often as chance is."""
    network = dataclasses.replace(RECIPE.altitude_network, aggregator="gem")
    fit, bins = FitOptions(views=200, penalty=0.1), BinOptions(max_m=300.0)
    recipe = dataclasses.replace(RECIPE, altitude_network=network, fit=fit, bins=bins)
    bundle = build_bundle(folder / "map.tif", tmp_path / "b.nadir", recipe=recipe)
    assert network.start == "" and bundle.altitude_classes is not None
    assert set(bundle.manifest["accuracy"]["altitude"]) == {f"within_{d}_m" for d in (25, 50, 100)} | {
        "e_avg_m"
    }
    other = FitOptions(views=80, seed=1)
    views = draw_views(bundle.texture, recipe.camera, bundle.bins, other)
    samples = ViewSamples(bundle.texture, recipe.camera, network, other)
    scores = bundle.altitude_scores(np.stack([samples.of(views, row) for row in range(len(views))]))
    right = (scores.argmax(axis=1) == bundle.bins.indices_of(views.altitude_m)).mean()
    print(f"{right:.0%} of {len(views)} views in their class of {len(bundle.bins)}")
    assert len(bundle.bins) == 4 and right > 0.6


@pytest.fixture(scope="module")
def whitened(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    references = dataclasses.replace(RECIPE.references, whiten_dims=20)
    quantise = QuantiseOptions(views=24, likeness=0.98)
    recipe = dataclasses.replace(RECIPE, references=references, place_network=GEM, quantise=quantise)
    return build_bundle(folder / "map.tif", tmp_path_factory.mktemp("w") / "b.nadir", recipe=recipe)


def test_references_are_whitened_on_themselves(whitened: Bundle) -> None:
    """Against scikit-learn, from the pictures on: the bundle's own network, then principal components."""
    renderer = ReferenceRenderer(whitened.texture, whitened.canonical, whitened.references, (64, 64))
    files, precision = whitened.network_files("place.onnx"), whitened.manifest["described"]["precision"]
    network = load_network(files.int8 if precision == "eight_bit" else files.float32)
    with ThreadPoolExecutor(2) as pool:
        raw = network.run(renderer.pictures(range(len(renderer)), pool)).astype(np.float64)
    units = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float16).astype(np.float64)
    expected = PCA(20, whiten=True, svd_solver="full").fit_transform(units)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    descriptors = whitened.descriptors.astype(np.float64)
    assert descriptors @ descriptors.T == pytest.approx(expected @ expected.T, abs=5e-3)
    assert whitened.describe(raw.astype(np.float32)) == pytest.approx(descriptors, abs=5e-3)


def test_prototypes_are_whitened_too_and_name_a_reference_s_own_cell(whitened: Bundle) -> None:
    for label in range(len(whitened.order)):
        rows = whitened.descriptors[whitened.references.rows_of(label)].astype(np.float64)
        common = rows.sum(axis=0) / np.linalg.norm(rows.sum(axis=0))
        np.testing.assert_allclose(whitened.prototypes[label], common, atol=2e-3)
    row = whitened.references.rows_of(7).start
    renderer = ReferenceRenderer(whitened.texture, whitened.canonical, whitened.references, (64, 64))
    embedding = whitened.place_network.run(renderer.picture(row)[None])[0]
    assert tuple(whitened.references.cell[row]) in set(
        map(tuple, whitened.likeliest_cells(embedding, 3).cells.tolist())
    )


def test_a_network_that_normalises_whole_pictures_gets_no_mosaics(folder: Path, tmp_path: Path) -> None:
    """The small encoder normalises over the whole picture: its features of a mosaic are no view's."""
    references = dataclasses.replace(RECIPE.references, whiten_dims=20, steps=4)
    recipe = dataclasses.replace(RECIPE, references=references, place_network=GEM)
    bundle = build_bundle(folder / "map.tif", tmp_path / "b.nadir", recipe=recipe)
    assert bundle.manifest["described"] == {"precision": "single", "sheets": None}
    renderer = ReferenceRenderer(bundle.texture, bundle.canonical, bundle.references, (64, 64))
    rows = np.arange(0, len(renderer), 9)
    alone = bundle.describe(bundle.place_network.run(np.stack([renderer.picture(int(i)) for i in rows])))
    assert [bundle.index.search(one, None, 1)[0][0] for one in alone] == rows.tolist()


def test_a_projection_is_a_part_like_the_others(whitened: Bundle, tmp_path: Path) -> None:
    assert whitened.manifest["format"] == FORMAT and "projection.npy" in whitened.manifest["parts"]
    copy = Path(shutil.copytree(whitened.path, tmp_path / "c.nadir"))
    content = bytearray((copy / "projection.npy").read_bytes())
    content[-1] ^= 1
    (copy / "projection.npy").write_bytes(content)
    assert nadirfix("check", copy).returncode == 4


def test_a_bundle_from_before_projections_answers_as_it_did(folder: Path, tmp_path: Path) -> None:
    now = build_bundle(folder / "map.tif", tmp_path / "b.nadir", recipe=RECIPE)
    photo = photo_of(View(now.texture.center, 130.0, 20.0))
    answer = locate(photo, bundle=now, camera=RECIPE.camera)
    manifest = {**read_manifest(now.path), "format": 1}
    for table, new in (("references", {"whiten_dims"}), ("place_network", {"aggregator", "gem_power"})):
        manifest["recipe"][table] = {k: v for k, v in manifest["recipe"][table].items() if k not in new}
    write_manifest(now.path, manifest)
    then = Bundle.load(now.path)
    assert then.recipe == RECIPE and then.projection is None
    again = locate(photo, bundle=then, camera=RECIPE.camera)
    assert again.position == answer.position and again.status == "unverified"
    embedding = then.place_network.run(np.ones((1, 3, 64, 64), np.float32))
    unit = embedding / np.linalg.norm(embedding)
    np.testing.assert_allclose(then.describe(embedding), unit, rtol=1e-6)


def test_int8_networks_are_parts_with_the_same_outputs(whitened: Bundle) -> None:
    for name, part in (("altitude", "altitude.onnx"), ("place", "place.onnx")):
        record, files = whitened.manifest["networks"][name]["eight_bits"], whitened.network_files(part)
        assert record["kept"] and files.int8 is not None
        shape = OnnxNetwork(files.float32, threads=1).input_shape
        inputs = np.random.default_rng(0).uniform(20, 60, (4, *map(int, shape))).astype(np.float32)
        one, other = (load_network(file).run(inputs) for file in (files.float32, files.int8))
        cosine = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        assert cosine.min() > 0.9, "even on noise, which it was never calibrated on"


def test_twenty_square_kilometres_stay_under_two_hundred_megabytes(whitened: Bundle) -> None:
    """By arithmetic from a real bundle's parts: standard, a map of 0.5 m a pixel, texture included."""
    from nadirfix.train.models.encoders import build_encoder

    sizes = {name: part["bytes"] for name, part in whitened.manifest["parts"].items()}
    assert set(sizes) == {
        "texture.ntx", "altitude.onnx", "place.onnx", "altitude.int8.onnx", "place.int8.onnx",
        "altitude_classes.npy", "prototypes.npy", "projection.npy", "descriptors.npy", "references.npy",
    }  # fmt: skip
    standard, count = load_recipe("standard"), len(whitened.references)
    assert sizes["descriptors.npy"] == count * whitened.descriptors.shape[1] * 2 + 128
    views = 20e6 / standard.references.stride_m**2 * standard.references.headings
    dims = standard.references.whiten_dims
    weights = sum(p.numel() for p in build_encoder("resnet50-stage3").parameters())
    bytes_of = {
        "texture": 20e6 / 0.5**2 * 0.9,  # bytes a pixel with all levels: 0.84 on the finest map we have
        "descriptors": views * dims * 2,
        "references": views * sizes["references.npy"] / count,
        "projection": (dims + 1) * 4 * 4096,
        "networks": (2 + 1) * weights + 3e6,  # two bytes a weight, and one in int8
    }
    print({name: f"{size / 1e6:.0f} MB" for name, size in bytes_of.items()})
    assert sum(bytes_of.values()) < 200e6
