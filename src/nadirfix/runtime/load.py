"""Opening a network file; the library that runs it is chosen here."""

from __future__ import annotations

from pathlib import Path

from nadirfix.errors import BundleError
from nadirfix.runtime.backend import NetworkFiles, Way, remembered_way
from nadirfix.runtime.network import Network
from nadirfix.runtime.onnx import OnnxNetwork

__all__ = ["load_fastest", "load_network", "load_way"]

#: What the libraries take as "one thread per core".
_EVERY_CORE = 0
_OPENVINO_PRECISION = {"single": "f32", "eight_bit": "f32", "bfloat16": "bf16"}


def load_network(path: Path, *, threads: int = _EVERY_CORE) -> Network:
    """The network in this file, ready to run on so many threads (0: one per core)."""
    return load_way(NetworkFiles(path), Way(), threads=threads)


def load_fastest(files: NetworkFiles, *, threads: int = _EVERY_CORE, looks: int | None = None) -> Network:
    """The network, run in the way found fastest here; in single precision where nobody has measured.

    ``looks`` says how many pictures it will be shown, where that is known: for a few, opening counts.
    """
    return load_way(files, remembered_way(files, looks=looks) or Way(), threads=threads)


def load_way(files: NetworkFiles, way: Way, *, threads: int = _EVERY_CORE, check: bool = True) -> Network:
    """The network, run in this way; ``check`` leaves no wrong answer to it, which a trial wants to see."""
    path = way.file(files)
    if not path.is_file():
        raise BundleError(
            "bundle.damaged",
            "a network of the bundle is missing",
            seen=str(path),
            do="copy the bundle again, or build it anew",
        )
    if way.library == "openvino":
        from nadirfix.runtime.openvino import OpenVinoNetwork

        precision = _OPENVINO_PRECISION[way.precision]
        return OpenVinoNetwork(path, threads=threads, precision=precision, check=check)
    return OnnxNetwork(path, threads=threads)
