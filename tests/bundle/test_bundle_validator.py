"""The door of a bundle: what rots is noticed, what cannot be meant is the bundle's fault, both are cheap."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.lib.hostile_cases import outcome
from nadirfix.bundle import Bundle
from nadirfix.bundle import layout as parts
from nadirfix.bundle.file_states import known_states
from nadirfix.bundle.networks import CheckedNetwork, check_network
from nadirfix.errors import BundleError, MapError
from nadirfix.geo.texture import Texture
from nadirfix.geo.texture_file import read_layout
from nadirfix.runtime.backend import cache_file
from nadirfix.runtime.onnx import OnnxNetwork
from nadirfix.types import View
from tests.bundles import photo_of
from tests.command import nadirfix
from tests.hostile_bundles import KINDS, flip_bit, seal, tampered

#: Of each kind, here; ``bench/speed/bundle_fuzz.py`` runs two thousand.
EACH = 6


@pytest.fixture
def whole(mosaic_bundle: Path) -> Path:
    """Read only: others use it too."""
    return mosaic_bundle


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """The same bundle as links, so that what is changed is this test's own."""
    folder = tmp_path / "b.nadir"
    folder.mkdir()
    for path in whole.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def photo(mosaic_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("photo") / "photo.png"
    file.write_bytes(photo_of(View(Bundle.load(mosaic_bundle).texture.center, 130.0, 20.0)))
    return file


def manifest_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / parts.MANIFEST).read_text(encoding="utf-8")))


def rewritten(path: Path, change: Callable[[bytes], bytes]) -> None:
    content = change(path.read_bytes())
    path.unlink()
    path.write_bytes(content)


def damage_of(folder: Path) -> str:
    with pytest.raises(BundleError) as caught:
        Bundle.load(folder)
    assert caught.value.code == "bundle.damaged"
    return caught.value.message


@pytest.mark.parametrize("name", ["descriptors.npy", "place.onnx", "texture.ntx", "references.npy"])
def test_rot_of_the_same_size_is_noticed_on_opening(copy: Path, name: str) -> None:
    Bundle.load(copy)
    half = (copy / name).stat().st_size // 2
    rewritten(copy / name, lambda content: content[:half] + bytes(len(content) - half))
    assert name in damage_of(copy)


