"""nadirfix build, info and verify as a pilot uses them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.bundle.parts import MANIFEST
from nadirfix.offline import build_bundle
from nadirfix.options import load_recipe
from tests.bundles import RECIPE, RECIPE_TOML, SIDE_M, write_ground
from tests.command import nadirfix


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    (folder / "recipe.toml").write_text(RECIPE_TOML)
    write_ground(folder / "map.tif")
    return folder


@pytest.fixture(scope="module")
def built(folder: Path) -> tuple[Path, dict]:
    arguments = (folder / "map.tif", "--out", folder / "b.nadir", "--recipe", folder / "recipe.toml")
    done = nadirfix("build", *arguments, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "describing references" in done.stderr
    return folder / "b.nadir", json.loads(done.stdout)


def test_the_recipe_in_toml_is_the_one_in_python(folder: Path) -> None:
    assert load_recipe(str(folder / "recipe.toml")) == RECIPE


def test_build_says_what_it_made(built: tuple[Path, dict]) -> None:
    path, said = built
    assert said["trained"] == {"altitude": True, "place": True}
    counts = said["counts"]
    assert counts["references"] + counts["left_out"] + counts["without_class"] == 12 * 12 * 4
    assert set(said["accuracy"]["place"]) == {"cell_accuracy", "group_accuracy"}
    assert said["bytes"] == sum(p.stat().st_size for p in path.iterdir() if p.name != MANIFEST)
    assert not list(path.parent.glob(".b.nadir*"))


def test_info_and_verify(built: tuple[Path, dict]) -> None:
    path, said = built
    info = json.loads(nadirfix("info", path).stdout)
    assert {key: info[key] for key in said} == said
    assert info["manifest"]["map"]["epsg"] == 32633
    assert info["manifest"]["source"][0]["files"][0]["name"] == "map.tif"
    verified = nadirfix("verify", path)
    assert verified.returncode == 0 and json.loads(verified.stdout)["whole"]


def test_the_manifest_names_no_folder_of_this_machine(built: tuple[Path, dict]) -> None:
    for part in (MANIFEST, "altitude.onnx", "place.onnx", "references.parquet"):
        content = (built[0] / part).read_bytes()
        assert str(built[0].parent).encode() not in content
        assert b"site-packages" not in content and b"nadirfix/src" not in content


def test_the_same_build_in_python_is_the_same_bytes(built: tuple[Path, dict], folder: Path) -> None:
    again = build_bundle([folder / "map.tif"], folder / "again.nadir", recipe=RECIPE, device="cpu")
    assert (again.path / MANIFEST).read_bytes() == (built[0] / MANIFEST).read_bytes()


def test_resuming_what_is_whole_leaves_it_alone(built: tuple[Path, dict], folder: Path) -> None:
    before = (built[0] / MANIFEST).stat().st_mtime_ns
    bundle = build_bundle(folder / "map.tif", built[0], recipe=RECIPE, resume=True)
    assert bundle.path == built[0]
    assert (built[0] / MANIFEST).stat().st_mtime_ns == before


def test_overwriting_replaces_it_whole(built: tuple[Path, dict], folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "b.nadir"
    first = build_bundle(folder / "map.tif", target, recipe=RECIPE, train=False)
    write_ground(tmp_path / "other.tif", east_m=50.0)
    second = build_bundle(tmp_path / "other.tif", target, recipe=RECIPE, train=False, overwrite=True)
    assert second.manifest["source"] != first.manifest["source"]
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
    assert len(bundle.voter.top(embedding[0], 3)) == 3
    west, south, east, north = bundle.texture.bounds
    assert (east - west, north - south) == pytest.approx((SIDE_M, SIDE_M))


def test_a_trained_head_brings_its_own_prototypes(built: tuple[Path, dict]) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    weights = safetensors.load_file(built[0] / "place.safetensors")
    tables = [weights[f"heads.prototypes.{group}"] for group in range(4)]
    expected = np.concatenate(tables).astype(np.float16)
    np.testing.assert_array_equal(Bundle.load(built[0]).prototypes, expected)


def test_without_training_networks_are_as_they_start(folder: Path, tmp_path: Path) -> None:
    bundle = build_bundle(folder / "map.tif", tmp_path / "b.nadir", recipe=RECIPE, train=False)
    assert bundle.manifest["accuracy"] == {"altitude": None, "place": None}
    assert not (bundle.path / "place.safetensors").exists()
    first = bundle.descriptors[bundle.references.rows_of(0)].astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(bundle.prototypes[0], first / np.linalg.norm(first), atol=2e-3)
