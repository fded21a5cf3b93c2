"""From a photo's tags to its focal length in pixels; what does not fit is left out, with a note.

Three sources, in the order they are trusted: the maker's own calibration in pixels; the focal length in
millimetres with the pixel density of the sensor; the 35-mm-equivalent focal length, by the diagonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nadirfix.camera import Camera

__all__ = ["FocalTags", "Size", "camera_from_tags", "same_shape"]

#: Width and height in pixels.
Size = tuple[int, int]

#: A focal length between these shares of the diagonal: 157° down to 1.1° of view.
_SHORTEST, _LONGEST = 0.1, 50.0
#: Two sources further apart than rounding to whole 35-mm millimetres can explain.
_DISAGREE = 0.2
#: Optical centres are off the middle by a few percent, not more.
_OFF_CENTRE = 0.1
#: FocalPlaneResolutionUnit → millimetres.
_UNIT_MM = {2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}
_INCH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FocalTags:
    """What a photo's tags say about its lens; None where a tag is missing, NaN where it is no number."""

    declared: Size | None = None
    calibrated_px: float | None = None
    optical_center_px: tuple[float, float] | None = None
    focal_mm: float | None = None
    plane_x: float | None = None
    plane_y: float | None = None
    plane_unit: int | None = None
    focal_35mm: float | None = None


def camera_from_tags(tags: FocalTags, stored: Size) -> tuple[Camera | None, str, list[str]]:
    """The camera of the pixels as stored, which tag it came from, and what could not be used and why."""
    notes: list[str] = []
    declared = tags.declared or stored
    if not same_shape(stored, declared):
        return None, "", [_cropped_note(stored, declared)]
    if declared != stored:
        notes.append(f"the photo was resized from {_times(declared)} px; its focal length was scaled with it")
    cameras = _sources(tags, declared, notes)
    if not cameras:
        notes.append(_missing_note(tags))
        return None, "", notes
    _compare(cameras, notes)
    source, camera = cameras[0]
    return camera.resized(*stored), source, notes


def same_shape(one: Size, other: Size) -> bool:
    """Whether one picture is the other made larger or smaller, up to the rounding of a pixel."""
    high_px = other[1] * one[0] / other[0]
    wide_px = other[0] * one[1] / other[1]
    return min(abs(high_px - one[1]), abs(wide_px - one[0])) <= 1


def _sources(tags: FocalTags, size: Size, notes: list[str]) -> list[tuple[str, Camera]]:
    tries = {
        "CalibratedFocalLength": _calibrated(tags, size, notes),
        "FocalLength with FocalPlaneXResolution": _focal_plane(tags, notes),
        "FocalLengthIn35mmFilm": _equivalent(tags, size),
    }
    cameras = []
    for source, focal_px in tries.items():
        if focal_px is None:
            continue
        if all(_SHORTEST <= f / math.hypot(*size) <= _LONGEST for f in focal_px):
            cameras.append((source, Camera(*size, *focal_px)))
        else:
            notes.append(f"{source} is not a usable focal length ({focal_px[0]:g} px) and was not used")
    return cameras


def _calibrated(tags: FocalTags, size: Size, notes: list[str]) -> tuple[float, float] | None:
    if tags.calibrated_px is None:
        return None
    if tags.declared is None and not _centred(tags.optical_center_px, size):
        notes.append(
            f"CalibratedFocalLength belongs to another picture size (its optical centre is at "
            f"{tags.optical_center_px}, the photo has {_times(size)} px) and was not used"
        )
        return None
    return tags.calibrated_px, tags.calibrated_px


def _centred(center_px: tuple[float, float] | None, size: Size) -> bool:
    if center_px is None:
        return True
    return all(abs(c / s - 0.5) <= _OFF_CENTRE for c, s in zip(center_px, size, strict=True))


def _focal_plane(tags: FocalTags, notes: list[str]) -> tuple[float, float] | None:
    if tags.focal_mm is None or tags.plane_x is None:
        return None
    unit = _INCH if tags.plane_unit is None else tags.plane_unit
    if unit not in _UNIT_MM:
        notes.append(f"FocalPlaneResolutionUnit is {unit}, which is no unit of length; it was not used")
        return None
    plane_y = tags.plane_x if tags.plane_y is None else tags.plane_y
    focal = tags.focal_mm / _UNIT_MM[unit]
    return focal * tags.plane_x, focal * plane_y


def _equivalent(tags: FocalTags, size: Size) -> tuple[float, float] | None:
    focal_35mm = tags.focal_35mm
    if focal_35mm is None:
        return None
    if not (math.isfinite(focal_35mm) and focal_35mm > 0):  # 0 means "unknown" in the EXIF standard
        return focal_35mm, focal_35mm
    camera = Camera.from_equivalent_focal(*size, focal_35mm)
    return camera.fx_px, camera.fy_px


def _compare(cameras: list[tuple[str, Camera]], notes: list[str]) -> None:
    """A photo resized by a program that rewrote its size tags shows itself only here."""
    (used, best), *others = cameras
    for source, camera in others:
        if abs(camera.fx_px / best.fx_px - 1) > _DISAGREE:
            notes.append(
                f"{source} gives {camera.fx_px:.0f} px, {used} gives {best.fx_px:.0f} px, which was used; "
                "give --camera if you know better"
            )


def _missing_note(tags: FocalTags) -> str:
    if tags.focal_mm is not None:
        return f"the focal length is {tags.focal_mm:g} mm, but nothing says how large the sensor's pixels are"
    return "no tag says what the focal length is"


def _cropped_note(stored: Size, declared: Size) -> str:
    return (
        f"the tags belong to a picture of {_times(declared)} px, the photo has {_times(stored)}: "
        "it was cropped or turned, so its focal length is not known"
    )


def _times(size: Size) -> str:
    return f"{size[0]} × {size[1]}"
