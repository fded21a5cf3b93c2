"""Settings beyond the published method: classes fitted to a map, eight bits, votes of the whole frame.

With ``options``, the only home of defaults.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.errors import InputError

__all__ = ["FitOptions", "QuantiseOptions", "TagOptions", "VoteOptions"]

#: From the Dead Sea to the Himalaya, with something to spare: ground beyond is a slip of the pen, or feet.
_LOWEST_M, _HIGHEST_M = -500.0, 9000.0


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How altitude classes are fitted to views of a map where its network is not trained on it."""

    views: int = 600
    valid_share: float = 0.95  # share of a view that must lie on the map
    light: float = 0.3  # largest relative change of light and contrast
    noise_levels: float = 1.5  # largest deviation of noise, in grey levels of the picture the network sees
    soften_px: float = 1.0  # largest radius of blur, in pixels the network sees: other lenses are softer
    penalty: float = 1.0  # how much large weights cost
    seed: int = 0

    def __post_init__(self) -> None:
        changes = (self.light, self.noise_levels, self.soften_px)
        sound = 0 < self.valid_share <= 1 and 0 < self.penalty < math.inf
        if not (self.views >= 1 and sound and all(0 <= change < math.inf for change in changes)):
            raise InputError(
                "options.invalid",
                "altitude classes cannot be fitted with these options",
                seen=f"{self}",
                do="give views from 1, a share in 0 to 1, a penalty above 0, and changes from 0",
            )


@dataclass(frozen=True, kw_only=True)
class QuantiseOptions:
    """How networks are put into eight bits when a bundle is built."""

    views: int = 48  # of the map, to measure ranges and to compare; 0: networks stay as they are
    likeness: float = 0.99  # cosine of both forms' answers at the 5th percentile, below which it is left out

    def __post_init__(self) -> None:
        if not (self.views >= 0 and 0 < self.likeness <= 1):
            raise InputError(
                "options.invalid",
                "networks cannot be put into eight bits with these options",
                seen=f"{self}",
                do="give views from 0 (none: they stay as they are) and a likeness above 0, at most 1",
            )


@dataclass(frozen=True, kw_only=True)
class TagOptions:
    """How far a photo's own tags are believed about its altitude."""

    believed: bool = True  # False: the picture alone says how high
    least_m: float = 10.0  # altitudes below say nothing: tags are written at take-off, too
    most_m: float = 20_000.0  # nor do those above
    relative_share: float = 0.15  # deviation of RelativeAltitude: of itself, as barometers drift
    relative_m: float = 30.0  # and beside that: the ground below is not the ground at take-off
    ground_height_m: float | None = None  # of the ground above the sea; without it GPSAltitude says nothing
    gnss_m: float = 20.0  # deviation of GPSAltitude above such ground: satellites, geoid and relief together

    def __post_init__(self) -> None:
        height_m = 0.0 if self.ground_height_m is None else self.ground_height_m
        spreads = (self.relative_share, self.relative_m, self.gnss_m)
        told = _LOWEST_M <= height_m <= _HIGHEST_M and 0 < self.least_m <= self.most_m < math.inf
        if not (told and all(0 < s < math.inf for s in spreads)):
            raise InputError(
                "options.invalid",
                "the tags of a photo cannot be weighed with these options",
                seen=f"{self}",
                do=f"give the ground's height above the sea in metres, {_LOWEST_M:.0f} to {_HIGHEST_M:.0f}, "
                "deviations above 0, and bounds with 0 < least_m <= most_m",
            )


@dataclass(frozen=True, kw_only=True)
class VoteOptions:
    """How the whole frame votes for where it lies."""

    scales: int = 12  # altitudes looked at, at most: about all there are
    scale_share: float = 0.995  # altitudes are added until they hold this much of the probability
    doubt: float = 0.5  # of what the picture says of its altitude: so much is spread evenly over all
    promising: int = 5  # of those, the ones the whole frame is asked at
    first_crops: int = 4  # at the likeliest altitude; without a matcher, enough where they agree
    crops: int = 9  # of the frame at each altitude, at most
    sure: float = 0.35  # the share of all votes at which they agree
    looks: int = 0  # more, at most, from an altitude the votes themselves agree on
    retrieve: int = 20  # references each crop may vote for
    temperature: float = 0.05  # how much less a reference counts for looking less alike
    place_m: float = 30.0  # how far votes for the same place usually lie apart: about half a stride
    turn_deg: float = 10.0  # and in heading: the deviation of one in twelve
    scale: float = 0.12  # and in scale, relatively
    kin: float = 0.1  # votes less alike than this are for different views
    hypotheses: int = 16

    def __post_init__(self) -> None:
        counts = (self.scales, self.promising, self.first_crops, self.crops, self.retrieve, self.hypotheses)
        widths = (self.temperature, self.place_m, self.turn_deg, self.scale)
        shares = 0 < self.doubt <= 1 and 0 < self.scale_share <= 1 and 0 <= self.kin < 1 and self.sure > 0
        sound = min(counts) >= 1 and self.looks >= 0 and all(0 < width < math.inf for width in widths)
        if not (sound and shares):
            raise InputError(
                "options.invalid",
                "with these options nothing can vote",
                seen=f"{self}",
                do="give counts from 1 (looks from 0), widths and a temperature above 0, and shares up to 1",
            )
