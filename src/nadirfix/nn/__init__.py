"""Networks: encoders, aggregators, weights, training data and the one training loop."""
