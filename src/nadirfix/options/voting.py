"""How the whole frame votes for where it lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.errors import InputError

__all__ = ["VoteOptions"]


@dataclass(frozen=True, kw_only=True)
class VoteOptions:
    """How the whole frame votes for where it lies."""

    max_altitudes: int = 12  # that are tried: about all there are
    scale_share: float = 0.995  # altitudes are added until they hold this much of the probability
    doubt: float = 0.5  # share of the altitude estimate that is spread evenly over all altitudes
    promising: int = 5  # of those altitudes, the ones the whole frame is described at
    first_crops: int = 4  # at the likeliest altitude; without a keypoint detector, enough where they agree
    crops: int = 9  # of the frame at each altitude, at most
    consensus: float = 0.35  # the share of all votes at which they agree
    extra_altitudes: int = 0  # at most, which the votes themselves agree on
    retrieve: int = 20  # references each crop may vote for
    temperature: float = 0.05  # how fast a reference's weight falls with its cosine similarity
    position_m: float = 30.0  # how far votes for the same view usually lie apart: about half a stride
    turn_deg: float = 10.0  # and in heading: the deviation of one in twelve
    scale: float = 0.12  # and in scale, relatively
    affinity: float = 0.1  # votes with less are for different views
    hypotheses: int = 16

    def __post_init__(self) -> None:
        counts = (
            self.max_altitudes, self.promising, self.first_crops, self.crops, self.retrieve, self.hypotheses
        )  # fmt: skip
        widths = (self.temperature, self.position_m, self.turn_deg, self.scale)
        shares = 0 < self.doubt <= 1 and 0 < self.scale_share <= 1
        agreeing = 0 <= self.affinity < 1 and self.consensus > 0
        sound = min(counts) >= 1 and self.extra_altitudes >= 0 and all(0 < w < math.inf for w in widths)
        if not (sound and shares and agreeing):
            raise InputError(
                "options.invalid",
                "with these options nothing can vote",
                seen=f"{self}",
                do="give counts from 1 (extra_altitudes from 0), widths and a temperature above 0, "
                "and shares up to 1",
            )
