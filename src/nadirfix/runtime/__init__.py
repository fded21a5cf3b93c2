"""Networks as functions: an array goes in, an array comes out, whatever library does the sums."""

from nadirfix.runtime.load import load_fastest, load_network
from nadirfix.runtime.network import Network
from nadirfix.runtime.ways import NetworkFiles

__all__ = ["Network", "NetworkFiles", "load_fastest", "load_network"]
