"""Who may use the service: tokens, origins, and connections that are too slow."""
