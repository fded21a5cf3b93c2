"""Networks as torch modules: encoders, aggregators, heads, and the weights they start from."""
