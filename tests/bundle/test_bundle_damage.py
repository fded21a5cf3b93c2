"""A bundle that was damaged, cut short or made by another version: found, named, exit 4."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import FORMAT, MANIFEST, OLDEST
from nadirfix.errors import BundleError
from tests.command import nadirfix

PARTS = [
    "altitude.onnx",
    "altitude.safetensors",
    "descriptors.npy",
    "place.onnx",
    "place.safetensors",
    "prototypes.npy",
    "references.npy",
    "texture.ntx",
]


@pytest.fixture(scope="module")
def whole(trained_bundle: Path) -> Path:
    """Read only: others use it too."""
    return trained_bundle


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "b.nadir"))


def refused(path: Path, code: str) -> BundleError:
    with pytest.raises(BundleError) as caught:
        Bundle.check(path)
    assert caught.value.code == code
    return caught.value


def flip(path: Path, *, at: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(at * (len(data) - 1))] ^= 1
    path.write_bytes(data)


def test_a_whole_bundle_holds_what_its_manifest_lists(whole: Path) -> None:
    bundle = Bundle.check(whole)
    assert sorted(bundle.manifest["parts"]) == PARTS
    assert sorted(p.name for p in whole.iterdir()) == sorted([*PARTS, MANIFEST])


@pytest.mark.parametrize("name", [*PARTS, MANIFEST])
@pytest.mark.parametrize("at", [0.0, 0.37, 1.0])
def test_a_flipped_bit_is_found_and_its_part_named(copy: Path, name: str, at: float) -> None:
    flip(copy / name, at=at)
    assert name in refused(copy, "bundle.damaged").message


def test_verify_says_so_with_exit_4(copy: Path) -> None:
    flip(copy / "descriptors.npy", at=0.5)
    done = nadirfix("check", copy)
    assert (done.returncode, done.stdout) == (4, "")
    assert "descriptors.npy" in done.stderr and "[bundle.damaged]" in done.stderr


@pytest.mark.parametrize("name", [*PARTS, MANIFEST])
def test_a_missing_part_is_found_on_opening(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(BundleError) as caught:
        Bundle.load(copy)
    assert caught.value.code == "bundle.damaged"
    assert f"{name} is missing" in caught.value.message


@pytest.mark.parametrize("name", PARTS)
def test_a_part_cut_short_is_found_on_opening(copy: Path, name: str) -> None:
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[:-1])
    with pytest.raises(BundleError) as caught:
        Bundle.load(copy)
    assert name in caught.value.message


@pytest.mark.parametrize(("found", "word"), [(FORMAT + 1, "newer"), (OLDEST - 1, "older")])
def test_another_version_is_named_with_ours(copy: Path, found: int, word: str) -> None:
    manifest = json.loads((copy / MANIFEST).read_text())
    (copy / MANIFEST).write_text(json.dumps({**manifest, "format": found, "nadirfix": "7.8.9"}))
    error = refused(copy, "bundle.version")
    assert word in error.message and "7.8.9" in error.message
    assert f"format {found}" in error.message and f"to {FORMAT}" in error.message
    assert nadirfix("info", copy).returncode == 4


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', '{"format": "one"}'])
def test_a_manifest_that_is_none(copy: Path, text: str) -> None:
    (copy / MANIFEST).write_text(text)
    with pytest.raises(BundleError):
        Bundle.load(copy)


def test_a_bundle_that_is_not_there(tmp_path: Path) -> None:
    refused(tmp_path / "none.nadir", "bundle.missing")
    done = nadirfix("info", tmp_path / "none.nadir")
    assert done.returncode == 4 and "[bundle.missing]" in done.stderr
