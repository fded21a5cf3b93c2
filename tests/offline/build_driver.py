"""Builds a bundle in a process of its own and kills it with kill -9 at chosen points (test_build_kill.py).

``python build_driver.py [--mosaics] MAP OUT POINT...`` tries to build once for each point, in turn, each time
going on where the last try was killed; the last is left alone. Prints how each ended as JSON. With
``--mosaics`` nothing is trained, and references are cut from mosaics.
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

from tests.bundles import MOSAICS, RECIPE


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


def build(map_path: str, out: str, point: str | None, *, mosaics: bool) -> None:
    from nadirfix.offline import build_bundle

    progress = arm(point) if point else (lambda *_: None)
    recipe = MOSAICS if mosaics else RECIPE
    build_bundle(map_path, out, recipe=recipe, train=not mosaics, resume=True, progress=progress)


def attempt(map_path: str, out: str, point: str | None, *, mosaics: bool) -> int:
    """Build in a child that shares what is loaded; how it ended."""
    child = os.fork()
    if child == 0:
        build(map_path, out, point, mosaics=mosaics)
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
    "safetensors.torch",
]


def main(map_path: str, out: str, *points: str, mosaics: bool) -> None:
    for name in LOADED:
        importlib.import_module(name)
    assert threading.active_count() == 1, "forking needs a process without threads"
    tries = []
    for point in [*points, None]:
        status = attempt(map_path, out, point, mosaics=mosaics)
        tries.append({"point": point, "status": status, "target": Path(out).exists()})
    print(json.dumps(tries))


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if word != "--mosaics"]
    main(*given, mosaics="--mosaics" in sys.argv)
