"""Where: the heads over cells, the place network, its training."""
