"""Networks in eight bits beside the same in single precision: on two cores they run up to three times faster.

What each layer's numbers range over is measured on views of the bundle's own map, as other days would show
them. Layers that bear eight bits badly stay as they are; a network that says something else in eight bits is
left out, and the manifest says so.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nadirfix.files import atomic_file
from nadirfix.options.recipe import QuantiseOptions
from nadirfix.runtime import load_network
from nadirfix.runtime.benchmark import SAME_ENOUGH, likeness, same_best
from nadirfix.runtime.network import Floats

if TYPE_CHECKING:
    import onnx

__all__ = ["quantise"]

#: Kinds of layers that are put into eight bits; all others are cheap, or sums that need their digits.
_CONVOLUTIONS, _PRODUCTS = ("Conv",), ("MatMul", "Gemm")
_KINDS = _CONVOLUTIONS + _PRODUCTS
#: Eight bits must save at least this much time to be worth counting in where digits are kept for good.
_QUICKER = 1.2
#: How the library marks a network that is ready to be quantised.
_PREPARED = ("onnx.quant.pre_process", "onnxruntime.quant")


def quantise(
    source: Path, target: Path, examples: Floats, options: QuantiseOptions, *, scores: bool = False
) -> dict[str, Any]:
    """Write a network in eight bits, if it still says the same; what there is to say about it.

    Half of the examples (inputs of the network) tell what its numbers range over, the others whether it still
    says the same. Where it gives ``scores`` of classes, all are asked whether the best is still the same.
    Whether it is "quicker" is true of this machine alone.
    """
    told, asked = examples[0::2], examples if scores else examples[1::2]
    compare, enough = (same_best, SAME_ENOUGH) if scores else (likeness, options.likeness)
    wanted, usual_ms = _answers(source, asked)
    about: dict[str, Any] = {"views": len(examples), "kept": False}
    with tempfile.TemporaryDirectory() as name:
        plain, narrow = Path(name) / "plain.onnx", Path(name) / "narrow.onnx"
        _simplified(source, plain)
        for spared in _attempts(plain, scores=scores):
            _quantised(plain, narrow, told, spared)
            said, narrow_ms = _answers(narrow, asked)
            like = compare(said, wanted)
            about |= {"likeness": round(like, 5), "single_precision": spared.name}
            if like >= enough:
                with atomic_file(target, overwrite=True) as scratch:
                    scratch.write_bytes(narrow.read_bytes())
                return {**about, "kept": True, "quicker": usual_ms > _QUICKER * narrow_ms}
    return about


@dataclass(frozen=True, slots=True)
class _Spared:
    """Layers that stay in single precision, what to call them, and how the others are put into eight bits.

    Finer: what a layer adds up is not rounded before the next one rounds its input, and convolutions take
    numbers in their usual range, so that few are cut off and all the others keep a digit.
    """

    name: str
    layers: tuple[str, ...]
    finer: bool


def _attempts(plain: Path, *, scores: bool) -> Iterator[_Spared]:
    """Ever more layers spared, the early ones first: what is lost there is lost to all that follow.

    Classes begin with the finer form: where two are nearly equal, a digit decides.
    """
    import onnx

    graph = onnx.load(plain).graph
    layers = [node for node in graph.node if node.op_type in _KINDS]
    convolutions = [node for node in layers if node.op_type == "Conv"]
    products = [node for node in layers if node.op_type != "Conv"]
    apart = [node for node in convolutions if _groups(node) > 1]
    half = convolutions[: len(convolutions) // 2]
    if not scores:
        yield _spared("the first layer", convolutions[:1])
    for count, called in ((1, "the first layer"), (5, "the first five")):
        yield _spared(
            f"{called} and the last products, finer", convolutions[:count], products[-2:], finer=True
        )
    yield _spared("the first five layers and products", convolutions[:5], products)
    if apart:
        yield _spared("the first five, products, channels apart", convolutions[:5], products, apart)
    yield _spared("the first half, products, channels apart", half, products, apart)


def _spared(name: str, *some: Sequence[onnx.NodeProto], finer: bool = False) -> _Spared:
    return _Spared(name, tuple(dict.fromkeys(node.name for nodes in some for node in nodes)), finer)


def _groups(node: onnx.NodeProto) -> int:
    return next((int(a.i) for a in node.attribute if a.name == "group"), 1)


def _simplified(source: Path, target: Path) -> None:
    """The network with its constants worked out and normalisations folded into layers."""
    import onnx
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(target)
    settings.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), settings, providers=["CPUExecutionProvider"])
    model = onnx.load(target)
    note = model.metadata_props.add()  # or the library asks on every call for just what was done here
    note.key, note.value = _PREPARED
    onnx.save(model, target)


def _quantised(plain: Path, target: Path, told: Floats, spared: _Spared) -> None:
    """Convolutions first, then products, whose full range always counts: large numbers are all they have."""
    middle = target.with_suffix(".middle.onnx")
    _narrowed(plain, middle, told, spared, kinds=_CONVOLUTIONS)
    if _left(middle, _PRODUCTS, spared):
        _narrowed(middle, target, told, spared, kinds=_PRODUCTS)
    else:
        middle.replace(target)


def _left(source: Path, kinds: tuple[str, ...], spared: _Spared) -> bool:
    """Whether there is a layer of these kinds to put into eight bits: to measure for none takes as long."""
    import onnx

    return any(n.op_type in kinds and n.name not in spared.layers for n in onnx.load(source).graph.node)


def _narrowed(source: Path, target: Path, told: Floats, spared: _Spared, *, kinds: tuple[str, ...]) -> None:
    from onnxruntime import quantization as q

    class Examples(q.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.rest = iter(told)

        def get_next(self) -> dict[str, Floats] | None:
            one = next(self.rest, None)
            return None if one is None else {"inputs": one[None]}

    q.quantize_static(
        str(source),
        str(target),
        Examples(),
        quant_format=q.QuantFormat.QDQ,
        op_types_to_quantize=list(kinds),
        nodes_to_exclude=list(spared.layers),
        per_channel=True,
        activation_type=q.QuantType.QUInt8,
        weight_type=q.QuantType.QInt8,
        extra_options={
            "CalibMovingAverage": spared.finer and kinds == _CONVOLUTIONS,
            "OpTypesToExcludeOutputQuantization": list(kinds) if spared.finer else [],
        },
    )


def _answers(path: Path, inputs: Floats) -> tuple[Floats, float]:
    """What a network says about each input, and how long one takes in the median."""
    network, said, spent_ms = load_network(path), [], []
    for one in inputs:
        began = time.perf_counter()
        said.append(network.run(one[None]))
        spent_ms.append(1e3 * (time.perf_counter() - began))
    return np.concatenate(said), statistics.median(spent_ms)
