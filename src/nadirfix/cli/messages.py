"""How every command prints: results on stdout, notes on stderr, errors as one line.

Names of files may hold anything: nothing of them may steer a terminal (ADR 59). Notes nobody can read stop no
work; answers that do not arrive are an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from nadirfix.errors import NadirfixError, OutputError
from nadirfix.files import FULL_DISK
from nadirfix.files.text import json_text, printable

__all__ = ["error_line", "give_up_stdout", "print_note", "print_result", "stdout_writer", "write_stderr"]


def print_result(result: Mapping[str, Any]) -> None:
    """The answer as one line of JSON on standard output; nothing else goes there."""
    stdout_writer()(json_text(result) + "\n")


def stdout_writer() -> Callable[[str], None]:
    """Writes to standard output at once, so that a program that reads it need not wait for the rest.

    The stream is the one of now: while a progress bar is drawn, what is printed goes elsewhere.
    """
    stream = sys.stdout

    def write(text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except (OSError, ValueError) as error:
            give_up_stdout()
            raise _unwritable(error) from error

    return write


def write_stderr(text: str) -> None:
    """One line for people, where anybody reads it."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def print_note(text: str, *, quiet: bool) -> None:
    """Something worth knowing that is no error, on standard error."""
    if not quiet:
        write_stderr(printable(f"nadirfix: {text}"))


def error_line(error: NadirfixError) -> str:
    """An error in one line: what was wrong, what was found, what to do, and its code."""
    return printable(f"nadirfix: {error} [{error.code}]")


def give_up_stdout() -> None:
    """What could not be written must not be tried again when the process ends."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _unwritable(error: OSError | ValueError) -> OutputError:
    full = isinstance(error, OSError) and error.errno in FULL_DISK
    return OutputError(
        "output.disk_full" if full else "output.unwritable",
        "the disk is full" if full else "the answer cannot be written",
        seen=f"standard output ({getattr(error, 'strerror', None) or error})",
        do="send it to a file with room for it, or to a program that reads all of it",
    )
