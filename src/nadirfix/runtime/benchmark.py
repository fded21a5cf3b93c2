"""Which backend runs a network fastest here with the same outputs: measured, in child processes (ADR 22).

A processor may advertise instructions that take a process down when they are used. Each backend therefore
runs in a child; a child that dies, hangs or gives other outputs loses, and what is always there stays.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.runtime.backend import Backend, NetworkFiles, possible_backends, remember
from nadirfix.runtime.load import load_backend
from nadirfix.runtime.network import Floats

__all__ = [
    "MIN_AGREEMENT",
    "SAME",
    "Trial",
    "cosine_similarity",
    "fastest_backend",
    "least_similarity",
    "top1_agreement",
]

#: How often the best score must be that of the same class, for a network to be as good in int8.
MIN_AGREEMENT = 0.97
#: The least cosine similarity of any output with the first backend's. Libraries that sum in another order
#: reach 1 − 1e-9; another precision does not come near (ADR 49).
SAME = 1 - 1e-6
_TURNS = 5
_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """How long a backend takes for one input and its outputs; why there are none, where there are not."""

    backend: Backend
    median_ms: float | None = None
    outputs: Floats | None = None
    open_ms: float | None = None  # from nothing to the first output, the library included
    why_not: str | None = None


def fastest_backend(
    files: NetworkFiles,
    examples: Floats,
    *,
    backends: Sequence[Backend] | None = None,
) -> Backend:
    """Measure all backends on these inputs, keep the result for this machine, and return the fastest.

    One whose outputs differ from the first one's by more than rounding loses, however fast it is.
    """
    trials = [_measured(files, backend, examples) for backend in backends or possible_backends(files)]
    reference = trials[0].outputs
    if reference is None:  # not even ONNX Runtime runs it: opening the network will raise the reason
        return trials[0].backend
    similarity = {t.backend: least_similarity(t.outputs, reference) for t in trials if t.outputs is not None}
    sound = [t for t in trials if t == trials[0] or similarity.get(t.backend, -1.0) >= SAME]
    best = min(sound, key=lambda t: t.median_ms or 0.0).backend
    records = {t.backend.name: _record(t, similarity.get(t.backend), sound=t in sound) for t in trials}
    remember(files, best, records)
    return best


def cosine_similarity(outputs: Floats, reference: Floats) -> float:
    """How alike two sets of outputs are: the cosine of each pair, at the 5th percentile."""
    if outputs.shape != reference.shape or not np.isfinite(outputs).all():
        return -1.0
    lengths = np.linalg.norm(outputs, axis=1) * np.linalg.norm(reference, axis=1)
    return float(np.percentile((outputs * reference).sum(axis=1) / np.maximum(lengths, 1e-12), 5))


def least_similarity(outputs: Floats, reference: Floats) -> float:
    """How alike the least alike of two sets of outputs are: a cosine, every number of an output counted."""
    if outputs.shape != reference.shape or not np.isfinite(outputs).all():
        return -1.0
    ours, theirs = (rows.reshape(len(rows), -1).astype(np.float64) for rows in (outputs, reference))
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float(((ours * theirs).sum(axis=1) / np.maximum(lengths, 1e-300)).min())


def top1_agreement(scores: Floats, reference: Floats) -> float:
    """How often both sets of scores have the same best class."""
    if scores.shape != reference.shape or not np.isfinite(scores).all():
        return -1.0
    return float((scores.argmax(axis=1) == reference.argmax(axis=1)).mean())


def _measured(files: NetworkFiles, backend: Backend, examples: Floats) -> Trial:
    """The backend's times and outputs, measured by a child of this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "inputs.npy", examples, allow_pickle=False)
        model = str(backend.file(files))
        command = [sys.executable, "-m", __name__, backend.library, backend.precision, model, name]
        try:
            child = subprocess.run(
                command,
                check=False,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Trial(backend, why_not=f"took more than {_LIMIT_S:.0f} s")
        if child.returncode != 0:
            return Trial(backend, why_not=_last_line(child.returncode, child.stderr))
        outputs = np.load(folder / "outputs.npy", allow_pickle=False)
        times = json.loads((folder / "times.json").read_text())
        return Trial(backend, times["median_ms"], outputs, times["open_ms"])


def _last_line(returncode: int, stderr: str) -> str:
    lines = stderr.strip().splitlines()[-1:] or ["without a message"]
    return f"ended with {returncode}: {lines[0][:200]}"


def _record(trial: Trial, similarity: float | None, *, sound: bool) -> dict[str, Any]:
    return {
        "median_ms": trial.median_ms,
        "open_ms": trial.open_ms,
        "likeness": similarity,
        "sound": sound,
        "why_not": trial.why_not,
    }


def _as_child(library: Any, precision: Any, file: str, name: str) -> None:
    """One backend, measured; the first inputs warm up."""
    backend, folder = Backend(library, precision), Path(name)
    files = NetworkFiles(Path(file), Path(file))
    examples, outputs, times = np.load(folder / "inputs.npy", allow_pickle=False), [], []
    open_ms = _opening_ms(files, backend, examples[:1])
    network = load_backend(files, backend, check=False)
    for turn in range(_TURNS):
        for i in range(len(examples)):
            began = time.perf_counter()
            output = network.run(examples[i : i + 1])
            times.append(1e3 * (time.perf_counter() - began))
            if turn == 0:
                outputs.append(output)
    np.save(folder / "outputs.npy", np.concatenate(outputs), allow_pickle=False)
    median_ms = statistics.median(times[len(examples) :])
    open_ms = max(0.0, open_ms - median_ms)
    (folder / "times.json").write_text(json.dumps({"median_ms": median_ms, "open_ms": open_ms}))


def _opening_ms(files: NetworkFiles, backend: Backend, first: Floats) -> float:
    """From nothing to the first output, as whoever uses the network waits for it: checked."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a backend that answers wrongly shows in its outputs
        load_backend(files, backend).run(first)
    return 1e3 * (time.perf_counter() - began)


if __name__ == "__main__":
    _as_child(*sys.argv[1:])
