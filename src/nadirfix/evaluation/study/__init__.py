"""A study: every photo of a test set placed with every variant that is compared, measured, and reported."""
