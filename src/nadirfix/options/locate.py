"""How one photo is located: which references are searched, and how far tags and priors are believed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nadirfix.errors import InputError
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.verify import VerifyOptions
from nadirfix.options.voting import VoteOptions

__all__ = ["MAX_PIXELS", "LocateOptions", "PriorOptions", "TagOptions"]

#: Pixels a photo may have: more than any camera of a drone takes.
MAX_PIXELS = 200_000_000
#: From the Dead Sea to the Himalaya, with something to spare: ground beyond is a slip of the pen, or feet.
_LOWEST_M, _HIGHEST_M = -500.0, 9000.0


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
    takeoff_height_m: float | None = None  # of the take-off above the sea: for altitudes given above it

    def __post_init__(self) -> None:
        heights_m = (self.ground_height_m or 0.0, self.takeoff_height_m or 0.0)
        spreads = (self.relative_share, self.relative_m, self.gnss_m)
        sound = all(_LOWEST_M <= h <= _HIGHEST_M for h in heights_m)
        sound = sound and 0 < self.least_m <= self.most_m < math.inf
        if not (sound and all(0 < s < math.inf for s in spreads)):
            raise InputError(
                "options.invalid",
                "the tags of a photo cannot be weighed with these options",
                seen=f"{self}",
                do=f"give heights above the sea in metres, {_LOWEST_M:.0f} to {_HIGHEST_M:.0f}, "
                "deviations above 0, and bounds with 0 < least_m <= most_m",
            )


@dataclass(frozen=True, kw_only=True)
class PriorOptions:
    """How far what the pilot knows of a photo is believed, and whether its own GNSS position is used."""

    reach: float = 3.0  # deviations: what lies farther off is not searched, and contradicts
    place_m: float = 25.0  # deviation of a position that comes without one
    heading_deg: float = 10.0  # and of a heading
    exif_position: bool = False  # the tags' GNSS position, where no other place is given
    least_m: float = 5.0  # no position is believed more exactly: a map is a few metres off
    gimbal_deg: float = 1.0  # deviation of the tilt a gimbal states
    most_tilt_deg: float = 57.0  # photos tilted farther are not rectified: 55°, and two deviations

    def __post_init__(self) -> None:
        widths = (self.reach, self.place_m, self.heading_deg, self.least_m, self.gimbal_deg)
        if not (all(0 < width < math.inf for width in widths) and 0 <= self.most_tilt_deg < 58):
            raise InputError(
                "options.invalid",
                "nothing that is known beforehand can be weighed with these options",
                seen=f"{self}",
                do="give a reach and deviations above 0, and a tilt below 58 degrees",
            )


@dataclass(frozen=True, kw_only=True)
class LocateOptions:
    """How one photo is located."""

    crop: bool = True  # False: the whole photo, as if its altitude were not known
    cells: int | None = None  # how many of the likeliest are searched; 0: all; None: as suits the bundle
    published_cells: int = 3  # what suits one that was trained, or is large
    search_all_up_to: int = 100_000  # references, where nothing was trained: about 35 km²
    retrieve: int = 10
    weighted: bool = True  # False: the nearest reference alone is the answer (--no-wce)
    outlier_share: float = 0.4
    whole_frame: bool | None = None  # votes for the answer; None: where nothing was trained
    votes: VoteOptions = field(default_factory=VoteOptions)  # how the whole frame votes
    sweep: SweepOptions | None = field(default_factory=SweepOptions)  # None: no sweep over altitudes
    keep_on_line: bool = True  # candidates on the boundary between inliers and outliers: kept, as published
    weight_epsilon: float = 1e-8
    tags: TagOptions = field(default_factory=TagOptions)  # what they say of the altitude is weighed in
    priors: PriorOptions = field(default_factory=PriorOptions)  # what the pilot knows narrows the search
    verify: bool = True  # hypotheses are verified against the map, where the bundle carries a matcher
    verification: VerifyOptions = field(default_factory=VerifyOptions)
    max_pixels: int = MAX_PIXELS

    def __post_init__(self) -> None:
        counts_ok = (self.cells is None or self.cells >= 0) and self.retrieve >= 1
        if not (counts_ok and 0 < self.outlier_share <= 1 and self.weight_epsilon > 0):
            raise InputError(
                "options.invalid",
                "no photo can be located with these options",
                seen=f"{self}",
                do="give cells from 0, retrieve from 1, outlier_share in (0, 1], epsilon above 0",
            )
