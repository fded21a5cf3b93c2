"""Networks exported from torch and run without it: same numbers, same bytes, clear faults."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nadirfix.errors import BundleError
from nadirfix.runtime import load_network

EXPORT = """
import sys
from pathlib import Path
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.train.export import export_network
from nadirfix.options.recipe import RECIPES
from nadirfix.train.models.place import build_place_network
recipe = RECIPES["tiny"]
order = ClassOrder.from_cells(Grid(100.0, 2), [(0, 0), (0, 1), (1, 0)])
network, _ = build_place_network(recipe.place_network, recipe.head, order, seed=3)
export_network(network, Path(sys.argv[1]), input_shape=(3, 112, 112))
"""


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def exported(folder: Path) -> Path:
    """The place network above, exported by another process in another folder."""
    folder.mkdir(parents=True)
    path = folder / "place.onnx"
    done = subprocess.run([sys.executable, "-c", EXPORT, path], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "the exporter's remarks are not for the pilot"
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("one") / "in a folder")


def networks():
    from nadirfix.altitude.bins import AltitudeBins
    from nadirfix.geo.grid import ClassOrder, Grid
    from nadirfix.options.recipe import RECIPES
    from nadirfix.train.models.altitude import build_altitude_network
    from nadirfix.train.models.place import build_place_network

    recipe = RECIPES["tiny"]
    bins = AltitudeBins.from_options(recipe.bins)
    order = ClassOrder.from_cells(Grid(100.0, 2), [(0, 0), (0, 1), (1, 0)])
    yield build_altitude_network(recipe.altitude_network, bins, seed=3)[0], (3, 168, 224)
    yield build_place_network(recipe.place_network, recipe.head, order, seed=3)[0], (3, 112, 112)


@pytest.mark.parametrize("which", [0, 1], ids=["altitude", "place"])
def test_exported_networks_agree_with_torch(which: int, tmp_path: Path) -> None:
    import torch

    from nadirfix.train.export import export_network

    module, shape = list(networks())[which]
    module.train()
    path = tmp_path / "network.onnx"
    export_network(module, path, input_shape=shape)
    assert module.training, "the module itself is left as it is"
    network = load_network(path)
    module.eval()
    for batch in (1, 2, 5):
        inputs = np.random.default_rng(batch).uniform(0, 255, (batch, *shape)).astype(np.float32)
        with torch.no_grad():
            expected = module(torch.from_numpy(inputs)).numpy()
        outputs = network.run(inputs)
        assert outputs.dtype == np.float32
        np.testing.assert_allclose(outputs, expected, atol=1e-4 * np.abs(expected).max())


def test_the_same_network_is_the_same_bytes_in_every_process(place: Path, tmp_path: Path) -> None:
    from nadirfix.train.export import export_network

    (_, _), (module, shape) = networks()
    here = tmp_path / "here.onnx"
    export_network(module, here, input_shape=shape)
    assert sha256(here) == sha256(place) == sha256(exported(tmp_path / "there"))


def test_nothing_about_this_machine_is_in_the_file(place: Path) -> None:
    content = place.read_bytes()
    for trace in (b".py", b"site-packages", str(Path.home()).encode(), str(place.parent).encode()):
        assert trace not in content


def test_the_raw_embedding_does_not_carry_the_heads(place: Path) -> None:
    assert b"heads.prototypes" not in place.read_bytes()


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_threads_change_nothing_but_time(place: Path, threads: int) -> None:
    inputs = np.random.default_rng(0).uniform(0, 255, (1, 3, 112, 112)).astype(np.float32)
    one = load_network(place, threads=1).run(inputs)
    np.testing.assert_allclose(load_network(place, threads=threads).run(inputs), one, atol=1e-5)


def test_the_same_input_gives_the_same_bits(place: Path) -> None:
    inputs = np.random.default_rng(0).uniform(0, 255, (1, 3, 112, 112)).astype(np.float32)
    np.testing.assert_array_equal(load_network(place).run(inputs), load_network(place).run(inputs))


def test_inputs_need_not_lie_in_a_row_in_memory(place: Path) -> None:
    rows_first = np.random.default_rng(0).uniform(0, 255, (112, 112, 3)).astype(np.float32)
    turned = np.moveaxis(rows_first, -1, 0)[None]
    network = load_network(place)
    np.testing.assert_array_equal(network.run(turned), network.run(np.ascontiguousarray(turned)))


def test_inputs_of_another_size_are_our_own_mistake(place: Path) -> None:
    with pytest.raises(ValueError, match="shape"):
        load_network(place).run(np.zeros((1, 3, 50, 50), np.float32))


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise"])
def test_a_broken_file_is_a_damaged_bundle(place: Path, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "network.onnx"
    content = place.read_bytes()
    if damage != "missing":
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "noise": b"\x07" * 5000}[damage])
    with pytest.raises(BundleError) as failed:
        load_network(path)
    assert failed.value.code == "bundle.damaged"
    assert str(path) in failed.value.message
    assert "\n" not in str(failed.value)


def test_importing_the_runtime_loads_no_engine() -> None:
    code = "import sys, nadirfix.runtime; sys.exit(bool({'onnxruntime', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
