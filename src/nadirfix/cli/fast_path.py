"""The usual way to call ``locate``, read without the library that reads command lines.

That library takes a tenth of a second to load, as long as placing a photo. Whatever is not plainly written
(help, a typing error, ``--name=value``) is left to it, so that there is one place that explains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nadirfix.cli.locating import Asked, Format

__all__ = ["plainly_asked"]

_FLAGS = {
    "--no-wce": "no_wce",
    "--no-verify": "no_verify",
    "--overwrite": "overwrite",
    "--quiet": "quiet",
}
_VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--bundle": ("bundle", Path),
    "--camera": ("camera", str),
    "--altitude": ("altitude", str),
    "--ground-height": ("ground_height_m", float),
    "--format": ("form", Format),
    "--out": ("out", Path),
    "--explain": ("explain_in", Path),
}


def plainly_asked(arguments: Sequence[str]) -> Asked | None:
    """What these arguments of ``locate`` ask for; None where they have to be looked at more closely."""
    told: dict[str, Any] = {"photos": []}
    left = iter(arguments)
    for word in left:
        if word in _FLAGS:
            told[_FLAGS[word]] = True
        elif word in _VALUES:
            name, read = _VALUES[word]
            value = next(left, "-")
            if value.startswith("-"):
                return None
            try:
                told[name] = read(value)
            except ValueError:
                return None
        elif word.startswith("-"):
            return None
        else:
            told["photos"].append(word)
    return Asked(**told) if told["photos"] and "bundle" in told else None
