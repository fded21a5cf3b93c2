"""Opening a network file; the library that runs it is chosen here."""

from __future__ import annotations

from pathlib import Path

from nadirfix.errors import BundleError
from nadirfix.runtime.network import Network
from nadirfix.runtime.onnx import OnnxNetwork

__all__ = ["load_network"]

#: What the library takes as "one thread per core".
_EVERY_CORE = 0


def load_network(path: Path, *, threads: int = _EVERY_CORE) -> Network:
    """The network in this file, ready to run on so many threads (0: one per core)."""
    if not path.is_file():
        raise BundleError(
            "bundle.damaged",
            "a network of the bundle is missing",
            seen=str(path),
            do="copy the bundle again, or build it anew",
        )
    return OnnxNetwork(path, threads=threads)
