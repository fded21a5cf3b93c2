"""From a photo's tags to its focal length in pixels; what does not fit is left out, with a note.

Four sources, in the order they are trusted: the maker's nominal calibration in pixels; the calibration of
this one camera, which brings its lens; the focal length in millimetres with the pixel density, or the size,
of the sensor; the 35-mm-equivalent focal length, by the diagonal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from nadirfix.camera import FULL_FRAME_DIAGONAL_MM, Camera, Lens
from nadirfix.image.dewarp import lens_of, with_lens

__all__ = ["FocalTags", "Size", "camera_from_tags", "same_shape"]

#: Width and height in pixels.
Size = tuple[int, int]

#: A focal length between these shares of the diagonal: 136° of view, the widest lenses that draw straight
#: lines straight (9 mm on a full frame), down to 1.1°.
_SHORTEST, _LONGEST = 0.2, 50.0
#: Below this share of the diagonal (100° of view) lenses usually bend, and this one's bend is not known.
_WIDE = 0.42
#: Two sources further apart than rounding to whole 35-mm millimetres can explain.
_DISAGREE = 0.2
#: Optical centres are off the middle by a few percent, not more.
_OFF_CENTRE = 0.1
#: FocalPlaneResolutionUnit → millimetres.
_UNIT_MM: dict[float, float] = {2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}
_INCH = 2.0
#: Ratios closer to one than this are one: of a frame's sides, or a digital zoom.
_SAME = 0.01
#: Diagonals of the sensors of drones, phones and cameras; what lies outside is a wrong reading of the tags.
_SENSORS_MM = (4.0, 60.0)
#: Wider pictures than 3:2 are cut from the sensor's.
_CUT = 1.6
_GIVE = "give --camera WIDTHxHEIGHT@FOCAL in pixels, or a camera file"


@dataclass(frozen=True, slots=True, kw_only=True)
class FocalTags:
    """What a photo's tags say about its lens; None where a tag is missing, NaN where it is no number."""

    declared: Size | None = None
    calibrated_px: float | None = None
    optical_center_px: tuple[float, float] | None = None
    focal_mm: float | None = None
    plane_x: float | None = None
    plane_y: float | None = None
    plane_unit: float | None = None
    focal_35mm: float | None = None
    digital_zoom: float | None = None
    dewarp_data: str | None = None
    dewarped: bool = False
    projection: str | None = None

    @property
    def zoom(self) -> float:
        """How many times the picture was enlarged by the camera; zero and no number mean not at all."""
        zoom = 1.0 if self.digital_zoom is None else self.digital_zoom
        return zoom if math.isfinite(zoom) and zoom > 0 and abs(zoom - 1) > _SAME else 1.0


def camera_from_tags(tags: FocalTags, stored: Size) -> tuple[Camera | None, str, list[str]]:
    """The camera of the pixels as stored, which tag it came from, and what could not be used and why."""
    notes: list[str] = []
    declared = tags.declared or stored
    if tags.projection is not None:
        return None, "", [_stitched_note(tags.projection)]
    if declared == stored[::-1] != stored:
        return _turned_by_a_program(tags, stored)
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
    if not tags.dewarped:
        _warn_of_wide(camera, notes)
    if source == "FocalLengthIn35mmFilm":
        _warn_of_cut(camera, notes)
    return camera.resized(*stored), source, notes


def _turned_by_a_program(tags: FocalTags, stored: Size) -> tuple[Camera | None, str, list[str]]:
    """The camera of a picture that lies on its side without a tag for it: to which side is not known."""
    camera, source, notes = camera_from_tags(replace(tags, dewarp_data=None), stored[::-1])
    if tags.dewarp_data is not None:
        notes.append("the photo was turned by a program, nothing says to which side; DewarpData was not used")
    return camera and camera.turned(), source, notes


def same_shape(one: Size, other: Size) -> bool:
    """Whether one picture is the other made larger or smaller, up to the rounding of a pixel."""
    high_px = other[1] * one[0] / other[0]
    wide_px = other[0] * one[1] / other[1]
    return min(abs(high_px - one[1]), abs(wide_px - one[0])) <= 1


def _sources(tags: FocalTags, size: Size, notes: list[str]) -> list[tuple[str, Camera]]:
    if tags.zoom != 1:
        return _usable({"FocalLengthIn35mmFilm": _zoomed(tags, size, notes)}, size, notes)
    lens = _lens(tags, size, notes)
    tries: dict[str, tuple[float, float] | None] = {
        "CalibratedFocalLength": _calibrated(tags, size, notes),
        "DewarpData": (lens.fx_px, lens.fy_px) if lens else None,
        "FocalLength with FocalPlaneXResolution": _focal_plane(tags, size, notes),
        "FocalLengthIn35mmFilm": _equivalent(tags, size),
    }
    cameras = _usable(tries, size, notes)
    if lens is None or not cameras:
        return cameras
    (source, camera), *others = cameras
    return [(source, with_lens(camera, lens, notes)), *others]


