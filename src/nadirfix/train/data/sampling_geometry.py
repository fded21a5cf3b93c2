"""From views to pixels of a texture: what every renderer of batches has in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views

__all__ = ["REDUCED_RATIO", "output_ratio", "pixel_affine"]

Floats = NDArray[np.float64]

#: Reduced pictures are sampled from a level this much finer: measured on a 0.3 m map, their finest spectral
#: detail is then within 0.2 (natural logarithm) of a reduced photo's at every altitude, without a jump
#: between levels that would give the altitude away.
REDUCED_RATIO = 0.6


def output_ratio(texture: Texture, views: Views, camera: Camera, size: tuple[int, int]) -> Floats:
    """How much coarser each picture is than the map: output over map ground sampling distance."""
    across, along = camera.footprint_m(1.0)
    gsd_m = views.altitude_m * np.sqrt(across / size[0] * along / size[1])
    return np.asarray(gsd_m / texture.gsd_m)


def pixel_affine(texture: Texture, views: Views, camera: Camera) -> Floats:
    """Each view's own affine from metres about its centre to level-0 pixels, by least squares.

    Over one footprint the curvature of a map's projection is centimetres; nine points sample it fairly.
    """
    step = 0.25 * max(camera.footprint_m(1.0)) * views.altitude_m[:, None]
    de, dn = (g.ravel()[None] for g in np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]))
    east, north = views.east_m[:, None] + step * de, views.north_m[:, None] + step * dn
    pixels = texture.pixel_from_ground(east.ravel(), north.ravel(), texture.epsg)
    affine = np.tile(np.eye(3), (len(views), 1, 1))
    for i, p in enumerate(np.asarray(f).reshape(east.shape) for f in pixels):
        slopes = [(p * de).sum(1) / 6 / step[:, 0], (p * dn).sum(1) / 6 / step[:, 0]]
        affine[:, i] = np.stack([*slopes, p.mean(1)], axis=1)
    return affine
