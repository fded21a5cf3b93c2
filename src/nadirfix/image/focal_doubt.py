"""How far off a camera's focal length may be, by where it comes from (ADR 57).

Where the frame centre lies hardly depends on it; where the aircraft was does, as altitude and tilt both
follow it.
"""

from __future__ import annotations

import math

from nadirfix.image.tags import NOMINAL, ChosenCamera

__all__ = ["focal_sigma"]

#: Relative deviations: what somebody or the maker measured, what follows from the sensor's size, whole
#: millimetres of a 35-mm equivalent, and a camera nobody named.
_MEASURED, _BY_SENSOR, _WHOLE_MM, _ASSUMED = 0.005, 0.01, 0.02, 0.15
_BY_TAG = {
    "FocalLength with FocalPlaneXResolution": _BY_SENSOR,
    "FocalLengthIn35mmFilm": _WHOLE_MM,
    NOMINAL: _ASSUMED,
}
#: Wider pictures than this are cut from a sensor's, and nobody knows whether the 35-mm equivalent is too.
_CUT = 1.6
#: The shape of the sensor they are cut from, height over width.
_SENSOR = 0.75


def focal_sigma(chosen: ChosenCamera) -> float:
    """The relative deviation of the focal length of the camera a photo is measured with."""
    sigma = _BY_TAG.get(chosen.source, _MEASURED)
    short, long = sorted((chosen.camera.width_px, chosen.camera.height_px))
    if chosen.source != "FocalLengthIn35mmFilm" or long / short < _CUT:
        return sigma
    return math.hypot(sigma, math.hypot(1.0, _SENSOR) / math.hypot(1.0, short / long) - 1)
