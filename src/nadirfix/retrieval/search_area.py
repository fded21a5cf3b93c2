"""Which references come into question where something is known of the photo: those near it, turned alike."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import InputError
from nadirfix.geo.angle import wrap_deg
from nadirfix.prior import Prior
from nadirfix.types import Point

__all__ = ["ReferencePoses", "rows_within"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class ReferencePoses(Protocol):
    """Where reference views look from, in one zone."""

    @property
    def east_m(self) -> Floats:
        """Metres east of each."""

    @property
    def north_m(self) -> Floats:
        """Metres north of each."""

    @property
    def heading_deg(self) -> Floats:
        """Where the top of each points."""


def rows_within(
    references: ReferencePoses, prior: Prior, *, epsg: int, reach_m: float, deviations: float
) -> Ints | None:
    """Rows of the references that may show a part of the photo, rising; None where all of them may.

    A place reaches so many deviations, and so many metres farther: a frame has parts away from its middle.
    """
    if not prior.narrows:
        return None
    allowed = np.ones(references.east_m.size, np.bool_)
    if prior.near is not None:
        radius_m = deviations * (prior.near_sigma_m or 0.0) + reach_m
        allowed &= _near(references, prior.near, epsg, radius_m)
    if prior.heading_deg is not None:
        allowed &= _turned_alike(references, prior.heading_deg, deviations * (prior.heading_sigma_deg or 0.0))
    return np.flatnonzero(allowed)


def _near(references: ReferencePoses, place: Point, epsg: int, radius_m: float) -> Flags:
    try:
        middle = place.to(epsg)
    except InputError:  # on the other side of the Earth, where this zone has no coordinates
        return np.zeros(references.east_m.size, np.bool_)
    off_m = np.hypot(references.east_m - middle.east_m, references.north_m - middle.north_m)
    return np.asarray(off_m <= radius_m, np.bool_)


def _turned_alike(references: ReferencePoses, heading_deg: float, reach_deg: float) -> Flags:
    """References turned as the photo is; one between two headings is similar to both."""
    step_deg = 360.0 / max(np.unique(np.round(references.heading_deg, 6)).size, 1)
    off_deg = np.abs(wrap_deg(references.heading_deg - heading_deg))
    return np.asarray(off_deg <= reach_deg + step_deg, np.bool_)
