"""Networks run by OpenVINO, where the ``fast`` extra is installed."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.errors import BundleError
from nadirfix.runtime.network import Floats

__all__ = ["OpenVinoNetwork", "openvino_is_here"]


def openvino_is_here() -> bool:
    """Whether the library is installed; it is not imported for the question."""
    return find_spec("openvino") is not None


class OpenVinoNetwork:
    """A network in an ONNX file with one input and one output; any number of pictures at a time."""

    def __init__(self, path: Path, *, threads: int, precision: str = "f32") -> None:
        self._path, self._threads, self._precision = path, threads, precision
        self._model = _read(path)
        self._for_count = cache(self._compiled)

    def run(self, inputs: Floats) -> Floats:
        """What the network says about each input of a batch, one row each."""
        wanted = self._model.input(0).partial_shape
        free = len(wanted) == inputs.ndim and wanted.compatible(_shape(inputs.shape))
        if not free:
            raise ValueError(f"inputs of shape {inputs.shape[1:]} for a network that takes {wanted}")
        network = self._for_count(inputs.shape)
        return np.array(network(np.ascontiguousarray(inputs, np.float32))[0], np.float32)

    def _compiled(self, shape: tuple[int, ...]) -> Any:
        """The network for inputs of just this shape: known shapes run faster than free ones."""
        import openvino

        model = self._model.clone()
        model.reshape(list(shape))
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": self._precision}
        threads = self._threads or len(os.sched_getaffinity(0))
        return openvino.Core().compile_model(model, "CPU", {**settings, "INFERENCE_NUM_THREADS": threads})


def _shape(shape: tuple[int, ...]) -> Any:
    import openvino

    return openvino.PartialShape(list(shape))


def _read(path: Path) -> Any:
    import openvino

    try:
        return openvino.Core().read_model(path)
    except RuntimeError as error:
        raise BundleError(
            "bundle.damaged",
            "a network of the bundle cannot be read",
            seen=f"{path} ({str(error).strip().partition(chr(10))[0]})",
            do="copy the bundle again, or build it anew",
        ) from error
