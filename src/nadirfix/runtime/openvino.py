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
    """Whether the library is installed; it is not imported for the question."""
    return find_spec("openvino") is not None


#: The least cosine of an answer with ONNX Runtime's to the same; eight bits and bfloat16 have 0.99 and more.
_ALIKE = 0.95
#: How often a form that says something else is made anew before the other library does the work.
_TRIES = 3


class OpenVinoNetwork:
    """A network in an ONNX file with one input and one output; any number of pictures at a time.

    Compiling goes wrong now and then: on a busy machine one form in some dozens of an eight-bit network was
    seen to answer nonsense, the same for as long as it lived. So each is asked what ONNX Runtime is asked.
    """

    def __init__(self, path: Path, *, threads: int, precision: str = "f32", check: bool = True) -> None:
        self._path, self._threads, self._precision, self._check = path, threads, precision, check
        self._model = _read(path)
        self._sound: dict[tuple[int, ...], Any] = {}
        self._own, self._lock = threading.local(), threading.Lock()

    def run(self, inputs: Floats) -> Floats:
        """What the network says about each input of a batch, one row each."""
        wanted = self._model.input(0).partial_shape
        free = len(wanted) == inputs.ndim and wanted.compatible(_shape(inputs.shape))
        if not free:
            raise ValueError(f"inputs of shape {inputs.shape[1:]} for a network that takes {wanted}")
        fixed = (inputs.shape[0], *map(_fixed, inputs.shape[1:], list(wanted)[1:]))
        ready = np.ascontiguousarray(inputs, np.float32)
        with own_signal_stack():
            return _answer(self._request(fixed, ready), ready)

    def _request(self, shape: tuple[int, ...], inputs: Floats) -> Any:
        """What this thread asks by: a request answers one thread at a time."""
        requests: dict[tuple[int, ...], Any] = self._own.__dict__.setdefault("requests", {})
        if shape not in requests:
            with self._lock:
                if shape not in self._sound:
                    self._sound[shape] = self._checked(shape, inputs)
                found = self._sound[shape]
                requests[shape] = found if isinstance(found, OnnxNetwork) else found.create_infer_request()
        return requests[shape]

    def _checked(self, shape: tuple[int, ...], inputs: Floats) -> Any:
        """A form for this shape that says what ONNX Runtime says to its first inputs; else ONNX Runtime."""
        if not self._check:
            return self._compiled(shape)
        usual = OnnxNetwork(self._path, threads=self._threads)
        wanted = usual.run(inputs)
        for _ in range(_TRIES):
            compiled = self._compiled(shape)
            if _alike(_answer(compiled.create_infer_request(), inputs), wanted):
                return compiled
        warnings.warn(f"OpenVINO answers wrongly for {self._path.name}; ONNX Runtime is used", stacklevel=2)
        return usual

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


def _answer(asked: Any, inputs: Floats) -> Floats:
    if isinstance(asked, OnnxNetwork):
        return asked.run(inputs)
    return np.array(asked.infer([inputs])[0], np.float32)


def _alike(said: Floats, wanted: Floats) -> bool:
    """Whether every answer is what it should be, as far as precisions differ."""
    if said.shape != wanted.shape or not np.isfinite(said).all():
        return False
    ours, theirs = (rows.reshape(len(rows), -1).astype(np.float64) for rows in (said, wanted))
    long, wanted_long = np.linalg.norm(ours, axis=1), np.linalg.norm(theirs, axis=1)
    same_way = (ours * theirs).sum(axis=1) >= _ALIKE * long * wanted_long
    same_size = (long <= 2 * wanted_long) & (wanted_long <= 2 * long)
    return bool((same_way & same_size).all())


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
