"""Training data: which views are sampled, how they are rendered, and how they are augmented."""
