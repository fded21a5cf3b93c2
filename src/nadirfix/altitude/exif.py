"""Altitude priors from a photo's own tags (EXIF, XMP), each with its deviation."""

from __future__ import annotations

from nadirfix.image.tags import PhotoTags
from nadirfix.options.locate import TagOptions
from nadirfix.types import KnownAltitude

__all__ = ["RELATIVE", "SEA", "tagged_altitudes"]

#: The source of a prior: the tag, by its name.
RELATIVE, SEA = "RelativeAltitude", "GPSAltitude"


def tagged_altitudes(tags: PhotoTags, options: TagOptions) -> tuple[KnownAltitude, ...]:
    """Altitudes above ground as the tags have them, each with its deviation; none where they say nothing.

    The relative altitude counts from the take-off, which need not be as high as the ground below. Height
    above the sea says something only where somebody knows how high the ground is.
    """
    if not options.believed:
        return ()
    known = []
    takeoff_m, sea_m, ground_m = tags.relative_altitude_m, tags.gps_altitude_m, options.ground_height_m
    if takeoff_m is not None and options.least_m <= takeoff_m <= options.most_m:
        sigma_m = options.relative_share * takeoff_m + options.relative_m
        known.append(KnownAltitude(takeoff_m, sigma_m, RELATIVE))
    above_m = None if sea_m is None or ground_m is None else sea_m - ground_m
    if above_m is not None and options.least_m <= above_m <= options.most_m:
        known.append(KnownAltitude(above_m, options.gnss_m, SEA))
    return tuple(known)
