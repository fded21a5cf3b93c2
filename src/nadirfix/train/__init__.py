"""Training networks: everything that needs torch (ADR 5)."""
