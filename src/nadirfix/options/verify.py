"""Every setting of verification, with its default: the part of the options that asks the map."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nadirfix.errors import InputError
from nadirfix.options.voting import VoteOptions

__all__ = ["FeatureOptions", "LabelOptions", "TrustOptions", "VerifyOptions"]


def _above_zero(*values: float) -> bool:
    return all(0 < value < math.inf for value in values)


def _from_zero(*values: float) -> bool:
    return all(0 <= value < math.inf for value in values)


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Points looked for in a picture, to find them again in another."""

    points: int = 2048  # the strongest so many
    xfeat_threshold: float = 0.05  # chance of a point below which there is none
    sift_contrast: float = 0.02


@dataclass(frozen=True, kw_only=True)
class TrustOptions:
    """How far a sighting is believed; bench/calibrate.py measures it on places that are not evaluated."""

    grid_columns: int = 12  # parts of the frame over which agreeing points are counted once each
    grid_rows: int = 9
    confidence_middle: float = 9.9  # support at which right and wrong are equally likely
    confidence_slope: float = 0.53
    inflate: float = 3.0  # residuals speak of points, errors of whole photos
    bare: float = 1.3  # deviation where nothing agrees, in distances at which a point still does
    floor_m: float = 0.7  # what no number of points removes: pictures of two dates lie apart as a whole

    def __post_init__(self) -> None:
        above = (self.confidence_slope, self.inflate)
        least = (self.bare, self.floor_m)
        parts = min(self.grid_columns, self.grid_rows) >= 1 and math.isfinite(self.confidence_middle)
        if not (parts and _above_zero(*above) and _from_zero(*least)):
            raise InputError(
                "options.invalid",
                "no sighting can be judged with these options",
                seen=f"{self}",
                do="give a grid from 1 × 1, a slope and an inflation above 0, and the rest from 0",
            )


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """How hypotheses are held against the map."""

    width_px: int = 512  # the photo is looked at this wide, or as fine as the map is
    first_width_px: int = 448  # and at first, which is enough where it leaves no doubt
    coarse_width_px: int = 384  # and where a finer look leaves some: large shapes outlast small ones
    width_step_px: int = 64
    finest_map: float = 0.75  # the photo is looked at no finer than this many map pixels
    supersample: int = 1  # samples of the map per pixel and axis: three cost as much as all matching
    reach_m: float = 35.0  # how far off a hypothesis may be
    second: bool = True  # what the first look finds is looked at once more, unless beyond doubt
    second_reach: float = 0.04  # around the second look, as a share of the photo's width
    valid_share: float = 0.25  # share of the view that must lie on the map
    min_likeness: float = 0.0  # of two descriptions, as a cosine
    inlier_px: float = 3.0
    reselect: int = 3  # times that agreeing points are chosen anew by the fitted view
    rounds: int = 5000  # of MAGSAC++ at most
    max_scale: float = 1.4  # a view farther from its hypothesis than this is chance
    max_turn_deg: float = 35.0
    tilt_sigma_deg: float = 0.7  # how far from straight down photos are usually taken
    blocks: int = 4  # per axis: points of one block of the frame err together
    min_points: int = 40  # a photo with fewer has too little to go by
    promising_inliers: int = 8  # from here a second look is worth its time
    sure_confidence: float = 0.999  # looking ends here
    min_confidence: float = 0.98  # an answer is given from here
    middle: int = 2  # hypotheses of the photo's middle alone, before anything more is described
    ladder: int = 4  # of its middle at every altitude, before the whole frame is asked
    whole: int = 6  # of the whole frame at every altitude
    abreast: int = 2  # of them get their first look before any gets a closer one
    beyond_doubt: float = 30.0  # support from which only a twin could do as well
    twin_share: float = 0.6  # and a twin looks at least so much like the photo to begin with
    rivals: int = 1  # other places that must have been looked at in vain
    rival_share: float = 0.6  # another place with this share of the support is as good
    alike_m: float = 15.0  # hypotheses nearer than this, and turned and scaled alike, are one
    alike_deg: float = 10.0
    alike_scale: float = 1.06
    told: int = 4  # sightings that are told with an answer
    votes: VoteOptions = field(default_factory=VoteOptions)  # where hypotheses come from
    trust: TrustOptions = field(default_factory=TrustOptions)
    features: FeatureOptions = field(default_factory=FeatureOptions)

    def __post_init__(self) -> None:
        if not (self._counts_sound() and self._widths_sound() and self._shares_sound()):
            raise InputError(
                "options.invalid",
                "nothing can be held against the map with these options",
                seen=f"{self}",
                do="give sizes, rounds, blocks and abreast from 1, other counts from 0, widths above 0, "
                "shares from 0 to 1, and ratios of scales from 1",
            )

    def _counts_sound(self) -> bool:
        sizes = (self.width_px, self.first_width_px, self.coarse_width_px, self.width_step_px)
        least_one = (*sizes, self.supersample, self.rounds, self.blocks, self.abreast)
        others = (self.reselect, self.min_points, self.promising_inliers, self.rivals, self.told)
        return min(least_one) >= 1 and min(*others, self.middle, self.ladder, self.whole) >= 0

    def _widths_sound(self) -> bool:
        lengths = (self.finest_map, self.reach_m, self.second_reach, self.inlier_px, self.alike_m)
        angles = (self.max_turn_deg, self.tilt_sigma_deg, self.alike_deg)
        ratios = all(1 <= ratio < math.inf for ratio in (self.max_scale, self.alike_scale))
        return ratios and _above_zero(*lengths, *angles) and self.beyond_doubt > 0  # infinity: always doubt

    def _shares_sound(self) -> bool:
        doubts = (self.sure_confidence, self.min_confidence, self.twin_share, self.rival_share)
        return all(0 <= share <= 1 for share in (*doubts, self.valid_share)) and -1 <= self.min_likeness <= 1


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """How labels of photos are held against the map."""

    reach_m: float = 100.0  # how far off a label may be
    region_m: float = 500.0  # side of the squares offsets are told for
    altitudes: int = 3  # tried where the label names none
    headings: int = 12  # tried where the label names none, or a wrong one
    points: int = 4096  # looked for in a picture: more ground is looked at than for a fix
    verification: VerifyOptions = field(default_factory=VerifyOptions)

    def __post_init__(self) -> None:
        if not (0 < self.reach_m < math.inf and 0 < self.region_m < math.inf and self.headings >= 1):
            raise InputError(
                "options.invalid",
                "labels need a reach and a region above 0 m, and at least one heading",
                seen=f"reach {self.reach_m} m, region {self.region_m} m, {self.headings} headings",
                do="give both in metres; 100 and 500 are usual",
            )
