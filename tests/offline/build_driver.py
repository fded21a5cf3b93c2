"""Builds a bundle in a process of its own and kills it with kill -9 at chosen points (test_bundle_kill.py).

``python build_driver.py [--sheets] MAP OUT POINT...`` tries to build once for each point, in turn, each time
going on where the last try was killed; the last is left alone. Says what it saw as JSON. With ``--sheets``
nothing is trained, and references are cut from sheets.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bundles import RECIPE, SHEETS


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killing(function: Callable[..., Any], moment: str) -> Callable[..., Any]:
    def run(*arguments: Any, **settings: Any) -> Any:
        if moment == "before":
            die()
        done = function(*arguments, **settings)
        if moment == "after":
            die()
        return done

    return run


def arm(point: str) -> Callable[[str, int, int], None]:
    """Progress that kills at a step of a stage, or functions that kill when they are called."""
    where, _, moment = point.rpartition(" ")
    if moment in ("before", "after"):
        module, _, name = where.rpartition(".")
        home = importlib.import_module(module)
        setattr(home, name, killing(getattr(home, name), moment))
        return lambda *_: None
    return lambda stage, done, _: die() if (stage, done) == (where, int(moment)) else None


def build(map_path: str, out: str, point: str | None, *, sheets: bool) -> None:
    from nadirfix.offline import build_bundle

    progress = arm(point) if point else (lambda *_: None)
    recipe = SHEETS if sheets else RECIPE
    build_bundle(map_path, out, recipe=recipe, train=not sheets, resume=True, progress=progress)


def attempt(map_path: str, out: str, point: str | None, *, sheets: bool) -> int:
    """Build in a child that shares what is loaded; how it ended."""
    child = os.fork()
    if child == 0:
        build(map_path, out, point, sheets=sheets)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


#: What a build loads takes seconds, here once for all tries: torch, its exporter, and what reads and writes.
LOADED = [
    "nadirfix.offline",
    "nadirfix.offline.trained_networks",
    "torch._dynamo",
    "torch.onnx._internal.exporter._core",
    "onnxscript",
    "onnxruntime",
    "pandas",
    "pyarrow.parquet",
    "safetensors.torch",
]


def main(map_path: str, out: str, *points: str, sheets: bool) -> None:
    for name in LOADED:
        importlib.import_module(name)
    assert threading.active_count() == 1, "forking needs a process without threads"
    seen = []
    for point in [*points, None]:
        status = attempt(map_path, out, point, sheets=sheets)
        seen.append({"point": point, "status": status, "target": Path(out).exists()})
    print(json.dumps(seen))


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--sheets"]
    main(*given, sheets="--sheets" in sys.argv)
