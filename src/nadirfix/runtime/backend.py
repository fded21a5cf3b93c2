"""The backends a network can be run with here: which library, in which precision.

The bundle says in which precision, for that may change an answer. Which library is fastest in it depends on
the processor, is measured once on each machine (``runtime.benchmark``) and kept in the user's cache (ADR 49).
Until then ONNX Runtime runs networks.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from nadirfix.errors import OutputError
from nadirfix.files import atomic_file
from nadirfix.parallel import cores
from nadirfix.runtime.openvino import openvino_is_here

__all__ = [
    "Backend",
    "NetworkFiles",
    "cache_file",
    "possible_backends",
    "remember",
    "remembered_backend",
]

#: Where the cache lies; set it to keep it elsewhere.
CACHE_VARIABLE = "NADIRFIX_CACHE"
_LIBRARIES = ("onnxruntime", "openvino")
#: No measurement takes longer: a number beyond was not measured.
_LONGEST_MS = 1e9


Precision = Literal["single", "eight_bit"]


@dataclass(frozen=True, slots=True)
class NetworkFiles:
    """One network: its file, the same in int8 where there is one, a name, and which of them runs."""

    float32: Path
    int8: Path | None = None
    name: str = ""  # a hash; without it nothing is remembered
    precision: Precision = "single"


@dataclass(frozen=True, slots=True)
class Backend:
    """A library, and the precision it computes in."""

    library: Literal["onnxruntime", "openvino"] = "onnxruntime"
    precision: Precision = "single"

    @property
    def name(self) -> str:
        """The backend in two words."""
        return f"{self.library} {self.precision}"

    def file(self, files: NetworkFiles) -> Path:
        """The file this backend opens."""
        chosen = files.int8 if self.precision == "eight_bit" else files.float32
        if chosen is None:
            raise ValueError("there is no int8 variant of this network")
        return chosen


def possible_backends(files: NetworkFiles) -> list[Backend]:
    """Every backend there is here for a network; the first is the one all others must agree with."""
    backends = [Backend(precision=files.precision)]
    return [*backends, Backend("openvino", files.precision)] if openvino_is_here() else backends


def remembered_backend(files: NetworkFiles, *, expected_runs: int | None = None) -> Backend | None:
    """The backend measured fastest on this machine; None where nobody has measured, or it is gone.

    Who knows how many inputs there will be gets what is soonest done with all of them, opening included: a
    library that is fastest in the long run may take a second to begin.
    """
    entry = _read().get(_key(files)) if files.name else None
    if not isinstance(entry, dict):
        return None
    cost_ms = {backend: _cost_ms(entry, backend, expected_runs) for backend in possible_backends(files)}
    known = {backend: cost for backend, cost in cost_ms.items() if cost is not None}
    if expected_runs is not None and known:
        return min(known, key=lambda backend: known[backend])
    return next((backend for backend in cost_ms if _entry(backend).items() <= entry.items()), None)


def _measured(entry: Any, backend: Backend) -> dict[str, Any]:
    """What was measured of a backend; nothing where nobody did, or the cache is broken."""
    measured = entry.get("measured") if isinstance(entry, dict) else None
    record = measured.get(backend.name) if isinstance(measured, dict) else None
    return record if isinstance(record, dict) else {}


def _cost_ms(entry: dict[str, Any], backend: Backend, expected_runs: int | None) -> float | None:
    """What so many inputs take, opening included; None where the backend was not sound or not measured."""
    record = _measured(entry, backend)
    if expected_runs is None or not record.get("sound"):
        return None
    times_ms = (record.get("open_ms"), record.get("median_ms"))
    if not all(isinstance(one, int | float) and 0 <= one < _LONGEST_MS for one in times_ms):
        return None
    return float(record["open_ms"]) + expected_runs * float(record["median_ms"])


def remember(files: NetworkFiles, backend: Backend, measured: dict[str, Any]) -> None:
    """Keep what was measured for this network on this machine; a cache that cannot be written is none."""
    table = {**_read(), _key(files): {**_entry(backend), "measured": measured}}
    text = json.dumps(table, indent=1, sort_keys=True) + "\n"
    with suppress(OSError, OutputError):
        cache_file().parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_file(), overwrite=True) as scratch:
            scratch.write_text(text, encoding="utf-8")


def cache_file() -> Path:
    """Where measurements are kept."""
    folder = os.environ.get(CACHE_VARIABLE)
    if folder:
        return Path(folder) / "backends.json"
    from platformdirs import user_cache_path

    return user_cache_path("nadirfix", appauthor=False) / "backends.json"


def _entry(backend: Backend) -> dict[str, str]:
    """The backend as the cache names it."""
    return {"library": backend.library, "precision": backend.precision}


def _key(files: NetworkFiles) -> str:
    """The network, the processor and the libraries: another of any of them is measured anew."""
    versions = [f"{name} {version}" for name in _LIBRARIES if (version := _version(name))]
    return " | ".join([files.name, files.precision, _processor(), f"{cores()} cores", *versions])


def _read() -> dict[str, Any]:
    """The whole cache; a broken one is as good as none, and the next measurement mends it."""
    try:
        # A pipe in its place would be waited for.
        table = json.loads(cache_file().read_text(encoding="utf-8")) if cache_file().is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _processor() -> str:
    """The processor's name, which Linux has in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _version(name: str) -> str | None:
    """The version of an installed library, from the name of the folder that says so.

    ``importlib.metadata`` takes as long as opening a network.
    """
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # an importer may raise instead of returning None
        spec = None
    if spec is None or not spec.submodule_search_locations:
        return None
    home = Path(spec.submodule_search_locations[0]).parent
    named = sorted(home.glob(f"{name}-*.dist-info"))
    if not named:
        return _version_from_metadata(name)
    return named[-1].name.removeprefix(f"{name}-").removesuffix(".dist-info")


def _version_from_metadata(name: str) -> str | None:
    """The same, from the standard library."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
