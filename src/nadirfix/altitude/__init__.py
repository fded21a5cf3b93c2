"""How high: altitude classes, the network that tells them apart, its training."""
