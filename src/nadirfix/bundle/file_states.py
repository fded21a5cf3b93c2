"""Which files have been checked: remembered in the user's cache, so that nobody waits for it twice (ADR 54).

A file's state is where it lies on its disk, how long it is and when it was last written or moved. A file in a
state that was checked is not read again, for some days: what rots on a disk changes no times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from nadirfix.errors import OutputError
from nadirfix.files import atomic_file
from nadirfix.runtime.backend import cache_file

__all__ = ["known_states", "remember_states", "state_of"]

#: Of what is checked: whoever checks more begins anew.
_VERSION = 1
_FILE = "checked_parts.json"
#: So long a check is good for.
_DAYS = 7
#: A file written less than this before it was read may change once more without a trace in its times.
_SETTLED_S = 2.0
#: States that are kept, the latest ones.
_MOST = 5000
_LONGEST_FILE = 2**22


def state_of(path: Path) -> str:
    """The state a file is in; another one as soon as anything is written to it."""
    found = path.stat()
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def known_states() -> dict[str, tuple[str, float]]:
    """The SHA-256 of every state that was checked of late, and when that was.

    A cache that is broken is as good as none, and the next check renews it.
    """
    now_s = time.time()
    entries = {state: _entry(found) for state, found in _read().items()}
    return {s: e for s, e in entries.items() if e is not None and 0 <= now_s - e[1] < _DAYS * 86_400}


def remember_states(checked: Mapping[Path, tuple[str, str]], *, began_s: float) -> None:
    """Keep state and SHA-256 of files that were checked; those just written may change without a trace."""
    try:
        settled = {
            state: (sha256, began_s)
            for path, (state, sha256) in checked.items()
            if _settled(path, began_s) and state_of(path) == state
        }
    except OSError:  # a part that is gone meanwhile is in no state
        return
    if not settled:
        return
    latest = sorted({**known_states(), **settled}.items(), key=lambda item: -item[1][1])[:_MOST]
    _write(latest)


def _settled(path: Path, began_s: float) -> bool:
    found = path.stat()
    return max(found.st_mtime, found.st_ctime) < began_s - _SETTLED_S


def _write(states: Iterable[tuple[str, tuple[str, float]]]) -> None:
    """A cache that cannot be written is none."""
    text = json.dumps({"version": _VERSION, "states": dict(states)})
    with suppress(OSError, OutputError):
        target = cache_file().with_name(_FILE)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target, overwrite=True) as scratch:
            scratch.write_text(text, encoding="utf-8")


def _read() -> dict[str, object]:
    file = cache_file().with_name(_FILE)
    try:
        if not file.is_file() or file.stat().st_size > _LONGEST_FILE:
            return {}
        table = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    known = isinstance(table, dict) and table.get("version") == _VERSION
    states = table.get("states") if known else None
    return states if isinstance(states, dict) else {}


def _entry(found: object) -> tuple[str, float] | None:
    """The SHA-256 of a state and when it was checked; None where that is something else."""
    if not (isinstance(found, list) and len(found) == 2):
        return None
    sha256, checked_s = found
    known = isinstance(sha256, str) and isinstance(checked_s, int | float)
    return (sha256, float(checked_s)) if known else None
