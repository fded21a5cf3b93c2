"""Every setting of verification against the map: keypoints, matching, the search, calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from nadirfix.errors import InputError

__all__ = [
    "CalibrationOptions",
    "FeatureOptions",
    "LabelOptions",
    "MatchOptions",
    "SearchOptions",
    "VerifyOptions",
]


def _above_zero(*values: float) -> bool:
    return all(0 < value < math.inf for value in values)


def _from_zero(*values: float) -> bool:
    return all(0 <= value < math.inf for value in values)


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Keypoints detected in an image, to find them again in another."""

    keypoints: int = 2048  # the strongest so many


@dataclass(frozen=True, kw_only=True)
class MatchOptions:
    """How a photo is matched with the map at one view."""

    width_px: int = 512  # the photo is matched this wide at most, or as fine as the map is
    reach_m: float = 35.0  # how far off a hypothesis may be
    inlier_px: float = 3.0
    tilt_sigma_deg: float = 4.0  # how far from straight down photos are taken that do not say so

    def __post_init__(self) -> None:
        if not (self.width_px >= 1 and _above_zero(self.reach_m, self.inlier_px, self.tilt_sigma_deg)):
            raise InputError(
                "options.invalid",
                "no photo can be matched with the map with these options",
                seen=f"{self}",
                do="give a width from 1 px, and a reach, an inlier distance and a tilt above 0",
            )


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Which hypotheses are verified, in which order, and when that is enough."""

    middle: int = 2  # hypotheses of the photo's middle alone, before anything more is described
    swept: int = 8  # of its middle at every altitude the map was swept for
    altitude_sweep: int = 4  # of its middle at every altitude of the spectrum, before the whole frame votes
    whole_frame: int = 6  # of the whole frame at every altitude
    batch_size: int = 2  # so many are matched before any of them is matched again, finer
    refine: bool = True  # match again, finer and coarser, unless the first match is beyond doubt
    beyond_doubt: float = 30.0  # inlier score from which only a perceptual alias could do as well
    alias_share: float = 0.6  # and an alias is retrieved with at least this share of the score
    competing: int = 1  # other places that must have been matched in vain
    min_confidence: float = 0.99  # an answer is given from here
    reported: int = 4  # hypotheses reported with an answer

    def __post_init__(self) -> None:
        stages = (self.middle, self.swept, self.altitude_sweep, self.whole_frame)
        counts = (*stages, self.competing, self.reported)
        shares = all(0 <= share <= 1 for share in (self.alias_share, self.min_confidence))
        enough = self.beyond_doubt > 0  # infinity: always in doubt
        if not (self.batch_size >= 1 and min(counts) >= 0 and shares and enough):
            raise InputError(
                "options.invalid",
                "no hypothesis can be verified with these options",
                seen=f"{self}",
                do="give a batch size from 1, other counts from 0, shares from 0 to 1, and a score above 0",
            )


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions:
    """What inliers are worth: measured by bench/accuracy/calibrate.py on places that are not evaluated."""

    grid_columns: int = 12  # cells of the frame over which inliers are counted
    grid_rows: int = 9
    confidence_middle: float = 9.9  # inlier score at which right and wrong are equally likely
    confidence_slope: float = 0.53
    inflate: float = 3.0  # residuals speak of keypoints, errors of whole photos
    uncovered: float = 1.3  # deviation where there are no inliers, in inlier distances
    floor_m: float = 2.0  # what no number of inliers removes: images of two dates lie apart as a whole
    uneven: float = 1.0  # deviation of the aircraft for ground that is uneven: in tilts its residuals show

    def __post_init__(self) -> None:
        above = (self.confidence_slope, self.inflate)
        least = (self.uncovered, self.floor_m, self.uneven)
        cells = min(self.grid_columns, self.grid_rows) >= 1 and math.isfinite(self.confidence_middle)
        if not (cells and _above_zero(*above) and _from_zero(*least)):
            raise InputError(
                "options.invalid",
                "no match can be judged with these options",
                seen=f"{self}",
                do="give a grid from 1 × 1, a slope and an inflation above 0, and the rest from 0",
            )


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """How hypotheses are verified against the map."""

    features: FeatureOptions = field(default_factory=FeatureOptions)
    match: MatchOptions = field(default_factory=MatchOptions)
    search: SearchOptions = field(default_factory=SearchOptions)
    calibration: CalibrationOptions = field(default_factory=CalibrationOptions)


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """How labels of photos are verified against the map."""

    reach_m: float = 100.0  # how far off a label may be
    region_m: float = 500.0  # side of the squares offsets are reported for
    altitudes: int = 3  # tried where the label names none
    headings: int = 12  # tried where the label names none, or a wrong one
    keypoints: int = 4096  # detected in an image: more ground is searched than for a fix
    verification: VerifyOptions = field(default_factory=VerifyOptions)

    def __post_init__(self) -> None:
        if not (0 < self.reach_m < math.inf and 0 < self.region_m < math.inf and self.headings >= 1):
            raise InputError(
                "options.invalid",
                "labels need a reach and a region above 0 m, and at least one heading",
                seen=f"reach {self.reach_m} m, region {self.region_m} m, {self.headings} headings",
                do="give both in metres; 100 and 500 are usual",
            )
