"""A study: every photo of a test set placed in every way that is compared, measured, and shown."""