def test_rot_is_noticed_though_the_file_s_date_was_put_back(copy: Path) -> None:
    rewritten(copy / "descriptors.npy", lambda content: content)
    before = (copy / "descriptors.npy").stat()
    Bundle.load(copy)
    with (copy / "descriptors.npy").open("r+b") as file:
        file.seek(500)
        file.write(b"\x00\x11\x22\x33")
    os.utime(copy / "descriptors.npy", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "descriptors.npy" in damage_of(copy)


def test_every_flipped_bit_is_noticed(copy: Path, whole: Path) -> None:
    draw = np.random.default_rng(0)
    for name in sorted(path.name for path in whole.iterdir()):
        for _ in range(3):
            flip_bit(copy / name, draw)
            damage_of(copy)
            (copy / name).unlink()
            (copy / name).symlink_to(whole / name)
    assert Bundle.load(copy).manifest["parts"]


def settled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files had been written a minute ago."""
    now_s = time.time() + 60.0
    monkeypatch.setattr("nadirfix.bundle.validator.time.time", lambda: now_s)
    Bundle.load(folder)


def test_a_part_is_read_once_for_each_state(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path / "cache"))
    read: list[str] = []
    sha256_of = parts.sha256_of
    monkeypatch.setattr(parts, "sha256_of", lambda path: (read.append(path.name), sha256_of(path))[1])
    settled(copy, monkeypatch)
    assert sorted(read) == sorted(manifest_of(copy)["parts"])
    read.clear()
    Bundle.load(copy)
    assert not read
    rewritten(copy / "place.onnx", lambda content: content)
    Bundle.load(copy)
    assert read == ["place.onnx"]
    read.clear()
    Bundle.check(copy)
    assert set(read) == set(manifest_of(copy)["parts"]), "check trusts nothing that was remembered"


def test_what_was_only_just_written_is_not_remembered(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path / "cache"))
    rewritten(copy / "place.onnx", lambda content: content)
    Bundle.load(copy)
    sha256 = manifest_of(copy)["parts"]["place.onnx"]["sha256"]
    assert sha256 not in {known for known, _ in known_states().values()}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b'{"version": 1, "states": {"a": 3}}'])
def test_a_broken_cache_is_renewed(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path))
    cache = cache_file().with_name("checked_parts.json")
    for file in (cache, cache_file()):
        file.write_bytes(content)
    settled(copy, monkeypatch)
    assert len(known_states()) == len(manifest_of(copy)["parts"])
    assert Bundle.load(copy).place_network is not None


def test_a_cache_that_cannot_be_written_is_none(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("NADIRFIX_CACHE", str(tmp_path / "file" / "cache"))
    settled(copy, monkeypatch)
    assert known_states() == {}


@pytest.mark.parametrize("name", ["descriptors.npy", "texture.ntx", "place.onnx", "projection.npy"])
def test_a_part_that_is_used_must_be_listed(copy: Path, name: str) -> None:
    manifest = manifest_of(copy)
    del manifest["parts"][name]
    seal(copy, manifest)
    assert name in damage_of(copy)


def test_check_refuses_a_manifest_without_parts_and_parts_without_a_manifest(copy: Path) -> None:
    (copy / "more.npy").write_bytes(b"")
    done = nadirfix("check", copy)
    assert done.returncode == 4 and "does not list 'more.npy'" in done.stderr
    seal(copy, {**manifest_of(copy), "parts": {}})
    done = nadirfix("check", copy)
    assert done.returncode == 4 and "[bundle.damaged]" in done.stderr


def test_descriptors_that_are_no_unit_vectors_are_the_bundle_s_fault(copy: Path) -> None:
    """Their votes would be without bounds: an internal error of the photo, before."""
    descriptors = np.load(copy / "descriptors.npy")
    descriptors[3] *= 1000
    (copy / "descriptors.npy").unlink()
    np.save(copy / "descriptors.npy", descriptors)
    seal(copy, manifest_of(copy))
    assert "unit vectors" in damage_of(copy)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "epsg": lambda m: m["map"].update(epsg=4326),
    "bounds": lambda m: m["map"].update(bounds_m=[1.0, 0.0, 0.0, 1.0]),
    "grid": lambda m: m["grid"].update(cell_m=0),
    "cells": lambda m: m["classes"].update(cells=[[[0.5, 1]]] * 4),
    "counts": lambda m: m["counts"].update(references=10**12),
    "networks": lambda m: m["networks"].pop("place"),
    "bins": lambda m: m["recipe"]["bins"].update(kind="variable", first_width_m=1e-9, ratio=1.000001),
    "camera": lambda m: m["recipe"]["camera"].update(width_px=10**9),
    "input": lambda m: m["recipe"]["place_network"].update(width_px=10**6),
    "lens": lambda m: m["recipe"]["camera"].update(lens={"k1": 1}),
    "recipe": lambda m: m.update(recipe=[]),
    "part name": lambda m: m["parts"].update({"../x.npy": {"bytes": 0, "sha256": "0" * 64}}),
    "infinite": lambda m: m.update(note=[1e999]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_that_cannot_be_meant(copy: Path, name: str) -> None:
    manifest = manifest_of(copy)
    CHANGES[name](manifest)
    seal(copy, manifest)
    assert "manifest.json" in (message := damage_of(copy)) or "recipe" in message


@pytest.mark.parametrize("kind", KINDS)
def test_tampered_bundles_answer_or_are_damaged(whole: Path, photo: Path, tmp_path: Path, kind: str) -> None:
    for number in range(EACH):
        target = tmp_path / f"{number}.nadir"
        tampered(whole, target, np.random.default_rng([7, number]), kind=kind)
        found = outcome(target, photo)
        assert found["code"] in ("answered", "bundle.damaged", "bundle.version"), (number, found)


def onnx_network(path: Path, nodes: list[Any], *, sizes: list[int]) -> Path:
    onnx = pytest.importorskip("onnx")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    shape = helper.make_tensor("sizes", onnx.TensorProto.INT64, [len(sizes)], sizes)
    ends = [helper.make_tensor_value_info(name, floats, ["batch", 1]) for name in ("inputs", "outputs")]
    graph = helper.make_graph([helper.make_node(*node) for node in nodes], "g", ends[:1], ends[1:], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return path


def test_networks_of_ours_are_of_known_operators(whole: Path) -> None:
    for name in ("place.onnx", "altitude.onnx"):
        check_network(whole / name)


def test_networks_that_need_too_much_or_run_something_else_are_refused(tmp_path: Path) -> None:
    vast = [("Expand", ["inputs", "sizes"], ["outputs"])]
    with pytest.raises(ValueError, match="numbers"):
        check_network(onnx_network(tmp_path / "a.onnx", vast, sizes=[10**6, 10**6]))
    check_network(onnx_network(tmp_path / "b.onnx", vast, sizes=[1, 1]))
    hidden = [
        ("Mul", ["sizes", "sizes"], ["s"]),
        ("ConstantOfShape", ["s"], ["c"]),
        ("Add", ["inputs", "c"], ["outputs"]),
    ]
    with pytest.raises(ValueError, match="nobody knows"):
        check_network(onnx_network(tmp_path / "c.onnx", hidden, sizes=[10**5, 10**5]))
    with pytest.raises(ValueError, match="operator"):
        check_network(
            onnx_network(tmp_path / "d.onnx", [("RandomNormalLike", ["inputs"], ["outputs"])], sizes=[1])
        )
    with pytest.raises(ValueError, match=r"ONNX|graph|short"):
        check_network(Path(__file__))


def test_a_network_that_asks_for_more_while_it_runs_gets_none(tmp_path: Path) -> None:
    """Its sizes depend on its input, so that nobody knows them before."""
    nodes = [
        ("Shape", ["inputs"], ["given"]), ("Mul", ["given", "sizes"], ["vast"]),
        ("Expand", ["inputs", "vast"], ["all"]), ("ReduceMax", ["all", "given"], ["outputs"]),
    ]  # fmt: skip
    path = onnx_network(tmp_path / "a.onnx", nodes, sizes=[10**5, 10**5])
    check_network(path)
    network = CheckedNetwork(OnnxNetwork(path, threads=1, bounded=True), path, (1,))
    with pytest.raises(BundleError, match=r"a\.onnx cannot be run"):
        network.run(np.ones((1, 1), np.float32))


class Wrong:
    """A network that answers what a test wants."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def run(self, _inputs: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer", [RuntimeError("no"), np.full((1, 4), np.nan), np.zeros((1, 5)), np.zeros((2, 4)), np.zeros(4)]
)
def test_a_network_that_answers_otherwise_is_the_bundle_s_fault(answer: Any) -> None:
    inputs = np.zeros((1, 3, 8, 8), np.float32)
    assert CheckedNetwork(Wrong(np.ones((1, 4, 1))), Path("b/n.onnx"), (4, -8)).run(inputs).shape == (1, 4, 1)
    with pytest.raises(BundleError, match=r"n\.onnx cannot be run"):
        CheckedNetwork(Wrong(answer), Path("b/n.onnx"), (4,)).run(inputs)


