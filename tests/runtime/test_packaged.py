"""Networks that ship: the same as the weights they were made from, by their own header, and small."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from nadirfix.errors import WeightsError
from nadirfix.offline.compress import int8_to_float16
from nadirfix.options.recipe import RECIPES, SHIPPED_ALTITUDE, SHIPPED_PLACE, NetworkOptions, ships
from nadirfix.runtime.backend import NetworkFiles, possible_backends
from nadirfix.runtime.int8 import LARGE
from nadirfix.runtime.load import load_backend
from nadirfix.runtime.packaged import shipped_network

TINY, STANDARD = RECIPES["tiny"], RECIPES["standard"]
NETWORKS = {
    options.start: options
    for options in (TINY.altitude_network, TINY.place_network, SHIPPED_ALTITUDE, SHIPPED_PLACE)
    if ships(options)
}
#: The networks of the standard recipe are large, and a checkout may come without them.
STANDARD_SHIPS = pytest.mark.skipif(
    not (ships(SHIPPED_ALTITUDE) and ships(SHIPPED_PLACE)), reason="the standard networks are not here"
)
FEW = """
base = "tiny"
matcher = "none"
[fit]
views = 40
[bins]
max_m = 200.0
[references]
headings = 2
stride_m = 130.0
[quantise]
views = 8
"""


@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_the_embedder_it_was_made_from(name: str) -> None:
    torch = pytest.importorskip("torch")
    from nadirfix.train.models.embedder import Embedder
    from nadirfix.train.models.embedder_checkpoint import load_embedder
    from nadirfix.train.models.weights import load_encoder

    options = NETWORKS[name]
    encoder, record = load_encoder(options)
    embedder = Embedder(encoder, options, record).eval()
    load_embedder(embedder, options.start, record)
    draw = np.random.default_rng(0)
    shape = (3, 3, options.height_px, options.width_px)
    inputs = draw.uniform(0, 20 if options.input == "spectrum" else 255, shape).astype(np.float32)
    with torch.no_grad():
        expected = embedder(torch.from_numpy(inputs)).numpy()
    session = onnxruntime.InferenceSession(shipped(options).content, providers=["CPUExecutionProvider"])
    (outputs,) = session.run(None, {"inputs": inputs})
    print(f"{name}: {np.abs(outputs - expected).max():.1e} of {np.abs(expected).max():.1f}")
    assert np.abs(outputs - expected).max() < 1e-3 * np.abs(expected).max()


def shipped(options: NetworkOptions):
    network = shipped_network(options)
    assert network is not None
    return network


@pytest.mark.parametrize("name", NETWORKS)
def test_its_header_names_its_source_and_licence(name: str) -> None:
    card = shipped(NETWORKS[name]).card
    assert card["weights"]["licence"] in {"Apache-2.0", "MIT"}
    assert card["weights"]["source"] == name and len(card["weights"]["sha256"]) == 64
    assert card["preprocessing"]["input"] == NETWORKS[name].input
    assert card["preprocessing"]["width_px"] == NETWORKS[name].width_px
    assert card["training"] is None


def test_the_standard_recipe_takes_what_ships() -> None:
    """Its own networks where the package has them; else the small altitude network, and one from a hub."""
    altitude = SHIPPED_ALTITUDE if ships(SHIPPED_ALTITUDE) else TINY.altitude_network
    assert STANDARD.altitude_network == altitude and shipped_network(altitude) is not None
    if ships(SHIPPED_PLACE):
        assert STANDARD.place_network == SHIPPED_PLACE and shipped_network(SHIPPED_PLACE) is not None
    else:
        assert STANDARD.place_network.start == "" and shipped_network(STANDARD.place_network) is None


@pytest.mark.parametrize("other", [{"width_px": 128}, {"start": ""}, {"start": "tiny-none"}, {"mix_rows": 2}])
def test_other_settings_mean_another_network(other: dict) -> None:
    assert shipped_network(dataclasses.replace(TINY.place_network, **other)) is None


@pytest.mark.parametrize("kind", [".onnx", ".safetensors"])
def test_together_they_are_small(kind: str) -> None:
    weights = [file for file in files("nadirfix.weights").iterdir() if file.name.endswith(kind)]
    sizes = {file.name: len(file.read_bytes()) for file in weights}
    print(sizes)
    assert sum(sizes.values()) <= 40e6
    assert sum(size for name, size in sizes.items() if name.startswith("tiny")) < 5e6


@pytest.mark.parametrize("base", ["tiny", pytest.param("standard", marks=STANDARD_SHIPS)])
def test_a_build_with_them_never_loads_torch(tmp_path: Path, base: str) -> None:
    from tests.bundles import write_ground

    write_ground(tmp_path / "map.tif")
    recipe = FEW.replace("tiny", base)
    if base == "standard":  # int8 takes as long as all else; a core install tries it (make long)
        recipe = recipe.replace("views = 8", "views = 0")
    (tmp_path / "r.toml").write_text(recipe)
    code = "import atexit, sys; from nadirfix.cli import main\n"
    code += "atexit.register(lambda: print('torch', 'torch' in sys.modules)); sys.exit(main())"
    given = ("build", tmp_path / "map.tif", "--out", tmp_path / "b.nadir", "--recipe", tmp_path / "r.toml")
    command = [sys.executable, "-c", code, *map(str, given), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("torch False\n")
    assert (tmp_path / "b.nadir" / "altitude_classes.npy").exists()
    summary = json.loads(done.stdout.splitlines()[0])
    assert summary["trained"] == {"altitude": False, "place": False}
    assert set(summary["accuracy"]["altitude"]) == {"e_avg_m", "within_25_m", "within_50_m", "within_100_m"}
    print(summary["described"])
    assert (summary["described"]["sheets"] is not None) == (base == "standard")


def test_an_embedder_of_one_s_own_gets_its_classes_from_the_map(tmp_path: Path) -> None:
    """It learned elsewhere and brings no classes: those it would start to learn with say nothing."""
    pytest.importorskip("torch")
    from nadirfix.offline import build_bundle
    from nadirfix.options.recipe import load_recipe
    from tests.bundles import write_ground

    given = files("nadirfix.weights") / "tiny-altitude.safetensors"
    (tmp_path / "mine.safetensors").write_bytes(given.read_bytes())
    (tmp_path / "r.toml").write_text(
        f'{FEW}[altitude_network]\nstart = "{tmp_path / "mine.safetensors"}"\n', encoding="utf-8"
    )
    write_ground(tmp_path / "map.tif")
    recipe = load_recipe(str(tmp_path / "r.toml"))
    bundle = build_bundle(tmp_path / "map.tif", tmp_path / "b.nadir", recipe=recipe)
    assert bundle.manifest["networks"]["altitude"]["fitted"]["views"] == 40
    assert bundle.altitude_classes is not None
    assert bundle.altitude_classes.shape == (len(bundle.bins), 257)  # a direction of its embedding, and where


SMALL = NetworkOptions(width_px=64, height_px=64, encoder="small", weights="random", aggregator="gem")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network made as bench/training/ship.py makes the standard recipe's, from weights of its own."""
    pytest.importorskip("torch")
    from bench.training import ship
    from nadirfix.train.models.embedder import Embedder, seeded
    from nadirfix.train.models.embedder_checkpoint import save_embedder
    from nadirfix.train.models.weights import load_encoder

    folder = tmp_path_factory.mktemp("room")
    with seeded(3):
        encoder, record = load_encoder(SMALL)
    embedder = Embedder(encoder, SMALL, record)
    save_embedder(embedder, folder / "half.safetensors", {"licence": "none"})
    save_embedder(embedder, folder / "small.safetensors", {"licence": "CC0", "data": "noise"}, int8=True)
    ship.write(dataclasses.replace(SMALL, start="small"), folder / "small.safetensors", int8=True)
    return folder


