"""How well photos are placed, and what that depends on."""
