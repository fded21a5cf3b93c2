"""What a photo's own tags say of its altitude above ground, and how far that is to be believed."""

from __future__ import annotations

from nadirfix.image.tags import PhotoTags
from nadirfix.options.locate import TagOptions
from nadirfix.types import KnownAltitude

__all__ = ["RELATIVE", "SEA", "tagged_altitudes"]

#: Who told it: the tag, by its name.
RELATIVE, SEA = "RelativeAltitude", "GPSAltitude"


def tagged_altitudes(tags: PhotoTags, options: TagOptions) -> tuple[KnownAltitude, ...]:
    """Altitudes above ground as the tags have them, each with its deviation; none where they say nothing.

    The relative altitude counts from the take-off, which need not be as high as the ground below. Height
    above the sea says something only where somebody knows how high the ground is.
    """
    if not options.believed:
        return ()
    told = []
    above_m, sea_m = tags.relative_altitude_m, tags.gps_altitude_m
    if above_m is not None and options.least_m <= above_m <= options.most_m:
        told.append(KnownAltitude(above_m, options.relative_share * above_m + options.relative_m, RELATIVE))
    over_m = None if sea_m is None or options.ground_height_m is None else sea_m - options.ground_height_m
    if over_m is not None and options.least_m <= over_m <= options.most_m:
        told.append(KnownAltitude(over_m, options.gnss_m, SEA))
    return tuple(told)
