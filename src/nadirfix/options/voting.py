"""How the whole frame votes for where it lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.errors import InputError

__all__ = ["VoteOptions"]


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
