"""How fast, how large, how much load."""
