"""Networks as functions: an array goes in, an array comes out, whatever library does the sums."""

from nadirfix.runtime.backend import NetworkFiles, Way
from nadirfix.runtime.load import load_fastest, load_network, load_way
from nadirfix.runtime.network import Network

__all__ = ["Network", "NetworkFiles", "Way", "load_fastest", "load_network", "load_way"]
