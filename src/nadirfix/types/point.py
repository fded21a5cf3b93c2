"""A place on the ground, in metres of a UTM zone: the only way to say where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from nadirfix.errors import InputError

if TYPE_CHECKING:
    import pyproj

__all__ = ["Point", "is_utm", "utm_epsg"]


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the ground in UTM metres (WGS 84); the only way to say "where"."""

    east_m: float
    north_m: float
    epsg: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.east_m) and math.isfinite(self.north_m) and is_utm(self.epsg)):
            raise _bad_point(
                f"east {self.east_m}, north {self.north_m}, EPSG:{self.epsg}",
                "give metres in a WGS 84 / UTM zone (EPSG:32601-32660 or 32701-32760)",
            )

    @classmethod
    def from_lonlat(cls, lon_deg: float, lat_deg: float, *, epsg: int | None = None) -> Point:
        """The place at this longitude and latitude, in its own UTM zone unless another is given."""
        zone = utm_epsg(lon_deg, lat_deg) if epsg is None else epsg
        east_m, north_m = _from_lonlat(zone).transform(lon_deg, lat_deg)
        return cls(east_m, north_m, zone)

    @classmethod
    def from_projected(cls, x_m: float, y_m: float, epsg: int) -> Point:
        """The place at these coordinates of any projected system (east first), as UTM."""
        if is_utm(epsg):
            return cls(x_m, y_m, epsg)
        lon_deg, lat_deg = _from_lonlat(epsg).transform(x_m, y_m, direction="INVERSE")
        return cls.from_lonlat(lon_deg, lat_deg)

    @property
    def lonlat(self) -> tuple[float, float]:
        """Longitude and latitude in degrees (WGS 84)."""
        lon_deg, lat_deg = _from_lonlat(self.epsg).transform(self.east_m, self.north_m, direction="INVERSE")
        return lon_deg, lat_deg

    def to(self, epsg: int) -> Point:
        """The same place in another UTM zone."""
        return self if epsg == self.epsg else Point.from_lonlat(*self.lonlat, epsg=epsg)

    def moved(self, east_m: float, north_m: float) -> Point:
        """The place this many metres further east and north."""
        return Point(self.east_m + east_m, self.north_m + north_m, self.epsg)

    def distance_m(self, other: Point) -> float:
        """Metres to another place, on the map plane of this one's zone."""
        there = other.to(self.epsg)
        return math.hypot(there.east_m - self.east_m, there.north_m - self.north_m)


def is_utm(epsg: int) -> bool:
    """Whether this code is a WGS 84 / UTM zone."""
    return 32601 <= epsg <= 32660 or 32701 <= epsg <= 32760


def utm_epsg(lon_deg: float, lat_deg: float) -> int:
    """The UTM zone a place belongs to, with the zones widened for Norway and Svalbard."""
    if not (-180 <= lon_deg <= 180 and -80 <= lat_deg <= 84):
        raise _bad_point(
            f"longitude {lon_deg}, latitude {lat_deg}",
            "give longitude first, in degrees; UTM ends at 80° S and 84° N",
        )
    zone = min(int((lon_deg + 180) // 6) + 1, 60)
    if 56 <= lat_deg < 64 and 3 <= lon_deg < 12:
        zone = 32
    elif lat_deg >= 72 and 0 <= lon_deg < 42:
        zone = 31 if lon_deg < 9 else 33 if lon_deg < 21 else 35 if lon_deg < 33 else 37
    return (32600 if lat_deg >= 0 else 32700) + zone


def _bad_point(seen: str, do: str) -> InputError:
    return InputError("point.invalid", "this is not a place in UTM", seen=seen, do=do)


@lru_cache(maxsize=64)
def _from_lonlat(epsg: int) -> pyproj.Transformer:
    import pyproj

    try:
        return pyproj.Transformer.from_crs(4326, epsg, always_xy=True)
    except pyproj.exceptions.CRSError as error:
        raise _bad_point(f"EPSG:{epsg}", "give the EPSG code of a projected system") from error
