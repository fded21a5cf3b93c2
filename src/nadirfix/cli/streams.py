"""What a command begins with: signals that stop it in an orderly way, and streams that can be written to."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from types import FrameType
from typing import Any, TextIO, cast

from nadirfix.files.text import printable

__all__ = ["escaped_messages", "stop_on_sigterm", "usable_streams"]


@contextmanager
def stop_on_sigterm() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does: work is put in order, and the exit number says that it was stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def usable_streams() -> Iterator[None]:
    """A stream that came closed leads nowhere: else a file opened later would get what is printed.

    Writing to standard output is then an error: what it was to carry is lost.
    """
    for number in (0, 1, 2):
        with suppress(OSError):
            os.fstat(number)
            continue
        with suppress(OSError):
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    with ExitStack() as stack:
        if sys.stdout is None:
            stack.enter_context(redirect_stdout(cast(TextIO, _Closed())))
        if sys.stderr is None:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
            stack.enter_context(redirect_stderr(nowhere))
        yield


@contextmanager
def escaped_messages(arguments: Sequence[str]) -> Iterator[None]:
    """Where arguments could steer a terminal, whatever is said of them is escaped."""
    if all(printable(argument) == argument for argument in arguments):
        yield
        return
    with redirect_stderr(cast(TextIO, _Escaped(sys.stderr))):
        yield


class _Closed:
    """A stream that came closed."""

    encoding = "utf-8"

    def write(self, _text: str) -> int:
        """Nothing can be written here."""
        raise OSError(errno.EBADF, "it is closed")

    def flush(self) -> None:
        """There is nothing to be flushed."""

    def isatty(self) -> bool:
        """No terminal."""
        return False


class _Escaped:
    """A stream for text that may hold anything: line by line, and never as to a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text so that it moves no cursor."""
        self._stream.write("\n".join(map(printable, text.split("\n"))))
        return len(text)

    def isatty(self) -> bool:
        """Not to be drawn on."""
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
