"""Training data: which views are drawn, how they are rendered, and how another date changes them."""
