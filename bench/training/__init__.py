"""Networks that are trained: the published method on one map, and networks for maps nobody trained on."""
