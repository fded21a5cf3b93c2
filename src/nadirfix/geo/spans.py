"""Dividing an axis into spans of equal length."""

from __future__ import annotations

__all__ = ["even_spans"]


def even_spans(count: int, parts: int) -> list[slice]:
    """So many spans that cover the count, all of one length; they overlap where it does not divide."""
    return [slice(i * count // parts, -(-(i + 1) * count // parts)) for i in range(parts)]
