"""Networks quantised to int8 keep their outputs, or are left out."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from nadirfix.errors import InputError
from nadirfix.offline import quantise as quantising
from nadirfix.offline.quantise import _Exclusion, _quantised, quantise
from nadirfix.options.recipe import RECIPES, QuantiseOptions
from nadirfix.runtime import load_network
from nadirfix.runtime.benchmark import cosine_similarity
from nadirfix.runtime.packaged import shipped_network

pytest.importorskip("onnx")
SIDE = RECIPES["tiny"].place_network.width_px


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The place network the package ships."""
    shipped = shipped_network(RECIPES["tiny"].place_network)
    assert shipped is not None
    path = tmp_path_factory.mktemp("shipped") / "place.onnx"
    path.write_bytes(shipped.content)
    return path


@pytest.fixture(scope="module")
def pictures() -> np.ndarray:
    """Ground with detail at every scale, each picture lit in its own way."""
    draw = np.random.default_rng(5)
    total = np.zeros((24, 3, SIDE, SIDE), np.float32)
    for octave in range(5):
        coarse = draw.normal(0, 1, (24, 3, SIDE >> octave, SIDE >> octave))
        total += 1.6**octave * coarse.repeat(1 << octave, 2).repeat(1 << octave, 3)
    contrast = draw.uniform(20, 50, (24, 1, 1, 1))
    return np.clip(128 + contrast * total / total.std(), 0, 255).astype(np.float32)


@pytest.fixture(scope="module")
def int8(place: Path, pictures: np.ndarray, tmp_path_factory: pytest.TempPathFactory):
    target = tmp_path_factory.mktemp("int8") / "place.int8.onnx"
    return target, quantise(place, target, pictures, QuantiseOptions())


def test_int8_describes_pictures_as_float32_does(place, pictures, int8) -> None:
    target, record = int8
    assert record["kept"]
    expected, outputs = load_network(place).run(pictures), load_network(target).run(pictures)
    cosine = (expected * outputs).sum(1) / np.linalg.norm(expected, axis=1) / np.linalg.norm(outputs, axis=1)
    assert np.percentile(cosine, 5) >= 0.98
    units = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    nearest = np.argmax(outputs @ units.T, axis=1)
    assert np.array_equal(nearest, np.arange(len(pictures))), "each picture is still most similar to itself"


def test_it_really_is_int8(place, int8) -> None:
    import onnx

    kinds = {node.op_type for node in onnx.load(int8[0]).graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= kinds
    scales = [i for i in onnx.load(int8[0]).graph.initializer if i.name.endswith("_scale")]
    assert any(np.prod(s.dims) > 1 for s in scales), "weights have a scale for every channel"


def test_the_same_network_becomes_the_same_bytes(place, pictures, int8, tmp_path: Path) -> None:
    quantise(place, tmp_path / "again.onnx", pictures, QuantiseOptions())
    assert (tmp_path / "again.onnx").read_bytes() == int8[0].read_bytes()


def test_a_network_with_other_outputs_is_left_out(place, pictures, tmp_path: Path) -> None:
    demanding = dataclasses.replace(QuantiseOptions(), likeness=1.0)
    record = quantise(place, tmp_path / "place.int8.onnx", pictures[:6], demanding)
    assert not record["kept"]
    assert record["single_precision"] == "the first half, products, channels apart", "all was tried"
    assert not (tmp_path / "place.int8.onnx").exists()


def test_similarity_is_the_cosine_most_pairs_reach() -> None:
    angles = np.radians(np.linspace(0, 60, 101))
    expected = np.tile([1.0, 0.0], (101, 1)).astype(np.float32)
    outputs = (3 * np.stack([np.cos(angles), np.sin(angles)], axis=1)).astype(np.float32)
    assert cosine_similarity(outputs, expected) == pytest.approx(np.cos(np.radians(57)), abs=1e-4)
    assert cosine_similarity(outputs[:5], expected) == -1
    assert cosine_similarity(np.full_like(outputs, np.nan), expected) == -1


@pytest.mark.parametrize(
    "wrong", [{"views": -1}, {"likeness": 0.0}, {"likeness": 1.01}, {"likeness": float("nan")}]
)
def test_options_nothing_can_be_quantised_with_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="quantised to int8"):
        QuantiseOptions(**wrong)


@pytest.fixture(scope="module")
def both(place, pictures, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """The network in int8, coarse and finer."""
    folder, made = tmp_path_factory.mktemp("both"), {}
    for finer in (False, True):
        made[finer] = folder / f"{finer}.onnx"
        _quantised(place, made[finer], pictures[:8], _Exclusion("none", (), finer))
    return made


def test_usual_ranges_are_finer_than_full_ones(both: dict[bool, Path]) -> None:
    import onnx
    from onnx.numpy_helper import to_array

    steps = {}
    for finer, path in both.items():
        tensors = {i.name: to_array(i) for i in onnx.load(path).graph.initializer}
        steps[finer] = {k: float(v) for k, v in tensors.items() if k.endswith("_scale") and v.size == 1}
    ratio = np.array([steps[True][name] / steps[False][name] for name in steps[True]])
    assert len(ratio) < len(steps[False]), "what layers give out is not rounded"
    assert np.mean(ratio < 0.98) > 0.25, "a third or so are numbers between convolutions"
    assert ratio.max() < 1.2, "what follows a layer that was cut off may range a little farther"


def test_the_outputs_of_a_finer_network_are_not_rounded(both: dict[bool, Path], place, pictures) -> None:
    expected = load_network(place).run(pictures[8:])
    outputs = {finer: load_network(path).run(pictures[8:]) for finer, path in both.items()}
    values = {finer: len(np.unique(np.abs(rows).round(7))) for finer, rows in outputs.items()}
    assert values[True] > 2 * values[False]
    assert cosine_similarity(outputs[True], expected) > cosine_similarity(outputs[False], expected)


def test_scores_begin_with_the_finer_quantisation(place, pictures, tmp_path: Path) -> None:
    record = quantise(place, tmp_path / "scores.onnx", pictures, QuantiseOptions(), scores=True)
    assert record["kept"] and record["single_precision"].endswith("finer")


@pytest.mark.parametrize("passes", [1, 2])
def test_ranges_of_products_are_measured_only_where_some_are_left(
    place, pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, passes: int
) -> None:
    import onnx

    measured: list[tuple[str, ...]] = []
    original = quantising._quantise_kinds
    monkeypatch.setattr(
        quantising, "_quantise_kinds", lambda *a, **k: measured.append(k["kinds"]) or original(*a, **k)
    )
    products = tuple(n.name for n in onnx.load(place).graph.node if n.op_type in ("MatMul", "Gemm"))
    assert products
    target = tmp_path / "int8.onnx"
    _quantised(place, target, pictures[:2], _Exclusion("some", products if passes == 1 else (), False))
    assert len(measured) == passes
    assert "QuantizeLinear" in {n.op_type for n in onnx.load(target).graph.node}
