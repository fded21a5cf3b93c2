"""What every command says in the same way: results on stdout, remarks on stderr, errors as one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nadirfix.errors import NadirfixError

__all__ = ["explain", "print_result", "remark"]


def print_result(result: Mapping[str, Any]) -> None:
    """The answer as one line of JSON on standard output; nothing else goes there."""
    print(json.dumps(result, allow_nan=False, ensure_ascii=False), flush=True)


def remark(text: str, *, quiet: bool) -> None:
    """Something worth knowing that is no error, on standard error."""
    if not quiet:
        with suppress(BrokenPipeError):  # nobody listens to remarks: the answers go on
            print(f"nadirfix: {text}", file=sys.stderr, flush=True)


def explain(error: NadirfixError) -> str:
    """An error as the pilot reads it: what was wrong, what was seen, what to do, and its code."""
    return f"nadirfix: {error} [{error.code}]"
