"""One tampered bundle after the other, opened and asked for a photo in one process; a line each on stdout.

Run by ``bench/speed/bundle_fuzz.py`` as a child, so that a hang or a crash ends a child and not the run.
"""

from __future__ import annotations

import json
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.bundle import Bundle
from nadirfix.errors import BundleError, NadirfixError
from nadirfix.online import locate
from nadirfix.types import View
from tests.hostile_bundles import tampered

__all__ = ["main", "outcome", "run_cases", "whole_answer"]


def run_cases(whole: Path, photo: Path, folder: Path, *, seed: int, first: int, count: int) -> None:
    """Cases of these numbers; each draws from its own seed, so that one alone can be repeated."""
    for number in range(first, first + count):
        draw, target = np.random.default_rng([seed, number]), folder / f"{number}.nadir"
        print(json.dumps({"began": number}), flush=True)
        kind = tampered(whole, target, draw)
        before = sorted(p.name for p in target.iterdir())
        began_s = time.process_time()
        found = outcome(target, photo)
        line = {"case": number, "kind": kind, **found, "seconds": round(time.process_time() - began_s, 3)}
        line["left_behind"] = sorted(p.name for p in target.iterdir()) != before
        line["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        shutil.rmtree(target)
        print(json.dumps(line), flush=True)


def outcome(bundle: Path, photo: Path) -> dict[str, Any]:
    """What a photo gets from a bundle: an answer, an error with its code, or something nobody explained."""
    try:
        opened = Bundle.load(bundle)
        fix = locate(photo, bundle=opened)
        texture = opened.texture
        texture.render(View(texture.center, 150.0), opened.camera, (64, 48))
    except BundleError as error:
        return {"code": error.code, "text": error.message[:200]}
    except NadirfixError as error:  # the photo is a good one
        return {"code": f"blames something else: {error.code}", "text": error.message[:200]}
    except Exception as error:  # what would be an internal error
        return {"code": "unexplained", "text": f"{type(error).__name__}: {error}"[:300]}
    json.dumps(fix.to_dict(), allow_nan=False)
    return {"code": "answered", "text": fix.status}


def whole_answer(bundle: Path, photo: Path) -> dict[str, Any]:
    """All that is answered, but for how long it took."""
    answer = locate(photo, bundle=Bundle.load(bundle)).to_dict()
    return {key: value for key, value in answer.items() if key != "timings_ms"}


def main(arguments: list[str]) -> None:
    """A child's cases, by its arguments."""
    whole, photo, folder = map(Path, arguments[:3])
    seed, first, count = map(int, arguments[3:])
    run_cases(whole, photo, folder, seed=seed, first=first, count=count)
