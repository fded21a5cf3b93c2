"""Networks stored at half their size or a quarter: weights are float16 or int8 on disk, float32 when run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.files import atomic_file
from nadirfix.runtime.int8 import LARGE

if TYPE_CHECKING:
    import onnx

__all__ = ["int8_to_float16", "store_float16", "store_int8"]

Floats = NDArray[np.float32]

#: Smaller ones are not worth a step of their own, and are often scales that need their digits.
_SMALLEST = 1024
#: Names of int8 weights, their scales, and the float32 numbers between: endings of the weights' own name.
_INT8, _SCALE, _WIDE = ".whole", ".factor", ".wide"
#: float16 ends at 65504.
_LARGEST = 6e4


def store_float16(path: Path) -> None:
    """Rewrite an ONNX file with its large weights in float16, widened again when it is opened."""
    _store(path, lambda _graph, weights: [_to_float16(weights)])


def store_int8(path: Path) -> None:
    """Rewrite an ONNX file with its large weights in int8, a scale for each row or column."""
    _store(path, _to_int8)


def int8_to_float16(content: bytes) -> bytes:
    """A network with int8 weights as one with float16 weights, which every library reads rightly.

    OpenVINO 2026.4 takes int8 weights and scales for something else, and its outputs are nonsense.
    """
    import onnx

    model = onnx.load_from_string(content)
    tensors = {weights.name: weights for weights in model.graph.initializer}
    quantised = [name.removesuffix(_INT8) for name in tensors if name.endswith(_INT8)]
    if not quantised:
        return content
    for name in quantised:
        _dequantise(tensors[name + _INT8], tensors[name + _SCALE], name)
    _drop(model.graph, {f"{name}{ending}" for name in quantised for ending in (_SCALE, _WIDE)})
    large = [weights for weights in model.graph.initializer if weights.name in quantised]
    nodes = [*(_to_float16(weights) for weights in large), *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString(deterministic=True))


def _dequantise(whole: onnx.TensorProto, scale: onnx.TensorProto, name: str) -> None:
    """Replace int8 numbers by the weights they stand for, under the weights' own name."""
    from onnx import numpy_helper

    wide = numpy_helper.to_array(whole).astype(np.float32) * numpy_helper.to_array(scale)
    whole.CopyFrom(numpy_helper.from_array(wide, name))


def _drop(graph: onnx.GraphProto, names: set[str]) -> None:
    """Take out scales, and the nodes that made weights from them."""
    nodes = [node for node in graph.node if not names & {*node.input, *node.output}]
    weights = [one for one in graph.initializer if one.name not in names]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)


def _store(path: Path, convert: Callable[[onnx.GraphProto, onnx.TensorProto], list[onnx.NodeProto]]) -> None:
    import onnx

    model = onnx.load(path)
    large = [weights for weights in model.graph.initializer if _fits(weights)]
    widened = [node for weights in large for node in convert(model.graph, weights)]
    nodes = [*widened, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    with atomic_file(path) as scratch:
        scratch.write_bytes(model.SerializeToString(deterministic=True))


def _fits(weights: onnx.TensorProto) -> bool:
    from onnx import TensorProto, numpy_helper

    if weights.data_type != TensorProto.FLOAT or np.prod(weights.dims) < _SMALLEST:
        return False
    return bool(np.abs(numpy_helper.to_array(weights)).max() < _LARGEST)


def _to_float16(weights: onnx.TensorProto) -> onnx.NodeProto:
    """Replace weights by float16 ones of another name; the node that widens them takes the old name."""
    from onnx import TensorProto, helper, numpy_helper

    name = weights.name
    half = numpy_helper.to_array(weights).astype(np.float16)
    weights.CopyFrom(numpy_helper.from_array(half, f"{name}.half"))
    return helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT)


def _to_int8(graph: onnx.GraphProto, weights: onnx.TensorProto) -> list[onnx.NodeProto]:
    """Replace weights by int8 numbers and scales; the node that multiplies them takes the old name."""
    from onnx import TensorProto, helper, numpy_helper

    name, wide = weights.name, numpy_helper.to_array(weights)
    if wide.ndim < 2 or wide.size < LARGE:
        return [_to_float16(weights)]
    whole, scale = min((_quantised(wide, axis) for axis in (0, -1)), key=lambda w: _squared_error(wide, *w))
    graph.initializer.append(numpy_helper.from_array(scale, name + _SCALE))
    weights.CopyFrom(numpy_helper.from_array(whole, name + _INT8))
    cast = helper.make_node("Cast", [name + _INT8], [name + _WIDE], to=TensorProto.FLOAT)
    return [cast, helper.make_node("Mul", [name + _WIDE, name + _SCALE], [name])]


def _quantised(wide: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """Whole numbers up to 127, and the scale of each row along an axis."""
    others = tuple(a for a in range(wide.ndim) if a != axis % wide.ndim)
    scale = np.maximum(np.abs(wide).max(axis=others, keepdims=True), 1e-12).astype(np.float32) / 127
    return np.rint(wide / scale).astype(np.int8), scale


def _squared_error(wide: Floats, whole: NDArray[np.int8], scale: Floats) -> float:
    return float(np.square(wide - whole * scale).sum())
