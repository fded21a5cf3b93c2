"""Networks stored at half their size or a quarter: weights are narrow on disk, single precision when run."""

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

__all__ = ["bytes_to_half", "store_bytes", "store_half"]

Floats = NDArray[np.float32]

#: Smaller ones are not worth a step of their own, and are often factors that need their digits.
_SMALLEST = 1024
#: What whole numbers, their factors, and the numbers between are called, after the weights they make.
_WHOLE, _FACTOR, _WIDE = ".whole", ".factor", ".wide"
#: Half precision ends at 65504.
_LARGEST = 6e4


def store_half(path: Path) -> None:
    """Rewrite an ONNX file with its large weights in half precision, widened again when it is opened."""
    _store(path, lambda _graph, weights: [_narrow(weights)])


def store_bytes(path: Path) -> None:
    """Rewrite an ONNX file with its large weights in eight bits, a factor for each row or column."""
    _store(path, _in_bytes)


def bytes_to_half(content: bytes) -> bytes:
    """A network with weights in eight bits as one in half precision, which every library reads rightly.

    OpenVINO 2026.4 takes whole numbers and factors for something else, and says nonsense.
    """
    import onnx

    model = onnx.load_from_string(content)
    tensors = {weights.name: weights for weights in model.graph.initializer}
    whole = [name.removesuffix(_WHOLE) for name in tensors if name.endswith(_WHOLE)]
    if not whole:
        return content
    for name in whole:
        _widen(tensors[name + _WHOLE], tensors[name + _FACTOR], name)
    _drop(model.graph, {f"{name}{ending}" for name in whole for ending in (_FACTOR, _WIDE)})
    large = [weights for weights in model.graph.initializer if weights.name in whole]
    nodes = [*(_narrow(weights) for weights in large), *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString(deterministic=True))


def _widen(whole: onnx.TensorProto, factor: onnx.TensorProto, name: str) -> None:
    """Replace whole numbers by the weights they stand for, under the weights' own name."""
    from onnx import numpy_helper

    wide = numpy_helper.to_array(whole).astype(np.float32) * numpy_helper.to_array(factor)
    whole.CopyFrom(numpy_helper.from_array(wide, name))


def _drop(graph: onnx.GraphProto, names: set[str]) -> None:
    """Take out factors, and the steps that made weights from them."""
    nodes = [node for node in graph.node if not names & {*node.input, *node.output}]
    weights = [one for one in graph.initializer if one.name not in names]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)


def _store(path: Path, narrow: Callable[[onnx.GraphProto, onnx.TensorProto], list[onnx.NodeProto]]) -> None:
    import onnx

    model = onnx.load(path)
    large = [weights for weights in model.graph.initializer if _fits(weights)]
    widened = [node for weights in large for node in narrow(model.graph, weights)]
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


def _narrow(weights: onnx.TensorProto) -> onnx.NodeProto:
    """Replace weights by narrow ones of another name; the step that widens them takes the old name."""
    from onnx import TensorProto, helper, numpy_helper

    name = weights.name
    half = numpy_helper.to_array(weights).astype(np.float16)
    weights.CopyFrom(numpy_helper.from_array(half, f"{name}.half"))
    return helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT)


def _in_bytes(graph: onnx.GraphProto, weights: onnx.TensorProto) -> list[onnx.NodeProto]:
    """Replace weights by whole numbers and factors; the step that multiplies them takes the old name."""
    from onnx import TensorProto, helper, numpy_helper

    name, wide = weights.name, numpy_helper.to_array(weights)
    if wide.ndim < 2 or wide.size < LARGE:
        return [_narrow(weights)]
    whole, factor = min((_rounded(wide, axis) for axis in (0, -1)), key=lambda w: _lost(wide, *w))
    graph.initializer.append(numpy_helper.from_array(factor, name + _FACTOR))
    weights.CopyFrom(numpy_helper.from_array(whole, name + _WHOLE))
    cast = helper.make_node("Cast", [name + _WHOLE], [name + _WIDE], to=TensorProto.FLOAT)
    return [cast, helper.make_node("Mul", [name + _WIDE, name + _FACTOR], [name])]


def _rounded(wide: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """Whole numbers up to 127, and the factor of each row along an axis."""
    others = tuple(a for a in range(wide.ndim) if a != axis % wide.ndim)
    factor = np.maximum(np.abs(wide).max(axis=others, keepdims=True), 1e-12).astype(np.float32) / 127
    return np.rint(wide / factor).astype(np.int8), factor


def _lost(wide: Floats, whole: NDArray[np.int8], factor: Floats) -> float:
    return float(np.square(wide - whole * factor).sum())
