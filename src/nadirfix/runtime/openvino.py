"""Networks run by OpenVINO, where the ``fast`` extra is installed."""

from __future__ import annotations

import threading
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.errors import BundleError
from nadirfix.parallel import cores
from nadirfix.runtime.network import Floats
from nadirfix.runtime.onnx import OnnxNetwork
from nadirfix.runtime.signal_stack import own_signal_stack

__all__ = ["OpenVinoNetwork", "openvino_is_here"]


def openvino_is_here() -> bool:
    """Whether the library is installed; without importing it."""
    return find_spec("openvino") is not None


#: The least cosine similarity with ONNX Runtime's outputs; what was chosen by the benchmark has 1 − 1e-6.
_MIN_SIMILARITY = 0.9999
#: How often a compiled model that answers wrongly is compiled anew before ONNX Runtime does the work.
_TRIES = 3


class OpenVinoNetwork:
    """A network in an ONNX file with one input and one output; any number of pictures at a time.

    Compiling goes wrong now and then: on a busy machine one compiled model in some dozens of an int8
    network gave nonsense, the same for as long as it lived. So each is compared with ONNX Runtime once.
    """

    def __init__(self, path: Path, *, threads: int, check: bool = True) -> None:
        self._path, self._threads, self._check = path, threads, check
        self._model = _read(path)
        self._compiled_models: dict[tuple[int, ...], Any] = {}
        self._own, self._lock = threading.local(), threading.Lock()

    def run(self, inputs: Floats) -> Floats:
        """The network's output for each input of a batch, one row each."""
        expected = self._model.input(0).partial_shape
        if len(expected) != inputs.ndim or not expected.compatible(_shape(inputs.shape)):
            raise ValueError(f"inputs of shape {inputs.shape[1:]} for a network that takes {expected}")
        fixed = (inputs.shape[0], *map(_fixed_side, inputs.shape[1:], list(expected)[1:]))
        ready = np.ascontiguousarray(inputs, np.float32)
        with own_signal_stack():
            return _infer(self._request(fixed, ready), ready)

    def _request(self, shape: tuple[int, ...], inputs: Floats) -> Any:
        """The thread's own inference request: one serves a single thread at a time."""
        requests: dict[tuple[int, ...], Any] = self._own.__dict__.setdefault("requests", {})
        if shape not in requests:
            with self._lock:
                if shape not in self._compiled_models:
                    self._compiled_models[shape] = self._checked(shape, inputs)
                model = self._compiled_models[shape]
                requests[shape] = model if isinstance(model, OnnxNetwork) else model.create_infer_request()
        return requests[shape]

    def _checked(self, shape: tuple[int, ...], inputs: Floats) -> Any:
        """A model compiled for this shape that agrees with ONNX Runtime on the inputs; else ONNX Runtime."""
        if not self._check:
            return self._compiled(shape)
        reference = OnnxNetwork(self._path, threads=self._threads)
        expected = reference.run(inputs)
        for _ in range(_TRIES):
            compiled = self._compiled(shape)
            if _agrees(_infer(compiled.create_infer_request(), inputs), expected):
                return compiled
        warnings.warn(f"OpenVINO answers wrongly for {self._path.name}; ONNX Runtime is used", stacklevel=2)
        return reference

    def _compiled(self, shape: tuple[int, ...]) -> Any:
        """The network for inputs of just this shape: known shapes run faster than free ones.

        Sides the network leaves free stay so (-1): compiling it anew for each would take longer than it runs.
        """
        import openvino

        model = self._model.clone()
        model.reshape(list(shape))
        every = cores()
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",  # what is not int8; bfloat16 gives other answers
            "INFERENCE_NUM_THREADS": every,
            "NUM_STREAMS": max(1, every // (self._threads or every)),  # so many requests at once
        }
        return openvino.Core().compile_model(model, "CPU", settings)


def _infer(request: Any, inputs: Floats) -> Floats:
    if isinstance(request, OnnxNetwork):
        return request.run(inputs)
    return np.array(request.infer([inputs])[0], np.float32)


def _agrees(outputs: Floats, expected: Floats) -> bool:
    """Whether every output is what it should be, as far as precisions differ."""
    if outputs.shape != expected.shape or not np.isfinite(outputs).all():
        return False
    ours, theirs = (rows.reshape(len(rows), -1).astype(np.float64) for rows in (outputs, expected))
    length, expected_length = np.linalg.norm(ours, axis=1), np.linalg.norm(theirs, axis=1)
    similar = (ours * theirs).sum(axis=1) >= _MIN_SIMILARITY * length * expected_length
    same_size = (length <= 2 * expected_length) & (expected_length <= 2 * length)
    return bool((similar & same_size).all())


def _fixed_side(side: int, expected: Any) -> int:
    """A side as the network is compiled for it: its length, or -1 where any will do."""
    return side if expected.is_static else -1


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
