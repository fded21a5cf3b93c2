"""Photos that are sent: bodies read within a memory budget, forms, batches, and the lines of the response."""
