"""What a photo's tags state: camera, orientation, and where the drone thought it was (ADR 6).

EXIF and XMP come as plain values from ``tag_blocks``. Nothing is ever invented: what is missing or makes no
sense stays unknown, and ``notes`` explains what and why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from PIL import Image

from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.decode import open_photo
from nadirfix.image.focal import FocalTags, Size, camera_from_tags, same_shape
from nadirfix.image.photo_source import Photo
from nadirfix.image.tag_blocks import ExifValue, exif_values, orientation_of, xmp_values
from nadirfix.options.locate import MAX_PIXELS
from nadirfix.types.gimbal import Gimbal

__all__ = ["NOMINAL", "ChosenCamera", "PhotoTags", "choose_camera", "read_tags"]

#: A photo's tags by name.
Values = Mapping[str, ExifValue]

#: Yaw, pitch and roll of the camera as DJI and Autel, and as Parrot spell them.
_GIMBALS = (
    ("GimbalYawDegree", "GimbalPitchDegree", "GimbalRollDegree"),
    ("CameraYawDegree", "CameraPitchDegree", "CameraRollDegree"),
)
_TURNED = range(5, 9)
#: No picture is wider or higher.
_MOST_SIDE_PX = 1_000_000
#: The source of a camera that nobody named and no tag tells.
NOMINAL = "nominal"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoTags:
    """What a photo's tags tell; sizes and camera are those of the upright picture.

    ``relative_altitude_m`` is above the take-off point, which need not be the ground below, and
    ``gps_altitude_m`` above the sea. Gimbal pitch is −90 straight down. ``lonlat`` is where the drone was,
    not the middle of the picture; ``position_error_m`` is how far that may be off.
    """

    width_px: int
    height_px: int
    camera: Camera | None = None
    camera_source: str = ""
    orientation: int = 1
    relative_altitude_m: float | None = None
    gps_altitude_m: float | None = None
    gimbal_yaw_deg: float | None = None
    gimbal_pitch_deg: float | None = None
    gimbal_roll_deg: float | None = None
    lonlat: tuple[float, float] | None = None
    position_error_m: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def heading_deg(self) -> float | None:
        """Where the top of a straight-down photo points: there yaw and roll turn about the same axis."""
        if self.gimbal_yaw_deg is None:
            return None
        return (self.gimbal_yaw_deg + (self.gimbal_roll_deg or 0.0)) % 360

    @property
    def gimbal(self) -> Gimbal | None:
        """How the camera hung; None where nothing says its pitch, or where that is none a gimbal has.

        Tags count for the upright picture only where it was stored so: nobody says which way a gimbal turned.
        """
        pitch_deg, roll_deg, yaw_deg = self.gimbal_pitch_deg, self.gimbal_roll_deg, self.gimbal_yaw_deg
        if pitch_deg is None or self.orientation != 1:
            return None
        try:
            return Gimbal(pitch_deg=pitch_deg, roll_deg=roll_deg or 0.0, yaw_deg=yaw_deg, source="tags")
        except InputError:
            return None


@dataclass(frozen=True, slots=True)
class ChosenCamera:
    """The camera a photo is measured with, where it came from, and warnings about it."""

    camera: Camera
    source: str
    warnings: tuple[str, ...] = ()


def read_tags(photo: Photo, *, max_pixels: int = MAX_PIXELS) -> PhotoTags:
    """Everything a photo's tags tell about its camera and its pose."""
    with open_photo(photo, max_pixels=max_pixels) as image:
        notes: list[str] = []
        exif, xmp = exif_values(image, notes), xmp_values(image, notes)
        orientation = _orientation(image, exif, notes)
        stored = _stored_size(image, orientation)
        camera, source, camera_notes = camera_from_tags(_focal_tags(exif, xmp), stored)
        gimbal = _gimbal(xmp, notes)
        turned = orientation in _TURNED
        return PhotoTags(
            width_px=stored[1] if turned else stored[0],
            height_px=stored[0] if turned else stored[1],
            camera=camera and camera.oriented(orientation),
            camera_source=source,
            orientation=orientation,
            relative_altitude_m=_finite(xmp, "RelativeAltitude", notes),
            gps_altitude_m=_height_m(exif, notes),
            gimbal_yaw_deg=gimbal[0],
            gimbal_pitch_deg=gimbal[1],
            gimbal_roll_deg=gimbal[2],
            lonlat=_lonlat(exif, notes),
            position_error_m=_position_error_m(exif, xmp, notes),
            notes=(*notes, *camera_notes),
        )


def choose_camera(tags: PhotoTags, *, explicit: Camera | None, nominal: Camera | None) -> ChosenCamera:
    """The camera to measure a photo with: the one given, else the photo's own, else the nominal one."""
    if explicit is not None:
        return ChosenCamera(_fitted(explicit, tags), "--camera")
    if tags.camera is not None:
        return ChosenCamera(tags.camera, tags.camera_source, tags.notes)
    if nominal is None:
        raise InputError(
            "camera.unknown",
            "the photo does not say what its camera is",
            seen="; ".join(tags.notes) or "no camera tags",
            do="give --camera as WIDTHxHEIGHT@FOCAL in pixels",
        )
    warning = f"the photo does not say what its camera is; the nominal camera {nominal.spec} was assumed"
    return ChosenCamera(_fitted(nominal, tags), NOMINAL, (*tags.notes, warning))