def test_int8_weights_are_half_as_large_and_start_what_runs(made: Path) -> None:
    torch = pytest.importorskip("torch")
    from nadirfix.train.models.embedder import Embedder
    from nadirfix.train.models.embedder_checkpoint import embedder_metadata, load_embedder
    from nadirfix.train.models.weights import load_encoder

    assert embedder_metadata(made / "small.safetensors")["data"] == "noise"
    sizes = [(made / f"{name}.safetensors").stat().st_size for name in ("small", "half")]
    assert sizes[0] < 0.6 * sizes[1]
    inputs = np.random.default_rng(1).uniform(0, 255, (3, 3, 64, 64)).astype(np.float32)
    outputs = {}
    for name in ("small", "half"):
        encoder, record = load_encoder(SMALL)
        embedder = Embedder(encoder, SMALL, record).eval()
        found = load_embedder(embedder, str(made / f"{name}.safetensors"), record)
        with torch.no_grad():
            outputs[name] = embedder(torch.from_numpy(inputs)).numpy()
    assert found.licence == "none"
    (run,) = onnxruntime.InferenceSession(made / "small.onnx").run(None, {"inputs": inputs})
    np.testing.assert_allclose(run, outputs["small"], rtol=2e-3, atol=2e-3 * np.abs(run).max())
    cosine = (outputs["small"] * outputs["half"]).sum(1) / np.prod(
        [np.linalg.norm(v, axis=1) for v in outputs.values()], 0
    )
    print(f"int8 against float16: cosine {cosine.min():.5f}")
    assert 0.999 < cosine.min() < 1.0


