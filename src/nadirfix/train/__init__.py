"""Training networks: everything that needs torch."""