def _usable(
    tries: dict[str, tuple[float, float] | None], size: Size, notes: list[str]
) -> list[tuple[str, Camera]]:
    cameras = []
    for source, focal_px in tries.items():
        if focal_px is None:
            continue
        if all(_SHORTEST <= f / math.hypot(*size) <= _LONGEST for f in focal_px):
            cameras.append((source, Camera(*size, *focal_px)))
        else:
            notes.append(
                f"{source} is not a usable focal length ({focal_px[0]:.6g} px of {_times(size)}) "
                "and was not used"
            )
    return cameras


def _lens(tags: FocalTags, size: Size, notes: list[str]) -> Lens | None:
    """The lens of this one camera, unless the drone has straightened the photo already."""
    if tags.dewarp_data is None or tags.dewarped:
        return None
    if tags.declared is None and not _centred(tags.optical_center_px, size):
        notes.append("DewarpData belongs to another picture size and was not used")
        return None
    return lens_of(tags.dewarp_data, notes)


def _zoomed(tags: FocalTags, size: Size, notes: list[str]) -> tuple[float, float] | None:
    """By the 35-mm equivalent, where the tags decide whether it counts the digital zoom.

    With the focal length it implies how large the sensor is; of the two readings one is no sensor's size.
    """
    focal, zoom = _equivalent(tags, size), tags.zoom
    diagonal_mm = FULL_FRAME_DIAGONAL_MM * (tags.focal_mm or math.nan) / (tags.focal_35mm or math.nan)
    left_out, counted = (_SENSORS_MM[0] <= d <= _SENSORS_MM[1] for d in (diagonal_mm, zoom * diagonal_mm))
    if focal is None or left_out == counted:
        notes.append(
            f"the photo was zoomed digitally {zoom:g} times, and no tag says whether that is counted"
        )
        return None
    if counted:
        return focal
    notes.append(f"the photo was zoomed digitally {zoom:g} times: its focal length was multiplied with it")
    return zoom * focal[0], zoom * focal[1]


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


def _focal_plane(tags: FocalTags, size: Size, notes: list[str]) -> tuple[float, float] | None:
    if tags.focal_mm is None or tags.plane_x is None:
        return None
    unit = _INCH if tags.plane_unit is None else tags.plane_unit
    if unit not in _UNIT_MM:
        notes.append(f"FocalPlaneResolutionUnit is {unit:g}, which is no unit of length; it was not used")
        return None
    plane_y = tags.plane_x if tags.plane_y is None else tags.plane_y
    focal = tags.focal_mm / _UNIT_MM[unit]
    if not _is_sensor_size(tags.plane_x, plane_y, size):
        return focal * tags.plane_x, focal * plane_y
    sides = f"{tags.plane_x * _UNIT_MM[unit]:g} × {plane_y * _UNIT_MM[unit]:g} mm"
    notes.append(f"FocalPlaneXResolution and -YResolution are the size of the sensor here, {sides}")
    return focal / tags.plane_x * size[0], focal / plane_y * size[1]


def _is_sensor_size(plane_x: float, plane_y: float, size: Size) -> bool:
    """Whether the two have the frame's shape: as densities they would make pixels of that shape."""
    if not (plane_x > 0 and plane_y > 0):
        return False
    shape = size[0] / size[1]
    return abs(shape - 1) > _SAME and abs(plane_x / plane_y / shape - 1) <= _SAME


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


def _warn_of_wide(camera: Camera, notes: list[str]) -> None:
    share = camera.fx_px / math.hypot(camera.width_px, camera.height_px)
    if camera.lens is None and share < _WIDE:
        wide_deg = 2 * math.degrees(math.atan(0.5 / share))
        notes.append(
            f"the lens is wide ({wide_deg:.0f}° across the diagonal), and no tag says how it bends straight "
            "lines; a camera file with [lens] would"
        )


def _warn_of_cut(camera: Camera, notes: list[str]) -> None:
    """Sensors are 4:3 or 3:2; a photo of 16:9 is cut from theirs, and some cameras count the whole of it."""
    long, short = sorted((camera.width_px, camera.height_px), reverse=True)
    if long / short < _CUT:
        return
    more = math.hypot(long, 0.75 * long) / math.hypot(long, short) - 1
    notes.append(
        "FocalLengthIn35mmFilm was taken by the diagonal of the picture; if that is cut from a 4:3 sensor's, "
        f"focal length and altitude are {100 * more:.0f} % larger"
    )


def _missing_note(tags: FocalTags) -> str:
    if tags.focal_mm is None:
        return f"no tag says what the focal length is: {_GIVE}"
    known = f"the focal length is {tags.focal_mm:g} mm, but nothing says how large the sensor's pixels are"
    return f"{known}: {_GIVE}"


def _stitched_note(projection: str) -> str:
    return f"the picture was stitched from several ({projection}), so it has no focal length: use one of them"


def _cropped_note(stored: Size, declared: Size) -> str:
    return (
        f"the tags belong to a picture of {_times(declared)} px, the photo has {_times(stored)}: "
        f"it was cropped or turned, so its focal length is not known: {_GIVE}"
    )


def _times(size: Size) -> str:
    return f"{size[0]} × {size[1]}"
