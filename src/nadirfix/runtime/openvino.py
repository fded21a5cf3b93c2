"""Networks run by OpenVINO, where the ``fast`` extra is installed."""

from __future__ import annotations

import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.ahead import cores
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
        self._for_shape = cache(self._compiled)
        self._own, self._lock = threading.local(), threading.Lock()

    def run(self, inputs: Floats) -> Floats:
        """What the network says about each input of a batch, one row each."""
        wanted = self._model.input(0).partial_shape
        free = len(wanted) == inputs.ndim and wanted.compatible(_shape(inputs.shape))
        if not free:
            raise ValueError(f"inputs of shape {inputs.shape[1:]} for a network that takes {wanted}")
        fixed = (inputs.shape[0], *map(_fixed, inputs.shape[1:], list(wanted)[1:]))
        said = self._request(fixed).infer([np.ascontiguousarray(inputs, np.float32)])
        return np.array(said[0], np.float32)

    def _request(self, shape: tuple[int, ...]) -> Any:
        """What this thread asks by: a request answers one thread at a time."""
        requests: dict[tuple[int, ...], Any] = self._own.__dict__.setdefault("requests", {})
        if shape not in requests:
            with self._lock:
                requests[shape] = self._for_shape(shape).create_infer_request()
        return requests[shape]

    def _compiled(self, shape: tuple[int, ...]) -> Any:
        """The network for inputs of just this shape: known shapes run faster than free ones.

        Sides the network leaves free stay so (-1): compiling it anew for each would take longer than it runs.
        """
        import openvino

        model = self._model.clone()
        model.reshape(list(shape))
        every = cores()
        settings = {
            "INFERENCE_PRECISION_HINT": self._precision,
            "INFERENCE_NUM_THREADS": every,
            "NUM_STREAMS": max(1, every // (self._threads or every)),  # so many may ask at once
        }
        return openvino.Core().compile_model(model, "CPU", settings)


def _fixed(side: int, wanted: Any) -> int:
    """A side as the network is compiled for it: its length, or -1 where any will do."""
    return side if wanted.is_static else -1


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