@pytest.mark.parametrize(
    "change",
    [
        {"tile_px": 10**9}, {"epsg": 3857}, {"sizes_px": [[10**6, 10**6]]}, {"sizes_px": []}, {"format": 2},
        {"place": {}}, {"sizes_px": "x"},
    ],
)  # fmt: skip
def test_a_texture_s_header_is_believed_only_as_far_as_it_can_be_meant(
    whole: Path, change: dict[str, Any]
) -> None:
    import zipfile

    header = json.loads(zipfile.ZipFile(whole / "texture.ntx").read("texture.json"))
    assert read_layout(json.dumps(header).encode()).tile_px == header["tile_px"]
    with pytest.raises((ValueError, KeyError, TypeError)):
        read_layout(json.dumps({**header, **change}).encode())


def test_a_georeference_that_bends_is_refused(whole: Path) -> None:
    place = Texture.load(whole / "texture.ntx").place.to_dict()
    place.update(degree=2, coefficients=[*place["coefficients"], [1e9, 0.0], [0.0, 0.0], [0.0, 1e9]])
    header = {"format": 1, "tile_px": 512, "epsg": 32633, "sizes_px": [[700, 700], [350, 350], [175, 175]]}
    with pytest.raises(ValueError, match="even"):
        read_layout(json.dumps({**header, "place": place}).encode())


def test_a_texture_alone_is_a_map_s_error_and_in_a_bundle_the_bundle_s(copy: Path) -> None:
    rewritten(copy / "texture.ntx", lambda content: content[: len(content) // 2])
    with pytest.raises(MapError):
        Texture.load(copy / "texture.ntx")
    seal(copy, manifest_of(copy))
    assert "texture.ntx" in damage_of(copy)


def test_a_small_table_of_an_older_layout_may_not_unpack_to_much(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    from nadirfix.bundle.references import read_references

    count = 2_000_000
    columns = {name: np.zeros(count) for name in ("east_m", "north_m", "heading_deg")}
    columns |= {name: np.zeros(count, np.int32) for name in ("class", "cell_e", "cell_n", "epsg")}
    parquet.write_table(pyarrow.table(columns), tmp_path / parts.PARQUET)
    assert (tmp_path / parts.PARQUET).stat().st_size < 100_000
    with pytest.raises(BundleError, match="2000000 rows, not 300"):
        read_references(tmp_path / parts.PARQUET, 9, rows=300)
