"""Coordinate systems: from a map's own coordinates to UTM metres and back (ADR 2).

Everything here is PROJ's work; this module only fixes the axis order: east before north.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import InputError, MapError
from nadirfix.types import utm_epsg

if TYPE_CHECKING:
    import pyproj

__all__ = ["plane_crs", "transform", "working_epsg"]

Floats = NDArray[np.float64]


def plane_crs(wkt: str, *, path: str) -> str:
    """The horizontal part of a coordinate system as WKT; local engineering systems are refused."""
    import pyproj

    try:
        crs = pyproj.CRS.from_wkt(wkt)
    except pyproj.exceptions.CRSError:
        crs = None
    if crs is None or not (crs.is_geographic or crs.is_projected):
        raise MapError(
            "map.no_crs",
            "the map's coordinate system is not tied to the earth",
            seen=f"{path}: {wkt[:80] or 'none'}",
            do="assign one, for example with gdal_edit.py -a_srs EPSG:32633 MAP",
        )
    return str(crs.to_2d().to_wkt())


def transform(wkt_from: str, wkt_to: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Coordinates (east or longitude first) from one system in another; impossible ones become NaN."""
    shape = np.shape(x)
    out_x, out_y = _transformer(wkt_from, wkt_to).transform(np.ravel(x), np.ravel(y))
    out_x, out_y = (np.where(np.isfinite(v), v, np.nan).reshape(shape) for v in (out_x, out_y))
    return out_x, out_y


def working_epsg(wkt: str, x: float, y: float, *, path: str) -> int:
    """The UTM zone of a place given in any system; beyond 84° N and 80° S there is none."""
    lon_deg, lat_deg = transform(wkt, "EPSG:4326", np.array([x]), np.array([y]))
    lon_deg = (lon_deg + 180.0) % 360.0 - 180.0  # maps across the date line count on past 180
    try:
        return utm_epsg(float(lon_deg[0]), float(lat_deg[0]))
    except InputError as error:
        raise MapError(
            "map.outside_utm",
            "the map's centre lies outside the UTM zones",
            seen=f"{path}: longitude {lon_deg[0]:.4f}, latitude {lat_deg[0]:.4f}",
            do="check the map's coordinate system; places beyond 84° N and 80° S are not supported",
        ) from error


@lru_cache(maxsize=128)
def _transformer(wkt_from: str, wkt_to: str) -> pyproj.Transformer:
    import pyproj

    return pyproj.Transformer.from_crs(wkt_from, wkt_to, always_xy=True)
