"""How the map says from how high a photo was taken."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.errors import InputError

__all__ = ["SweepOptions"]


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """The sweep over altitudes: the photo's middle at a series of scales, compared with all references.

    Chosen on own views of the mine, and nowhere else yet (ADR 45).
    """

    ratio: float = 1.32  # between neighbouring altitudes: finer series cost more and tell nothing more
    highest_m: float = 900.0  # of the nominal camera; the lowest is where the frame just covers a reference
    below: float = 0.6  # natural logarithm of how far below that the whole frame still tells places apart
    nearest: int = 1  # best similarities averaged
    temperature: float = 0.025  # how fast an altitude's probability falls with its similarity
    smooth: float = 0.1  # relative width over which neighbouring altitudes are averaged
    bias: float = 0.08  # similarities peak so much below the true altitude, relatively
    spread: float = 0.1  # relative deviation of the interpolated altitude
    doubt: float = 0.05  # share of the probability spread evenly over all altitudes
    reuse: float = 0.15  # a crop this near in scale, relatively, is as good as one of its own
    beyond_classes: float = 0.3  # of the spectrum's peak: its probability where it has no altitude class

    def __post_init__(self) -> None:
        widths = (self.temperature, self.smooth, self.spread, self.highest_m)
        sound = self.ratio > 1 and self.nearest >= 1 and 0 < self.doubt <= 1
        reach = min(self.reuse, self.below, self.beyond_classes) >= 0
        if not (sound and reach and all(0 < width < math.inf for width in widths)):
            raise InputError(
                "options.invalid",
                "no altitude can be swept for with these options",
                seen=f"{self}",
                do="give a ratio above 1, a count from 1, widths and a temperature above 0, and a doubt "
                "above 0, at most 1",
            )
