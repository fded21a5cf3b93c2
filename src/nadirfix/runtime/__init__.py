"""Networks as functions: an array goes in, an array comes out, whatever library computes it."""

from nadirfix.runtime.backend import Backend, NetworkFiles
from nadirfix.runtime.load import load_backend, load_fastest, load_network
from nadirfix.runtime.network import Network

__all__ = ["Backend", "Network", "NetworkFiles", "load_backend", "load_fastest", "load_network"]
