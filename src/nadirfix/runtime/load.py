"""Opening a network file; the library that runs it is chosen here."""

from __future__ import annotations

from pathlib import Path

from nadirfix.errors import BundleError
from nadirfix.options import LocateOptions
from nadirfix.runtime.network import Network
from nadirfix.runtime.onnx import OnnxNetwork

__all__ = ["load_network"]

#: The one home of the default is the options; a bundle opened on its own takes the same.
_THREADS = LocateOptions().threads


def load_network(path: Path, *, threads: int = _THREADS) -> Network:
    """The network in this file, ready to run on so many threads (0: one per core)."""
    if not path.is_file():
        raise BundleError(
            "bundle.damaged",
            "a network of the bundle is missing",
            seen=str(path),
            do="copy the bundle again, or build it anew",
        )
    return OnnxNetwork(path, threads=threads)
