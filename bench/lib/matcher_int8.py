"""The matcher's network in eight bits: the layers that cost most, with ranges measured on training pairs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnxruntime import quantization as q

from nadirfix.files import atomic_file

__all__ = ["FLOAT_LAYERS", "quantise_matcher"]

#: Parts that stay in single precision: those that see pixels, and where keypoints come from.
FLOAT_LAYERS = ("pixels.", "halved.", "shortcut.", "to_quarter.", "keypoints.", "reliability.2")


class _Pictures(q.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, pictures: NDArray[np.uint8]) -> None:
        self._rest = iter(pictures)

    def get_next(self) -> dict[str, Any] | None:
        picture = next(self._rest, None)
        return None if picture is None else {"inputs": picture[None, None].astype(np.float32)}


def quantise_matcher(
    source: Path, target: Path, pictures: NDArray[np.uint8], *, kept: Sequence[str] = FLOAT_LAYERS
) -> None:
    """Write a network with all convolutions in int8, but for those whose weights' names begin so.

    Weights have seven bits: with eight, processors without VNNI overflow in their sums, and a photo would
    get another answer there.
    """
    with tempfile.TemporaryDirectory() as name:
        plain, int8 = Path(name) / "plain.onnx", Path(name) / "int8.onnx"
        _prepared(source, plain)
        nodes = onnx.load(plain).graph.node
        excluded = [n.name for n in nodes if n.op_type == "Conv" and n.input[1].startswith(tuple(kept))]
        q.quantize_static(
            str(plain), str(int8), _Pictures(pictures),
            quant_format=q.QuantFormat.QDQ, op_types_to_quantize=["Conv"], nodes_to_exclude=excluded,
            per_channel=True, activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8,
            reduce_range=True, extra_options={"CalibMovingAverage": True},
        )  # fmt: skip
        model = onnx.load(int8)
        with atomic_file(target, overwrite=True) as scratch:
            scratch.write_bytes(model.SerializeToString(deterministic=True))


def _prepared(source: Path, target: Path) -> None:
    """The network with constants folded."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(target)
    settings.log_severity_level = 3
    onnxruntime.InferenceSession(str(source), settings, providers=["CPUExecutionProvider"])
