"""The nouns: point, view, altitude, candidates, and the fix.

All frozen, all checked once when they are made, units in their names. Nothing here needs torch or GDAL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import InputError
from nadirfix.types.point import Point, is_utm, utm_epsg

__all__ = [
    "REASON_CODES",
    "Aircraft",
    "AltitudeEstimate",
    "Candidates",
    "Fix",
    "Hypothesis",
    "KnownAltitude",
    "Point",
    "ReasonCode",
    "Status",
    "View",
    "is_utm",
    "status_of",
    "utm_epsg",
]

Floats = NDArray[np.float64]

#: Why there is no fix; docs/verification.md explains each.
ReasonCode = Literal[
    "off_map", "below_range", "above_range", "camera_unknown", "too_little_texture", "changed_ground",
    "equal_places", "too_tilted",
]  # fmt: skip
REASON_CODES: tuple[str, ...] = get_args(ReasonCode)

#: What an answer is called. Only a position that the map confirmed is a fix.
Status = Literal["fix", "unverified", "no_fix"]


@dataclass(frozen=True, slots=True)
class View:
    """A camera pose: frame centre on the ground, altitude, and where the top of the picture points.

    Heading is where the top of the photo points, degrees clockwise from north. A tilted camera points
    ``tilt_deg`` away from straight down towards the compass direction ``tilt_toward_deg``; its centre is
    still the frame centre, not the aircraft.
    """

    center: Point
    altitude_m: float
    heading_deg: float = 0.0
    tilt_deg: float = 0.0
    tilt_toward_deg: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.altitude_m) and self.altitude_m > 0):
            raise InputError(
                "altitude.invalid",
                "an altitude must be a positive number of metres above ground",
                seen=f"{self.altitude_m}",
                do="give metres above ground, between 100 and 700 for the shipped recipes",
            )
        angles = (self.heading_deg, self.tilt_deg, self.tilt_toward_deg)
        if not all(math.isfinite(a) for a in angles) or not 0 <= self.tilt_deg < 60:
            raise InputError(
                "options.invalid",
                "a view needs finite angles and a tilt below 60 degrees",
                seen=f"heading {self.heading_deg}, tilt {self.tilt_deg} towards {self.tilt_toward_deg}",
                do="give heading and tilt in degrees",
            )


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A view that may be the photo's, and its score; higher is likelier."""

    view: View
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class AltitudeEstimate:
    """How high, with the probability of every altitude class."""

    altitude_m: float
    probabilities: Floats
    centers_m: Floats
    at_edge: bool = False

    def __post_init__(self) -> None:
        if self.probabilities.shape != self.centers_m.shape or self.probabilities.ndim != 1:
            raise ValueError("one probability per altitude class")

    def scaled(self, ratio: float) -> AltitudeEstimate:
        """The same estimate for a lens with so many times the focal length."""
        return AltitudeEstimate(
            self.altitude_m * ratio, self.probabilities, self.centers_m * ratio, self.at_edge
        )


@dataclass(frozen=True, slots=True)
class KnownAltitude:
    """An altitude above ground known beforehand, its standard deviation, and its source."""

    altitude_m: float
    sigma_m: float
    source: str = "given"

    def __post_init__(self) -> None:
        if not (self.altitude_m > 0 and self.sigma_m >= 0):
            raise ValueError("a known altitude is above 0 m and has a deviation of at least 0 m")

    @property
    def by_hand(self) -> bool:
        """Whether somebody gave it for this photo; tags may be wrong."""
        return self.source == "given"


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """References most similar to the photo, nearest first; distances are Euclidean, not squared."""

    reference: NDArray[np.int64]
    east_m: Floats
    north_m: Floats
    heading_deg: Floats
    distance: Floats
    cell: NDArray[np.int64]
    epsg: int

    def __post_init__(self) -> None:
        columns = (self.east_m, self.north_m, self.heading_deg, self.distance)
        n = self.reference.size
        if any(c.shape != (n,) for c in columns) or self.cell.shape != (n, 2):
            raise ValueError("candidate arrays must be parallel")
        if np.any(np.diff(self.distance) < 0):
            raise ValueError("candidates must come nearest first")

    def __len__(self) -> int:
        return int(self.reference.size)

    def point(self, rank: int) -> Point:
        """Where the candidate of this rank (0 = nearest) lies."""
        return Point(float(self.east_m[rank]), float(self.north_m[rank]), self.epsg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aircraft:
    """Where the aircraft was: right above a place that is the frame centre only where nothing was tilted."""

    position: Point
    altitude_m: float  # above ground
    covariance_m2: Floats  # east and north
    radius95_m: float


def status_of(position: Point | None, verified: bool | None) -> Status:
    """What an answer is called: a fix is a position that the map confirmed, and nothing else is."""
    if position is None:
        return "no_fix"
    return "fix" if verified else "unverified"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fix:
    """The answer for one photo: a position with its reasons, or "no fix" with its reason.

    Only a position that the map confirmed is a "fix"; any other is "unverified" (see ``status_of``).
    """

    photo: str
    status: Status
    position: Point | None
    altitude: AltitudeEstimate | None = None
    altitude_sources: tuple[KnownAltitude, ...] = ()  # priors from before verification
    altitude_m: float | None = None
    gsd_m: float | None = None
    heading_deg: float | None = None
    footprint_m: tuple[float, float] | None = None  # width and height of the ground in the frame
    candidates: Candidates | None = None
    weights: Floats | None = None
    confidence: float | None = None
    radius95_m: float | None = None
    covariance_m2: Floats | None = None
    hypotheses: tuple[Fix, ...] = ()  # other positions that were verified, the best first
    verified: bool | None = None  # whether the map confirmed the answer; None: not verified
    inliers: int | None = None  # keypoints of the photo that match the map geometrically
    tilt_deg: float | None = None
    tilt_toward_deg: float | None = None
    aircraft: Aircraft | None = None  # another answer than the position, which is the frame centre
    reason: str | None = None
    reason_code: ReasonCode | None = None
    crop_clamped: bool = False
    warnings: tuple[str, ...] = ()
    timings_ms: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status != status_of(self.position, self.verified):
            raise ValueError("a fix is a verified position, unverified one that is not, and no fix has none")
        if self.status == "no_fix" and not self.reason:
            raise ValueError("no fix needs a reason")
        if self.reason_code is not None and self.reason_code not in REASON_CODES:
            raise ValueError(f"{self.reason_code!r} is not a code of docs/verification.md")

    def to_dict(self) -> dict[str, Any]:
        """One line of ``nadirfix locate``: every field is always there, unknown is null."""
        from nadirfix.serialise import fix_record

        return fix_record(self)

    def to_geojson(self) -> dict[str, Any]:
        """The fix, its footprint and its candidates as GeoJSON features, each with its ``role``."""
        from nadirfix.formats import geojson

        return geojson([self.to_dict()])
