"""Networks stored at half their size: weights in half precision on disk, single precision when they run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nadirfix.output import atomic_file

if TYPE_CHECKING:
    import onnx

__all__ = ["store_half"]

#: Smaller ones are not worth a step of their own, and are often factors that need their digits.
_SMALLEST = 1024
#: Half precision ends at 65504.
_LARGEST = 6e4


def store_half(path: Path) -> None:
    """Rewrite an ONNX file with its large weights in half precision, widened again when it is opened."""
    import onnx

    model = onnx.load(path)
    large = [weights for weights in model.graph.initializer if _fits(weights)]
    widened = [_narrow(weights) for weights in large]
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
