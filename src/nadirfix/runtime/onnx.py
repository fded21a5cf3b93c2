"""Networks run by ONNX Runtime: no torch needed, the same numbers on every run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nadirfix.errors import BundleError
from nadirfix.parallel import cores
from nadirfix.runtime.network import Floats

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["OnnxNetwork"]

#: ONNX Runtime's own numbering; below this it writes into the pilot's terminal.
_ERRORS_ONLY = 3


class OnnxNetwork:
    """A network in an ONNX file with one input and one output."""

    def __init__(self, path: Path, *, threads: int) -> None:
        self._session = _session(path, threads)
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or len(outputs) != 1:
            raise _damaged(path, f"{len(inputs)} inputs and {len(outputs)} outputs instead of one each")
        self._input, self._shape = inputs[0].name, tuple(inputs[0].shape[1:])

    @property
    def input_shape(self) -> tuple[int | str, ...]:
        """The shape of one input: channels, rows, columns; a name stands for a side that is free."""
        return self._shape

    def run(self, inputs: Floats) -> Floats:
        """The network's output for each input of a batch, one row each."""
        if not _fits(inputs.shape[1:], self._shape):
            raise ValueError(f"inputs of shape {inputs.shape[1:]} for a network that takes {self._shape}")
        batch = np.ascontiguousarray(inputs, np.float32)
        (outputs,) = self._session.run(None, {self._input: batch})
        return np.asarray(outputs, np.float32)


def _fits(shape: tuple[int, ...], expected: tuple[int | str, ...]) -> bool:
    pairs = zip(shape, expected, strict=False)
    return len(shape) == len(expected) and all(isinstance(e, str) or s == e for s, e in pairs)


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    # Newer releases report on their use to their maker unless told not to before they load.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads or cores()
    # Threads that spin while they wait cost twice the time as soon as anything else runs on the machine.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.log_severity_level = _ERRORS_ONLY
    try:
        return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a dozen of its own, one per way a file can be broken
        raise _damaged(path, str(error).partition("\n")[0]) from error


def _damaged(path: Path, why: str) -> BundleError:
    return BundleError(
        "bundle.damaged",
        "a network of the bundle cannot be read",
        seen=f"{path} ({why})",
        do="copy the bundle again, or build it anew",
    )
