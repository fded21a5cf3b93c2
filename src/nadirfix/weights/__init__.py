"""Weights that ship with the package, each with the command that made it in its own header (ADR 41)."""

__all__: list[str] = []
