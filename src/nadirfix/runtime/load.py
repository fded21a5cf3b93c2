"""Opening a network file; the library that runs it is chosen here."""

from __future__ import annotations

from pathlib import Path

from nadirfix.errors import BundleError
from nadirfix.runtime.backend import Backend, NetworkFiles, remembered_backend
from nadirfix.runtime.network import Network
from nadirfix.runtime.onnx import OnnxNetwork

__all__ = ["load_backend", "load_fastest", "load_network"]

#: What the libraries take as "one thread per core".
_EVERY_CORE = 0


def load_network(path: Path, *, threads: int = _EVERY_CORE) -> Network:
    """The network in this file, ready to run on so many threads (0: one per core)."""
    return load_backend(NetworkFiles(path), Backend(), threads=threads)


def load_fastest(
    files: NetworkFiles,
    *,
    threads: int = _EVERY_CORE,
    expected_runs: int | None = None,
    bounded: bool = False,
) -> Network:
    """The network with the backend measured fastest here, of those that agree; ONNX Runtime if nobody has.

    ``expected_runs`` says how many inputs it will be given, where that is known: for a few, opening counts.
    """
    backend = remembered_backend(files, expected_runs=expected_runs) or Backend(precision=files.precision)
    return load_backend(files, backend, threads=threads, bounded=bounded)


def load_backend(
    files: NetworkFiles,
    backend: Backend,
    *,
    threads: int = _EVERY_CORE,
    check: bool = True,
    bounded: bool = False,
) -> Network:
    """The network with this backend; ``check`` replaces one that answers wrongly, but not in a benchmark.

    ``bounded`` networks, which others may have made, share a limited memory where ONNX Runtime runs them.
    """
    path = backend.file(files)
    if not path.is_file():
        raise BundleError(
            "bundle.damaged",
            "a network of the bundle is missing",
            seen=str(path),
            do="copy the bundle again, or build it anew",
        )
    if backend.library == "openvino":
        from nadirfix.runtime.openvino import OpenVinoNetwork

        return OpenVinoNetwork(path, threads=threads, check=check)
    return OnnxNetwork(path, threads=threads, bounded=bounded)