def _fitted(camera: Camera, tags: PhotoTags) -> Camera:
    """The camera at the photo's own size; a picture of another shape is not this camera's.

    A camera is that of its pictures as stored and turns upright with them; one of a portrait's shape is
    taken as it is. Without a lens it does not matter to which side a picture was turned.
    """
    size = (tags.width_px, tags.height_px)
    turns = (tags.orientation, 1) if camera.lens else (tags.orientation, 1, 6)
    for turned in map(camera.oriented, turns):
        if same_shape(size, (turned.width_px, turned.height_px)):
            return turned.resized(*size)
    raise InputError(
        "camera.invalid",
        "the photo's shape is not the camera's",
        seen=f"photo {size[0]}x{size[1]}, camera {camera.spec}",
        do="give --camera for the size of this photo",
    )


def _orientation(image: Image.Image, exif: Values, notes: list[str]) -> int:
    orientation = orientation_of(image)
    if exif.get("Orientation", orientation) != orientation:
        notes.append(
            f"Orientation is {exif['Orientation']!r}, which means nothing; the photo counts as upright"
        )
    return orientation


def _stored_size(image: Image.Image, orientation: int) -> Size:
    """The size before turning upright; for TIFF Pillow has already swapped it."""
    width_px, height_px = image.size
    swapped = image.format == "TIFF" and orientation in _TURNED
    return (height_px, width_px) if swapped else (width_px, height_px)


def _focal_tags(exif: Values, xmp: Mapping[str, str]) -> FocalTags:
    center = (_number(xmp, "CalibratedOpticalCenterX"), _number(xmp, "CalibratedOpticalCenterY"))
    unit = _number(exif, "FocalPlaneResolutionUnit")
    return FocalTags(
        declared=_declared(exif),
        calibrated_px=_number(xmp, "CalibratedFocalLength"),
        optical_center_px=None if center[0] is None or center[1] is None else (center[0], center[1]),
        focal_mm=_number(exif, "FocalLength"),
        plane_x=_number(exif, "FocalPlaneXResolution"),
        plane_y=_number(exif, "FocalPlaneYResolution"),
        plane_unit=None if unit is None or math.isnan(unit) else unit,
        focal_35mm=_number(exif, "FocalLengthIn35mmFilm"),
        digital_zoom=_number(exif, "DigitalZoomRatio"),
        dewarp_data=xmp.get("DewarpData"),
        dewarped=_number(xmp, "DewarpFlag") == 1,
        projection=xmp.get("ProjectionType"),
    )


def _declared(exif: Values) -> Size | None:
    """The size the camera wrote down; it stays when a program makes the picture smaller."""
    width_px, height_px = exif.get("ExifImageWidth"), exif.get("ExifImageHeight")
    if not (isinstance(width_px, int) and isinstance(height_px, int)):
        return None
    return (width_px, height_px) if 0 < min(width_px, height_px) <= _MOST_SIDE_PX else None


def _gimbal(xmp: Values, notes: list[str]) -> tuple[float | None, float | None, float | None]:
    """Yaw, pitch and roll; all zero is what a drone writes when it does not know."""
    spelled = next((names for names in _GIMBALS if any(n in xmp for n in names)), None)
    if spelled is None:
        return None, None, None
    yaw, pitch, roll = (_finite(xmp, name, notes) for name in spelled)
    known = [angle for angle in (yaw, pitch, roll) if angle is not None]
    if known and not any(known):
        notes.append(
            "yaw, pitch and roll of the camera are all zero, which drones write when they do not know"
        )
        return None, None, None
    return yaw, pitch, roll


def _lonlat(exif: Values, notes: list[str]) -> tuple[float, float] | None:
    if "GPSLatitude" not in exif or "GPSLongitude" not in exif:
        return None
    lon_deg = _degrees(exif["GPSLongitude"], exif.get("GPSLongitudeRef"), "W")
    lat_deg = _degrees(exif["GPSLatitude"], exif.get("GPSLatitudeRef"), "S")
    real = abs(lon_deg) <= 180 and abs(lat_deg) <= 90 and (lon_deg, lat_deg) != (0, 0)
    if real:
        return lon_deg, lat_deg
    notes.append(f"GPS longitude {lon_deg:g} and latitude {lat_deg:g} are no place a drone flies")
    return None


def _position_error_m(exif: Values, xmp: Values, notes: list[str]) -> float | None:
    """The accuracy a receiver states: EXIF's, or the deviations DJI writes of both axes; 0 is unknown."""
    stated = [_finite(exif, "GPSHPositioningError", notes)]
    stated += [_finite(xmp, name, notes) for name in ("RtkStdLon", "RtkStdLat")]
    known = [error_m for error_m in stated if error_m is not None and error_m > 0]
    return max(known, default=None)


def _height_m(exif: Values, notes: list[str]) -> float | None:
    """Metres above the sea; the reference is a byte, 1 below it."""
    height_m = _finite(exif, "GPSAltitude", notes)
    below = exif.get("GPSAltitudeRef") in (1, b"\x01")
    return -height_m if below and height_m is not None else height_m


def _degrees(parts: ExifValue, reference: ExifValue | None, negative: str) -> float:
    """Degrees, minutes and seconds as one number; NaN where they are not three numbers."""
    if not isinstance(parts, tuple) or len(parts) != 3:
        return math.nan
    degrees, minutes, seconds = parts
    size = degrees + minutes / 60 + seconds / 3600
    return -size if str(reference).strip("\0 ").upper() == negative else size


def _finite(values: Values, name: str, notes: list[str]) -> float | None:
    number = _number(values, name)
    if number is not None and not math.isfinite(number):
        notes.append(f"{name} is {values[name]!r}, which is no number, and was not used")
        return None
    return number


def _number(values: Values, name: str) -> float | None:
    """The tag as a number, NaN if it is none, None if it is missing."""
    value = values.get(name)
    if value is None:
        return None
    try:
        return math.nan if isinstance(value, tuple) else float(value)
    except (ValueError, OverflowError):
        return math.nan
