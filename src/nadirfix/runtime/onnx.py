"""Networks run by ONNX Runtime: no torch needed, the same numbers on every run."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nadirfix.errors import BundleError
from nadirfix.parallel import cores
from nadirfix.runtime.network import Floats

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["OnnxNetwork", "inferred_shapes"]

#: ONNX Runtime's own numbering; below this it writes into the pilot's terminal.
_ERRORS_ONLY, _FATAL_ONLY = 3, 4
#: Memory that all networks of bundles share, for each core, and at least: weights and what they compute with.
#: One photo at a time needs a fifth of it.
_BYTES_PER_CORE, _LEAST_BYTES = 3 * 2**28, 3 * 2**29


class OnnxNetwork:
    """A network in an ONNX file with one input and one output."""

    def __init__(self, path: Path, *, threads: int, bounded: bool = False) -> None:
        self._session = _session(path, threads, bounded=bounded)
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


def _library() -> Any:
    """ONNX Runtime; newer releases report on their use to their maker unless told not to before they load."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


class _Memory:
    """What networks of bundles may use together; set up once, when the first one is opened."""

    def __init__(self) -> None:
        self._lock, self._is_bounded = threading.Lock(), False

    def bound(self) -> None:
        """Ask ONNX Runtime to refuse more than that: a network may need any amount."""
        with self._lock:
            if self._is_bounded:
                return
            ort = _library()
            limits = {"max_mem": max(_LEAST_BYTES, cores() * _BYTES_PER_CORE), "arena_extend_strategy": -1}
            unset = {"initial_chunk_size_bytes": -1, "max_dead_bytes_per_chunk": -1}
            arena, kind = ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, ort.OrtMemType.DEFAULT
            info = ort.OrtMemoryInfo("Cpu", arena, 0, kind)
            ort.create_and_register_allocator(info, ort.OrtArenaCfg({**limits, **unset}))
            self._is_bounded = True


_MEMORY = _Memory()


def inferred_shapes(network: bytes) -> dict[str, tuple[int | str | None, ...]]:
    """The shapes of a network's outputs, where they can be inferred; nothing is computed.

    ``ValueError`` where ONNX Runtime cannot open it.
    """
    ort = _library()
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = 1
    settings.log_severity_level = _FATAL_ONLY
    try:
        session = ort.InferenceSession(network, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a dozen of its own
        raise ValueError(str(error).partition("\n")[0][:200]) from error
    return {one.name: tuple(one.shape) for one in session.get_outputs()}


def _session(path: Path, threads: int, *, bounded: bool) -> onnxruntime.InferenceSession:
    ort = _library()
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads or cores()
    # Threads that spin while they wait cost twice the time as soon as anything else runs on the machine.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.log_severity_level = _FATAL_ONLY if bounded else _ERRORS_ONLY
    if bounded:  # what goes wrong is told by an error of the bundle
        _MEMORY.bound()
        settings.add_session_config_entry("session.use_env_allocators", "1")
    try:
        return ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has a dozen of its own, one per way a file can be broken
        raise _damaged(path, str(error).partition("\n")[0]) from error


def _damaged(path: Path, why: str) -> BundleError:
    return BundleError(
        "bundle.damaged",
        "a network of the bundle cannot be read",
        seen=f"{path} ({why})",
        do="copy the bundle again, or build it anew",
    )
