"""An altitude as people write it: ``300``, or ``300+-20`` where its deviation is known."""

from __future__ import annotations

import math
import re

from nadirfix.errors import InputError

__all__ = ["is_altitude", "is_deviation", "parse_altitude"]

#: Nobody takes photos from nearer or from farther; numbers far beyond would overflow on their way.
_LOWEST_M, _HIGHEST_M = 0.1, 1e6

_ALTITUDE = re.compile(r"^(?P<altitude>[^+±]+?)(?:(?:\+-|\+/-|±)(?P<sigma>.+))?$")


def parse_altitude(text: str) -> tuple[float, float | None]:
    """``300``, ``300+-20`` or ``300±20``: metres above ground and how sure that is."""
    match = _ALTITUDE.match(text.strip())
    try:
        altitude_m = float(match["altitude"]) if match else math.nan
        sigma_m = float(match["sigma"]) if match and match["sigma"] is not None else None
    except ValueError:
        altitude_m, sigma_m = math.nan, None
    if not (is_altitude(altitude_m) and is_deviation(sigma_m or 0.0)):
        raise InputError(
            "altitude.invalid",
            "this is not an altitude",
            seen=f"--altitude {text}",
            do="give 0.1 to 1 000 000 metres above ground, with a deviation if it is known: 300 or 300+-20",
        )
    return altitude_m, sigma_m


def is_altitude(metres: float) -> bool:
    """Whether a photo may have been taken from so high above ground."""
    return _LOWEST_M <= metres <= _HIGHEST_M


def is_deviation(metres: float) -> bool:
    """Whether an altitude may be known so exactly, or so little."""
    return 0 <= metres <= _HIGHEST_M
