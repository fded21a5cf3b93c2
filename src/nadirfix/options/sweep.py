"""How the map says from how high a photo was taken."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.errors import InputError

__all__ = ["SweepOptions"]


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """The sweep over altitudes: the photo's middle at a series of scales, compared with all references.

    Chosen on own views of the mine (ADR 45, 53).
    """

    ratio: float = 1.25  # between neighbouring altitudes
    highest_m: float = 900.0  # of the nominal camera; the lowest is where the frame just covers a reference
    low_share: float = (
        4.4  # low references serve up to so many times the altitude at which the frame covers one
    )
    below: float = 0.62  # the whole frame still resembles a reference from this share of that altitude
    retrieve: int = 20  # references each crop votes for
    temperature: float = 0.03  # how fast a reference's weight falls with its cosine similarity
    scale: float = 0.3  # votes for one view lie so far apart in scale, relatively: neighbours of the series
    spread: float = 0.15  # relative deviation of a hypothesis' altitude
    doubt: float = 0.3  # share of the probability spread evenly over all altitudes
    reuse: float = 0.12  # a crop this near in scale, relatively, is as good as one of its own
    beyond_classes: float = 0.3  # of the spectrum's peak: its probability where it has no altitude class
    spectrum_floor: float = 0.3  # the least any altitude is believed, whatever the spectrum says

    def __post_init__(self) -> None:
        widths = (self.temperature, self.scale, self.spread, self.highest_m)
        sound = self.ratio > 1 and self.low_share >= 1 and self.retrieve >= 1 and 0 < self.doubt <= 1
        reach = min(self.reuse, self.beyond_classes) >= 0 and 0 < self.below <= 1
        if not (sound and reach and all(0 < width < math.inf for width in widths)):
            raise InputError(
                "options.invalid",
                "no altitude can be swept for with these options",
                seen=f"{self}",
                do="give a ratio above 1, counts from 1, widths and a temperature above 0, and shares "
                "above 0, at most 1",
            )
