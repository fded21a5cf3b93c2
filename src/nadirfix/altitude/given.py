"""An altitude as people write it: ``300``, or ``300+-20`` where its deviation is known."""

from __future__ import annotations

import math
import re

from nadirfix.errors import InputError

__all__ = ["parse_altitude"]

_ALTITUDE = re.compile(r"^(?P<altitude>[^+±]+?)(?:(?:\+-|\+/-|±)(?P<sigma>.+))?$")


def parse_altitude(text: str) -> tuple[float, float | None]:
    """``300``, ``300+-20`` or ``300±20``: metres above ground and how sure that is."""
    found = _ALTITUDE.match(text.strip())
    try:
        altitude_m = float(found["altitude"]) if found else math.nan
        sigma_m = float(found["sigma"]) if found and found["sigma"] is not None else None
    except ValueError:
        altitude_m, sigma_m = math.nan, None
    if not (0 < altitude_m < math.inf and 0 <= (sigma_m or 0.0) < math.inf):
        raise InputError(
            "altitude.invalid",
            "this is not an altitude",
            seen=f"--altitude {text}",
            do="give metres above ground, with a deviation if it is known: 300 or 300+-20",
        )
    return altitude_m, sigma_m
