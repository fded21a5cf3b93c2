"""Which way of running a network is fastest here and still says the same: measured, in child processes.

A processor may advertise instructions that take a process down when they are used. Each way therefore runs in
a child; a child that dies, hangs or says something else loses, and the way that is always there stays.
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

from nadirfix.runtime.backend import NetworkFiles, Way, possible_ways, remember
from nadirfix.runtime.load import load_way
from nadirfix.runtime.network import Floats

__all__ = ["SAME_ENOUGH", "STEADY", "Trial", "fastest_way", "likeness", "same_best"]

#: What a way's answers must have in common with single precision, as a cosine at the 5th percentile; and how
#: often the best score must be that of the same class, where answers are scores.
LIKE_ENOUGH, SAME_ENOUGH = 0.98, 0.97
#: The same where an answer hangs on the last of its candidates: below, most photos would be looked at twice.
STEADY = 0.9995
#: Whoever takes no longer than this many times the fastest is nearly as fast; then likeness decides.
NEARLY = 1.25
_TURNS = 5
_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """How long one input takes in a way and what came out; why there is nothing, where there is not."""

    way: Way
    median_ms: float | None = None
    outputs: Floats | None = None
    open_ms: float | None = None  # from nothing to the first answer, the library included
    why_not: str | None = None


def fastest_way(
    files: NetworkFiles,
    examples: Floats,
    *,
    scores: bool = False,
    steady: bool = False,
    ways: Sequence[Way] | None = None,
) -> Way:
    """Measure all ways on these inputs, keep the result for this machine, and say which is fastest.

    Of ``scores`` only the best counts; of anything else, all of it. A ``steady`` network must hardly differ.
    """
    trials = [_tried(files, way, examples) for way in ways or possible_ways(files)]
    wanted = trials[0].outputs
    if wanted is None:  # not even the usual way runs: whoever opens the network will be told why
        return trials[0].way
    compare, enough = (same_best, SAME_ENOUGH) if scores else (likeness, STEADY if steady else LIKE_ENOUGH)
    like = {t.way: compare(t.outputs, wanted) for t in trials if t.outputs is not None}
    sound = [t for t in trials if t.median_ms is not None and like[t.way] >= enough]
    best = _preferred([(t.way, t.median_ms or 0.0, like[t.way]) for t in sound])
    remember(files, best, {t.way.name: _about(t, like.get(t.way), sound=t in sound) for t in trials})
    return best


def _preferred(sound: Sequence[tuple[Way, float, float]]) -> Way:
    """Of the ways nearly as fast as the fastest, the one that says most nearly the same."""
    soonest_ms = min(median_ms for _, median_ms, _ in sound)
    near = [way for way in sound if way[1] <= NEARLY * soonest_ms]
    return max(near, key=lambda way: (way[2], -way[1]))[0]


def likeness(said: Floats, wanted: Floats) -> float:
    """How alike two sets of answers are: the cosine of each pair, at the 5th percentile."""
    if said.shape != wanted.shape or not np.isfinite(said).all():
        return -1.0
    lengths = np.linalg.norm(said, axis=1) * np.linalg.norm(wanted, axis=1)
    return float(np.percentile((said * wanted).sum(axis=1) / np.maximum(lengths, 1e-12), 5))


def same_best(said: Floats, wanted: Floats) -> float:
    """How often both sets of scores have the same best one."""
    if said.shape != wanted.shape or not np.isfinite(said).all():
        return -1.0
    return float((said.argmax(axis=1) == wanted.argmax(axis=1)).mean())


def _tried(files: NetworkFiles, way: Way, examples: Floats) -> Trial:
    """The way's answers, given by a child of this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "inputs.npy", examples, allow_pickle=False)
        command = [sys.executable, "-m", __name__, way.library, way.precision, str(way.file(files)), name]
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
            return Trial(way, why_not=f"took more than {_LIMIT_S:.0f} s")
        if child.returncode != 0:
            return Trial(way, why_not=_last_words(child.returncode, child.stderr))
        said = np.load(folder / "outputs.npy", allow_pickle=False)
        times = json.loads((folder / "times.json").read_text())
        return Trial(way, times["median_ms"], said, times["open_ms"])


def _last_words(returncode: int, stderr: str) -> str:
    said = stderr.strip().splitlines()[-1:] or ["without a word"]
    return f"ended with {returncode}: {said[0][:200]}"


def _about(trial: Trial, like: float | None, *, sound: bool) -> dict[str, Any]:
    return {
        "median_ms": trial.median_ms,
        "open_ms": trial.open_ms,
        "likeness": like,
        "sound": sound,
        "why_not": trial.why_not,
    }


def _as_child(library: Any, precision: Any, file: str, name: str) -> None:
    """One way, measured; the first inputs warm up."""
    way, folder = Way(library, precision), Path(name)
    files = NetworkFiles(Path(file), Path(file))
    examples, said, times = np.load(folder / "inputs.npy", allow_pickle=False), [], []
    open_ms = _opening_ms(files, way, examples[:1])
    network = load_way(files, way, check=False)
    for turn in range(_TURNS):
        for i in range(len(examples)):
            began = time.perf_counter()
            answer = network.run(examples[i : i + 1])
            times.append(1e3 * (time.perf_counter() - began))
            if turn == 0:
                said.append(answer)
    np.save(folder / "outputs.npy", np.concatenate(said), allow_pickle=False)
    median_ms = statistics.median(times[len(examples) :])
    open_ms = max(0.0, open_ms - median_ms)
    (folder / "times.json").write_text(json.dumps({"median_ms": median_ms, "open_ms": open_ms}))


def _opening_ms(files: NetworkFiles, way: Way, first: Floats) -> float:
    """From nothing to the first answer, as whoever uses the network waits for it: checked."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a way that answers wrongly shows in its answers
        load_way(files, way).run(first)
    return 1e3 * (time.perf_counter() - began)


if __name__ == "__main__":
    _as_child(*sys.argv[1:])