def test_a_bundle_has_it_in_float16_which_every_library_reads(made: Path, tmp_path: Path) -> None:
    content = (made / "small.onnx").read_bytes()
    (tmp_path / "half.onnx").write_bytes(int8_to_float16(content))
    assert int8_to_float16(int8_to_float16(content)) == (tmp_path / "half.onnx").read_bytes()
    inputs = np.random.default_rng(2).uniform(0, 255, (2, 3, 64, 64)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(made / "small.onnx").run(None, {"inputs": inputs})
    files = NetworkFiles(tmp_path / "half.onnx")
    for backend in possible_backends(files):
        if backend.precision == "single":
            outputs = load_backend(files, backend).run(inputs)
            np.testing.assert_allclose(outputs, expected, rtol=5e-3, atol=5e-3 * np.abs(expected).max())


def test_a_network_made_elsewhere_is_named_by_its_path(made: Path) -> None:
    found = shipped_network(dataclasses.replace(SMALL, start=str(made / "small.onnx")))
    assert found is not None and found.card["weights"]["licence"] == "CC0"
    assert shipped_network(dataclasses.replace(SMALL, start=str(made / "none.onnx"))) is None
    assert shipped_network(dataclasses.replace(SMALL, gem_parts=1, start=str(made / "small.onnx"))) is None


def refused(start: Path, code: str, take=shipped_network) -> str:
    with pytest.raises(WeightsError) as caught:
        take(dataclasses.replace(SMALL, start=str(start)))
    assert caught.value.code == code and str(start) in caught.value.seen
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a network", b"\x08\x07" * 40])
def test_a_file_that_is_no_network_is_refused(content: bytes, tmp_path: Path, capfd) -> None:
    (tmp_path / "x.onnx").write_bytes(content)
    assert f"{len(content)} bytes" in refused(tmp_path / "x.onnx", "weights.mismatch")
    assert capfd.readouterr().err == "", "nor does a library talk in between"


def test_a_network_of_somebody_else_is_refused(made: Path, tmp_path: Path) -> None:
    model = onnx.load(made / "small.onnx")
    for header in ({}, {"network": "{", "about": "{}"}, {"network": "7", "about": "{}"}):
        del model.metadata_props[:]
        onnx.helper.set_model_props(model, header)
        onnx.save(model, tmp_path / "x.onnx")
        assert "header" in refused(tmp_path / "x.onnx", "weights.mismatch")


def test_nothing_is_trained_from_a_network_that_only_runs(made: Path) -> None:
    pytest.importorskip("torch")
    from nadirfix.train.models.embedder import Embedder
    from nadirfix.train.models.embedder_checkpoint import load_embedder
    from nadirfix.train.models.weights import load_encoder

    def start(options: NetworkOptions) -> None:
        encoder, record = load_encoder(options)
        load_embedder(Embedder(encoder, options, record), options.start, record)

    assert "without --train" in refused(made / "small.onnx", "weights.mismatch", start)
    assert "no such file" in refused(made / "none.onnx", "weights.missing", start)
    assert "no such file" in refused(made / "none.safetensors", "weights.missing", start)


def test_both_files_keep_the_same_matrices_whole(made: Path) -> None:
    from safetensors.numpy import load_file

    factors = {k.removesuffix(":factor") for k in load_file(made / "small.safetensors") if ":factor" in k}
    stored = {one.name: one for one in onnx.load(made / "small.onnx").graph.initializer}
    whole = {name.removesuffix(".whole") for name in stored if name.endswith(".whole")}
    assert len(factors) == len(whole) > 2
    assert min(np.prod(stored[f"{name}.whole"].dims) for name in whole) >= LARGE


@pytest.mark.parametrize("learn", ["place", "altitude"])
def test_a_header_has_every_option_it_was_made_with(learn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in it, given again, asks for the same network; where files lay is nobody's business."""
    pytest.importorskip("torch")
    from bench.training import many_places

    folders = ["--real", "r", "--worlds", "w", "--out", "o", "--weights", "resnet"]

    def given(*words: str):
        monkeypatch.setattr(sys, "argv", ["many_places", *words, *folders])
        return many_places.arguments()

    first = given(
        learn, "--name", "n", "--start", "/far/s.safetensors", "--encoder", "small", "--leave-out", "mine",
        "--only-worlds", "--real-share", "0.7", "--seconds", "260", "--batch", "96", "--rate", "5e-5",
        "--seed", "3", *(["--soften", "0.7", "--width", "224"] if learn == "altitude" else []),
    )  # fmt: skip
    command = many_places.metadata(first, {"places": ["campus"], "steps": 1})["command"]
    assert "far" not in command
    again = given(*command.split()[3:])
    assert vars(again) | {"start": ""} == vars(first) | {"start": ""}
    assert again.start == "s.safetensors"
