"""An altitude as people write it: ``300``, or ``300+-20@sea`` where deviation and reference are known."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from nadirfix.errors import InputError
from nadirfix.options.locate import TagOptions
from nadirfix.prior import Prior, is_altitude, is_deviation

__all__ = ["above_ground", "is_altitude", "is_deviation", "parse_altitude", "parse_altitude_prior"]

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


def parse_altitude_prior(text: str) -> Prior:
    """``300+-20``, ``300+-20@takeoff`` or ``300+-20@sea``: what it counts from is said, or is the ground."""
    value, marked, above = text.partition("@")
    above = above.strip().lower() if marked else "ground"
    if above == "ground":
        altitude_m, sigma_m = parse_altitude(value)
        return Prior(altitude_m=altitude_m, altitude_sigma_m=sigma_m)
    match = _ALTITUDE.match(value.strip())
    try:
        altitude_m = float(match["altitude"]) if match else math.nan
        sigma_m = float(match["sigma"]) if match and match["sigma"] is not None else None
        return Prior(altitude_m=altitude_m, altitude_sigma_m=sigma_m, altitude_above=above)  # type: ignore[arg-type]
    except (ValueError, InputError) as error:
        do = "say what it counts from as @ground, @takeoff or @sea: 300, 300+-20 or 420+-20@sea"
        raise InputError("altitude.invalid", "this is not an altitude", seen=text, do=do) from error


def above_ground(prior: Prior, tags: TagOptions) -> Prior:
    """The same with its altitude above the ground below; refused where the heights that takes are not known.

    Ground and take-off are two numbers, the ground below is not flat: without a deviation of its own the
    altitude has that of ``GPSAltitude``.
    """
    if prior.altitude_m is None or prior.altitude_above == "ground":
        return prior
    ground_m = tags.ground_height_m
    from_m = 0.0 if prior.altitude_above == "sea" else tags.takeoff_height_m
    if ground_m is None or from_m is None:
        raise _heights_unknown(prior, ground_m, from_m)
    sigma_m = tags.gnss_m if prior.altitude_sigma_m is None else prior.altitude_sigma_m
    above_m = prior.altitude_m + from_m - ground_m
    return replace(prior, altitude_m=above_m, altitude_sigma_m=sigma_m, altitude_above="ground")


def _heights_unknown(prior: Prior, ground_m: float | None, from_m: float | None) -> InputError:
    heights = {"ground": ground_m, "take-off": from_m}
    missing = " and ".join(name for name, height_m in heights.items() if height_m is None)
    return InputError(
        "altitude.invalid",
        f"an altitude above {prior.altitude_above} says how high only where the ground's height is known",
        seen=f"{prior.altitude_m:g} m above {prior.altitude_above}, the height of {missing} is not known",
        do="give --ground-height (and --takeoff-height) in metres above the sea, or metres above ground",
    )
