"""How every command prints: results on stdout, notes on stderr, errors as one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nadirfix.errors import NadirfixError

__all__ = ["error_line", "print_note", "print_result"]


def print_result(result: Mapping[str, Any]) -> None:
    """The answer as one line of JSON on standard output; nothing else goes there."""
    print(json.dumps(result, allow_nan=False, ensure_ascii=False), flush=True)


def print_note(text: str, *, quiet: bool) -> None:
    """Something worth knowing that is no error, on standard error."""
    if not quiet:
        with suppress(BrokenPipeError):  # nobody reads the notes: the answers go on
            print(f"nadirfix: {text}", file=sys.stderr, flush=True)


def error_line(error: NadirfixError) -> str:
    """An error in one line: what was wrong, what was found, what to do, and its code."""
    return f"nadirfix: {error} [{error.code}]"
