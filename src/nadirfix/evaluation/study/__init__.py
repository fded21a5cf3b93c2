"""A study: every photo of a test set located with every variant that is compared, measured, and reported."""
