"""Networks as functions: an array goes in, an array comes out, whatever library does the sums."""

from nadirfix.runtime.load import load_fastest, load_network, load_way
from nadirfix.runtime.network import Network
from nadirfix.runtime.ways import NetworkFiles, Way

__all__ = ["Network", "NetworkFiles", "Way", "load_fastest", "load_network", "load_way"]
