"""The ways a network can be run here: which library, in which precision.

Which of them is fastest depends on the processor and not on the bundle: it is found out once on each machine
(``runtime.probe``) and kept in the user's cache. Until then ONNX Runtime runs networks in single precision:
eight bits are faster on some processors and for some networks only.
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
    "NetworkFiles",
    "Way",
    "cache_file",
    "possible_ways",
    "remember",
    "remembered_likeness",
    "remembered_way",
]

#: Where the cache lies; set it to keep it elsewhere.
CACHE_VARIABLE = "NADIRFIX_CACHE"
_LIBRARIES = ("onnxruntime", "openvino")


@dataclass(frozen=True, slots=True)
class NetworkFiles:
    """One network: its file, the same in eight bits where there is one, and a name for both."""

    single: Path
    eight_bit: Path | None = None
    name: str = ""  # a hash; without it nothing is remembered


@dataclass(frozen=True, slots=True)
class Way:
    """A library, and what it is to count in."""

    library: Literal["onnxruntime", "openvino"] = "onnxruntime"
    precision: Literal["single", "eight_bit", "bfloat16"] = "single"

    @property
    def name(self) -> str:
        """The way in two words."""
        return f"{self.library} {self.precision}"

    def file(self, files: NetworkFiles) -> Path:
        """The file this way opens."""
        chosen = files.eight_bit if self.precision == "eight_bit" else files.single
        if chosen is None:
            raise ValueError("there is no eight-bit form of this network")
        return chosen


def possible_ways(files: NetworkFiles) -> list[Way]:
    """Every way there is here to run a network; the first is the one all others are compared with."""
    ways = [Way()]
    if files.eight_bit is not None:
        ways.append(Way(precision="eight_bit"))
    if openvino_is_here():
        ways += [Way("openvino"), Way("openvino", "bfloat16")]
        ways += [Way("openvino", "eight_bit")] if files.eight_bit is not None else []
    return ways


def remembered_way(files: NetworkFiles, *, looks: int | None = None) -> Way | None:
    """What was found fastest on this machine; None where nobody has measured, or it is gone.

    Who says how many pictures will be looked at gets what is soonest done with all of them, opening included:
    a library that is fastest in the long run may take a second to begin.
    """
    said = _read().get(_key(files)) if files.name else None
    if not isinstance(said, dict):
        return None
    ways = {way: _cost_ms(said, way, looks) for way in possible_ways(files)}
    known = {way: cost_ms for way, cost_ms in ways.items() if cost_ms is not None}
    if looks is not None and known:
        return min(known, key=lambda way: known[way])
    found = [way for way in ways if _told(way) == {k: said.get(k) for k in _told(way)}]
    return found[0] if found else None


def remembered_likeness(files: NetworkFiles, way: Way) -> float:
    """The cosine of what this way says with what single precision says, as it was measured here."""
    said = _read().get(_key(files)) if files.name else None
    found = _measured(said, way).get("likeness")
    return float(found) if isinstance(found, int | float) and way.precision != "single" else 1.0


def _measured(said: Any, way: Way) -> dict[str, Any]:
    """What was measured of a way; nothing where nobody did, or the cache is broken."""
    measured = said.get("measured") if isinstance(said, dict) else None
    about = measured.get(way.name) if isinstance(measured, dict) else None
    return about if isinstance(about, dict) else {}


def _cost_ms(said: dict[str, Any], way: Way, looks: int | None) -> float | None:
    """What so many looks in this way take, opening included; None where it was not sound or not measured."""
    about = _measured(said, way)
    if looks is None or not about.get("sound"):
        return None
    times_ms = (about.get("open_ms"), about.get("median_ms"))
    if not all(isinstance(one, int | float) for one in times_ms):
        return None
    return float(about["open_ms"]) + looks * float(about["median_ms"])


def remember(files: NetworkFiles, way: Way, measured: dict[str, Any]) -> None:
    """Keep what was measured for this network on this machine; a cache that cannot be written is none."""
    table = {**_read(), _key(files): {**_told(way), "measured": measured}}
    text = json.dumps(table, indent=1, sort_keys=True) + "\n"
    with suppress(OSError, OutputError):
        cache_file().parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_file(), overwrite=True) as scratch:
            scratch.write_text(text, encoding="utf-8")


def cache_file() -> Path:
    """Where measurements are kept."""
    told = os.environ.get(CACHE_VARIABLE)
    if told:
        return Path(told) / "backends.json"
    from platformdirs import user_cache_path

    return user_cache_path("nadirfix", appauthor=False) / "backends.json"


def _told(way: Way) -> dict[str, str]:
    return {"library": way.library, "precision": way.precision}


def _key(files: NetworkFiles) -> str:
    """The network, the processor and the libraries: another of any of them is another question."""
    versions = [f"{name} {found}" for name in _LIBRARIES if (found := _version(name))]
    forms = "eight_bit" if files.eight_bit else "single"
    return " | ".join([files.name, forms, _processor(), f"{cores()} cores", *versions])


def _read() -> dict[str, Any]:
    """The whole cache; a broken one is as good as none, and the next measurement mends it."""
    try:
        table = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


def _processor() -> str:
    """The processor's name, which Linux tells in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _version(name: str) -> str | None:
    """The version of an installed library, from the name of the folder that says so.

    Python's own way to ask takes as long as opening a network.
    """
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:  # an importer may say so in this way, too
        spec = None
    if spec is None or not spec.submodule_search_locations:
        return None
    home = Path(spec.submodule_search_locations[0]).parent
    named = sorted(home.glob(f"{name}-*.dist-info"))
    return named[-1].name.removeprefix(f"{name}-").removesuffix(".dist-info") if named else _asked(name)


def _asked(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
