"""The stack signals are handled on: kept from a library that leaves a thread with one it has thrown away."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["own_signal_stack"]


class _Stack(ctypes.Structure):
    """The argument and result of sigaltstack(2)."""

    _fields_ = (("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


@contextmanager
def own_signal_stack() -> Iterator[None]:
    """Whatever is done meanwhile, afterwards this thread handles signals where it did before.

    OpenVINO gives each thread that runs it a stack for signals, and unmaps it with the network: the next
    Ctrl-C would end the process with a segmentation fault.
    """
    change = _sigaltstack()
    before = _Stack()
    if change is None or change(None, ctypes.byref(before)) != 0:
        yield
        return
    try:
        yield
    finally:
        change(ctypes.byref(before), None)


@cache
def _sigaltstack() -> Any:
    """The system's call; None where it has none."""
    try:
        return ctypes.CDLL(None).sigaltstack
    except (AttributeError, OSError, TypeError):  # not a Unix
        return None
