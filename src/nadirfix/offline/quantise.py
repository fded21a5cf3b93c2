"""Networks quantised to int8 beside the same in single precision: on two cores up to three times faster.

Each layer's range is measured on views of the bundle's own map, with photometric augmentation. Layers that
int8 harms stay as they are; a network whose outputs differ too much in int8 is left out, and the manifest
says so (ADR 21).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nadirfix.files import atomic_file
from nadirfix.options.recipe import QuantiseOptions
from nadirfix.runtime import load_network
from nadirfix.runtime.benchmark import MIN_AGREEMENT, cosine_similarity, top1_agreement
from nadirfix.runtime.network import Floats

if TYPE_CHECKING:
    import onnx

__all__ = ["quantise"]

#: Kinds of layers that are quantised; all others are cheap, or sums that need their digits.
_CONVOLUTIONS, _PRODUCTS = ("Conv",), ("MatMul", "Gemm")
_KINDS = _CONVOLUTIONS + _PRODUCTS
#: How the library marks a network that is ready to be quantised.
_PREPARED = ("onnx.quant.pre_process", "onnxruntime.quant")


def quantise(
    source: Path, target: Path, examples: Floats, options: QuantiseOptions, *, scores: bool = False
) -> dict[str, Any]:
    """Write a network in int8, if its outputs stay the same; the manifest's record of it.

    Half of the examples (inputs of the network) calibrate the ranges, the others test whether outputs stay
    the same. Where these are ``scores`` of classes, all examples test whether the best class is the same.
    """
    calibration, test = examples[0::2], examples if scores else examples[1::2]
    compare, enough = (top1_agreement, MIN_AGREEMENT) if scores else (cosine_similarity, options.likeness)
    reference = _outputs(source, test)
    record: dict[str, Any] = {"views": len(examples), "kept": False}
    with tempfile.TemporaryDirectory() as name:
        plain, int8 = Path(name) / "plain.onnx", Path(name) / "int8.onnx"
        _prepared(source, plain)
        for exclusion in _exclusions(plain, scores=scores):
            _quantised(plain, int8, calibration, exclusion)
            similarity = compare(_outputs(int8, test), reference)
            record |= {"likeness": round(similarity, 5), "single_precision": exclusion.name}
            if similarity >= enough:
                with atomic_file(target, overwrite=True) as scratch:
                    scratch.write_bytes(int8.read_bytes())
                return {**record, "kept": True}
    return record


@dataclass(frozen=True, slots=True)
class _Exclusion:
    """Nodes excluded from quantisation, what to call them, and how finely the others are quantised.

    Finer: a layer's sum is not rounded before the next one rounds its input, and convolutions take numbers in
    their usual range, so that few are clipped and all the others keep a digit.
    """

    name: str
    nodes: tuple[str, ...]
    finer: bool


def _exclusions(plain: Path, *, scores: bool) -> Iterator[_Exclusion]:
    """Ever more nodes excluded, the early ones first: what is lost there is lost to all that follow.

    Scores begin with the finer quantisation: where two are nearly equal, a digit decides.
    """
    import onnx

    graph = onnx.load(plain).graph
    layers = [node for node in graph.node if node.op_type in _KINDS]
    convolutions = [node for node in layers if node.op_type == "Conv"]
    products = [node for node in layers if node.op_type != "Conv"]
    grouped = [node for node in convolutions if _groups(node) > 1]
    half = convolutions[: len(convolutions) // 2]
    if not scores:
        yield _exclude("the first layer", convolutions[:1])
    for count, first in ((1, "the first layer"), (5, "the first five")):
        yield _exclude(
            f"{first} and the last products, finer", convolutions[:count], products[-2:], finer=True
        )
    yield _exclude("the first five layers and products", convolutions[:5], products)
    if grouped:
        yield _exclude("the first five, products, channels apart", convolutions[:5], products, grouped)
    yield _exclude("the first half, products, channels apart", half, products, grouped)


def _exclude(name: str, *groups: Sequence[onnx.NodeProto], finer: bool = False) -> _Exclusion:
    return _Exclusion(name, tuple(dict.fromkeys(node.name for nodes in groups for node in nodes)), finer)


def _groups(node: onnx.NodeProto) -> int:
    return next((int(a.i) for a in node.attribute if a.name == "group"), 1)


def _prepared(source: Path, target: Path) -> None:
    """The network with constants folded and normalisations merged into layers."""
    import onnx
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(target)
    settings.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), settings, providers=["CPUExecutionProvider"])
    model = onnx.load(target)
    note = model.metadata_props.add()  # or the library warns on every call that this has not been done
    note.key, note.value = _PREPARED
    onnx.save(model, target)


def _quantised(plain: Path, target: Path, calibration: Floats, exclusion: _Exclusion) -> None:
    """Convolutions first, then products, whose full range always counts: large numbers are all they have."""
    middle = target.with_suffix(".middle.onnx")
    _quantise_kinds(plain, middle, calibration, exclusion, kinds=_CONVOLUTIONS)
    if _any_left(middle, _PRODUCTS, exclusion):
        _quantise_kinds(middle, target, calibration, exclusion, kinds=_PRODUCTS)
    else:
        middle.replace(target)


def _any_left(source: Path, kinds: tuple[str, ...], exclusion: _Exclusion) -> bool:
    """Whether there is a layer of these kinds to quantise: calibrating for none takes as long."""
    import onnx

    return any(n.op_type in kinds and n.name not in exclusion.nodes for n in onnx.load(source).graph.node)


def _quantise_kinds(
    source: Path, target: Path, calibration: Floats, exclusion: _Exclusion, *, kinds: tuple[str, ...]
) -> None:
    from onnxruntime import quantization as q

    class Examples(q.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.rest = iter(calibration)

        def get_next(self) -> dict[str, Floats] | None:
            one = next(self.rest, None)
            return None if one is None else {"inputs": one[None]}

    q.quantize_static(
        str(source),
        str(target),
        Examples(),
        quant_format=q.QuantFormat.QDQ,
        op_types_to_quantize=list(kinds),
        nodes_to_exclude=list(exclusion.nodes),
        per_channel=True,
        activation_type=q.QuantType.QUInt8,
        weight_type=q.QuantType.QInt8,
        extra_options={
            "CalibMovingAverage": exclusion.finer and kinds == _CONVOLUTIONS,
            "OpTypesToExcludeOutputQuantization": list(kinds) if exclusion.finer else [],
        },
    )


def _outputs(path: Path, inputs: Floats) -> Floats:
    """A network's output for each input."""
    network = load_network(path)
    return np.concatenate([network.run(one[None]) for one in inputs])
