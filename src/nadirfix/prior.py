"""What the pilot knows of a photo before it is located, and how that is written (ADR 47).

A prior narrows the search. It never answers: that is left to the map.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from nadirfix.errors import InputError
from nadirfix.types import Point
from nadirfix.types.gimbal import Gimbal, parse_gimbal

__all__ = [
    "Above",
    "Prior",
    "is_altitude",
    "is_deviation",
    "parse_gimbal_prior",
    "parse_heading",
    "parse_near",
]

#: What an altitude counts from: the ground below, the take-off, or the sea.
Above = Literal["ground", "takeoff", "sea"]

#: Nobody takes photos from nearer or from farther; numbers far beyond would overflow on their way.
_LOWEST_M, _HIGHEST_M = 0.1, 1e6
#: A value, and its deviation where one is given.
_VALUE = r"(?P<value>[^+±]+?)(?:\s*(?:\+-|\+/-|±)\s*(?P<sigma>[^+±]+))?"
_HEADING = re.compile(rf"^{_VALUE}$")
_NEAR = re.compile(rf"^(?P<lon>[^,+±]+),{_VALUE}$")
_DO_NEAR = "give longitude and latitude in degrees and a deviation in metres above 0: 14.35,48.86+-50"
_DO_HEADING = "give degrees clockwise from north, −360 to 360, with a deviation above 0: 270 or 270+-10"
_DO_ALTITUDE = "give 0.1 to 1 000 000 metres above ground, with a deviation of 0 to 1 000 000 m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is known of one photo: about where it was taken, where its top points, and from how high.

    Each has a standard deviation. A place or a heading without one has that of ``PriorOptions``; an altitude
    without one is exact. ``near`` may be the aircraft or the frame centre.
    """

    near: Point | None = None
    near_sigma_m: float | None = None
    heading_deg: float | None = None
    heading_sigma_deg: float | None = None
    altitude_m: float | None = None
    altitude_sigma_m: float | None = None
    altitude_above: Above = "ground"
    gimbal: Gimbal | None = None  # how the camera hung: pitch, roll and yaw

    def __post_init__(self) -> None:
        if not _is_known(self.near_sigma_m, self.near, _HIGHEST_M):
            raise _invalid(f"{self.near}, deviation {self.near_sigma_m}", _DO_NEAR)
        turned = self.heading_deg is None or -360 <= self.heading_deg <= 360
        if not (turned and _is_known(self.heading_sigma_deg, self.heading_deg, 360.0)):
            raise _invalid(f"heading {self.heading_deg}, deviation {self.heading_sigma_deg}", _DO_HEADING)
        self._check_altitude()

    def _check_altitude(self) -> None:
        altitude_m, sigma_m, above = self.altitude_m, self.altitude_sigma_m, self.altitude_above
        lowest_m = _LOWEST_M if above == "ground" else -_HIGHEST_M
        real = altitude_m is None or lowest_m <= altitude_m <= _HIGHEST_M
        spread = sigma_m is None or (altitude_m is not None and is_deviation(sigma_m))
        if not (real and spread and above in ("ground", "takeoff", "sea")):
            seen = f"altitude {altitude_m} above {above}, deviation {sigma_m}"
            raise InputError("altitude.invalid", "this is not an altitude", seen=seen, do=_DO_ALTITUDE)

    @property
    def narrows(self) -> bool:
        """Whether fewer references come into question."""
        return self.near is not None or self.heading_deg is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given: what tags say of the gimbal is not."""
        by_hand = self.gimbal is not None and self.gimbal.by_hand
        return not self.narrows and self.altitude_m is None and not by_hand

    def loosened(self) -> Iterator[Prior]:
        """What to go on with when the map confirms nothing: altitude and gimbal, the latter, then nothing.

        A gimbal that says straight down is as good as none: without it the search would be the same again.
        """
        tilted = self.gimbal is not None and not self.gimbal.is_upright
        if self.narrows and (self.altitude_m is not None or tilted):
            yield replace(self, near=None, near_sigma_m=None, heading_deg=None, heading_sigma_deg=None)
        if self.altitude_m is not None and tilted:
            yield Prior(gimbal=self.gimbal)
        if tilted or self.narrows or self.altitude_m is not None:
            yield Prior(gimbal=None if tilted else self.gimbal)

    def over(self, other: Prior) -> Prior:
        """All that is known here, and where that is nothing, what the other knows."""
        place, turn, height = (
            self if known is not None else other
            for known in (self.near, self.heading_deg, self.altitude_m)
        )  # fmt: skip
        return Prior(
            near=place.near,
            near_sigma_m=place.near_sigma_m,
            heading_deg=turn.heading_deg,
            heading_sigma_deg=turn.heading_sigma_deg,
            altitude_m=height.altitude_m,
            altitude_sigma_m=height.altitude_sigma_m,
            altitude_above=height.altitude_above,
            gimbal=self.gimbal or other.gimbal,
        )


def parse_near(text: str) -> Prior:
    """``14.35,48.86+-50`` or ``14.35,48.86±50``: longitude, latitude and how many metres that may be off."""
    match = _NEAR.match(text.strip())
    try:
        lon_deg, lat_deg = (float(match[name]) for name in ("lon", "value")) if match else (math.nan,) * 2
        return Prior(near=Point.from_lonlat(lon_deg, lat_deg), near_sigma_m=_sigma(match))
    except (ValueError, InputError) as error:
        raise _invalid(repr(text), _DO_NEAR) from error


def parse_heading(text: str) -> Prior:
    """``270``, ``270+-10`` or ``270±10``: where the top of the photo points, clockwise from north."""
    match = _HEADING.match(text.strip())
    try:
        heading_deg = float(match["value"]) if match else math.nan
        return Prior(heading_deg=heading_deg, heading_sigma_deg=_sigma(match))
    except (ValueError, InputError) as error:
        raise _invalid(repr(text), _DO_HEADING) from error


def parse_gimbal_prior(text: str) -> Prior:
    """``-60``, ``-60,0`` or ``-60,0,270``: how the camera hung, −90 straight down."""
    return Prior(gimbal=parse_gimbal(text))


def is_altitude(metres: float) -> bool:
    """Whether a photo may have been taken from so high above ground."""
    return _LOWEST_M <= metres <= _HIGHEST_M


def is_deviation(metres: float) -> bool:
    """Whether an altitude may be known so exactly, or so little."""
    return 0 <= metres <= _HIGHEST_M


def _sigma(match: re.Match[str] | None) -> float | None:
    return float(match["sigma"]) if match and match["sigma"] is not None else None


def _is_known(sigma: float | None, value: object, most: float) -> bool:
    """Whether a deviation belongs to a value and is above 0."""
    return sigma is None or (value is not None and 0 < sigma <= most)


def _invalid(seen: str, do: str) -> InputError:
    return InputError("prior.invalid", "what is known of the photo cannot be used", seen=seen, do=do)
