"""Networks as functions: an array goes in, an array comes out, whatever library does the sums."""

from nadirfix.runtime.load import load_network
from nadirfix.runtime.network import Network

__all__ = ["Network", "load_network"]
