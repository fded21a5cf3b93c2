"""How well photos are located, and what that depends on."""
