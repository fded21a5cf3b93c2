"""Weights that ship with the package, each with the command that made it in its own header."""

__all__: list[str] = []
