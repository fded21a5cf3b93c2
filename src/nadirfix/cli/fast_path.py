"""The usual way to call ``locate``, read without the library that reads command lines (ADR 32).

That library takes a tenth of a second to load, as long as locating a photo. Whatever is not plainly written
(help, a typing error, ``--name=value``) is left to it, so that there is one place that explains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nadirfix.cli.locating import Format, LocateArguments
from nadirfix.cli.photo_arguments import STANDARD_INPUT

__all__ = ["parse_plain_arguments"]

_FLAGS = {
    "--no-wce": "no_wce",
    "--no-vote": "no_vote",
    "--no-verify": "no_verify",
    "--overwrite": "overwrite",
    "--quiet": "quiet",
    "--use-exif-position": "use_exif_position",
}
_VALUES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "--bundle": ("bundle", Path),
    "--camera": ("camera", str),
    "--altitude": ("altitude", str),
    "--gimbal": ("gimbal", str),
    "--near": ("near", str),
    "--heading": ("heading", str),
    "--priors": ("priors", Path),
    "--ground-height": ("ground_height_m", float),
    "--takeoff-height": ("takeoff_height_m", float),
    "--format": ("output_format", Format),
    "--out": ("out", Path),
    "--explain": ("explain_dir", Path),
}


def parse_plain_arguments(arguments: Sequence[str]) -> LocateArguments | None:
    """The parsed arguments of ``locate``; None where they need the full parser."""
    values: dict[str, Any] = {"photos": []}
    remaining = iter(arguments)
    for argument in remaining:
        if argument in _FLAGS:
            values[_FLAGS[argument]] = True
        elif argument in _VALUES:
            name, read = _VALUES[argument]
            value = next(remaining, "-")
            if value.startswith("-"):
                return None
            try:
                values[name] = read(value)
            except ValueError:
                return None
        elif argument.startswith("-") and argument != STANDARD_INPUT:
            return None
        else:
            values["photos"].append(argument)
    return LocateArguments(**values) if values["photos"] and "bundle" in values else None
