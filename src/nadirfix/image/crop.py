"""Crop to the canonical scale: the middle of the photo, as if it had been taken from the canonical altitude.

Everything is computed in ground metres: the photo's ground sampling distance and the canonical footprint.
Altitude and focal length enter only through them, so that no ratio can be counted twice. The window is cut
first and resampled after; the enlarged picture is never made, not even where the crop is to be as if it were
(ADR 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.enlarge import enlarged_then_averaged
from nadirfix.image.resampling import (
    Picture,
    Pixels,
    apply_weights,
    area_weights,
    area_weights_rgb,
    pixel_span,
)
from nadirfix.options.recipe import Enlarge

__all__ = [
    "Canonical",
    "Crop",
    "Picture",
    "Pixels",
    "ScaledPhoto",
    "canonical_crop",
    "crop_window_px",
    "network_frame",
    "photo_gsd_m",
    "resample",
    "scaled_photo",
]

Floats = NDArray[np.float64]
Pair = tuple[float, float]

#: Windows this much wider than the frame, relative to it, are rounding and not a photo from too low.
_TOLERANCE = 1e-9
#: A scaled photo is at most so many crops wide and high; from higher up it loses its edges, to save memory.
_MOST_CROPS = 12


@dataclass(frozen=True, slots=True)
class Canonical:
    """What references cover: the ground under the nominal camera at the canonical altitude."""

    camera: Camera
    altitude_m: float

    @property
    def footprint_m(self) -> tuple[float, float]:
        """Width and height of the ground a reference covers."""
        return self.camera.footprint_m(self.altitude_m)


@dataclass(frozen=True, slots=True, eq=False)
class Crop:
    """The cut-out at network size, the camera that would take it, and whether the frame was too small."""

    pixels: Picture
    camera: Camera
    clamped: bool


@dataclass(frozen=True, slots=True, eq=False)
class ScaledPhoto:
    """A whole photo at the references' scale, and how many of its own pixels make one scaled pixel."""

    pixels: Picture
    step_px: Pair
    crop_px: tuple[int, int]

    def crops(self, per_side: int) -> tuple[Picture, Floats]:
        """Crops spread evenly over it, and their centres right of and above its own, in photo pixels.

        At most so many per side; fewer where they would overlap by more than half.
        """
        across, down = (self._first_px(axis, per_side) for axis in (0, 1))
        corners = [(x, y) for y in down for x in across]
        width, height = self.crop_px
        crops = [self.pixels[y : y + height, x : x + width] for x, y in corners]
        rows, columns = self.pixels.shape[:2]
        middle = np.array(corners) + np.array(self.crop_px) / 2 - np.array([columns, rows]) / 2
        return np.stack(crops), np.asarray(middle * np.array(self.step_px) * [1, -1], np.float64)

    def _first_px(self, axis: int, per_side: int) -> list[int]:
        room = self.pixels.shape[1 - axis] - self.crop_px[axis]
        count = min(per_side, 1 + int(np.ceil(2 * room / self.crop_px[axis] - 0.2)))
        return [room // 2] if count <= 1 else np.rint(np.linspace(0, room, count)).astype(int).tolist()


def photo_gsd_m(network_altitude_m: float, *, nominal: Camera, photo: Camera) -> float:
    """Ground metres per pixel of the photo, from the altitude the network estimated for the nominal camera.

    The network gets the photo at the nominal width, whatever lens took it: it estimates gsd, not altitude.
    The true altitude is then ``photo.altitude_m(gsd)``.
    """
    width, _ = _aspect_window_px(photo, nominal)
    return nominal.gsd_m(network_altitude_m) * nominal.width_px / width


def network_frame(
    pixels: Pixels, photo: Camera, nominal: Camera, *, width_px: int, height_px: int
) -> Picture:
    """The photo at network size; a photo of another shape than the nominal one loses its longer ends.

    Squeezing it instead would change the ground sampling distance along one side.
    """
    _check_camera(pixels, photo)
    return resample(pixels, _aspect_window_px(photo, nominal), width_px=width_px, height_px=height_px)


def canonical_crop(
    pixels: Pixels,
    photo: Camera,
    gsd_m: float,
    canonical: Canonical,
    *,
    width_px: int,
    height_px: int,
    enlarge: Enlarge = "mean",
) -> Crop:
    """The middle of the photo that covers the canonical footprint, at network size.

    A photo from below the canonical altitude does not cover it: then as much as the frame holds is taken,
    and ``clamped`` is True; nothing is padded. Cubic is as published: as if the photo were enlarged first; a
    photo that need not be, or is smaller than the network's, is resampled as usual.
    """
    _check_camera(pixels, photo)
    (width, height), clamped = crop_window_px(photo, gsd_m, canonical)
    fine = photo.width_px >= width_px and photo.height_px >= height_px
    resampler = enlarged_then_averaged if enlarge == "cubic" and fine and not clamped else resample
    cropped = resampler(pixels, (width, height), width_px=width_px, height_px=height_px)
    scale_x, scale_y = width_px / width, height_px / height
    return Crop(cropped, Camera(width_px, height_px, photo.fx_px * scale_x, photo.fy_px * scale_y), clamped)


def scaled_photo(
    pixels: Pixels, photo: Camera, gsd_m: float, canonical: Canonical, *, width_px: int, height_px: int
) -> ScaledPhoto:
    """The whole photo at the references' scale: every crop of this size covers a reference's ground.

    Of a photo from more than twelve times the canonical altitude it is the middle.
    """
    _check_camera(pixels, photo)
    window, _ = crop_window_px(photo, gsd_m, canonical)
    columns = int(min(photo.width_px / window[0], _MOST_CROPS) * width_px + _TOLERANCE)
    rows = int(min(photo.height_px / window[1], _MOST_CROPS) * height_px + _TOLERANCE)
    step = window[0] / width_px, window[1] / height_px
    whole = columns * step[0], rows * step[1]
    return ScaledPhoto(resample(pixels, whole, width_px=columns, height_px=rows), step, (width_px, height_px))


def crop_window_px(photo: Camera, gsd_m: float, canonical: Canonical) -> tuple[tuple[float, float], bool]:
    """Width and height, in photo pixels, of the canonical footprint; and whether the frame is smaller."""
    if not 0 < gsd_m < np.inf:
        raise InputError(
            "altitude.invalid",
            "the ground sampling distance must be a positive number of metres per pixel",
            seen=f"{gsd_m}",
            do="give an altitude above 0 m",
        )
    width_m, height_m = canonical.footprint_m
    gsd_y_m = gsd_m * photo.fx_px / photo.fy_px
    width, height = width_m / gsd_m, height_m / gsd_y_m
    fits = min(photo.width_px / width, photo.height_px / height)
    if fits < 1:
        width, height = width * fits, height * fits
    return (_snapped(width, photo.width_px), _snapped(height, photo.height_px)), fits < 1 - _TOLERANCE


def resample(pixels: Pixels, window_px: tuple[float, float], *, width_px: int, height_px: int) -> Picture:
    """The central window of a picture at another size, centred to a fraction of a pixel.

    Shrinking averages the area under each new pixel, fractions of pixels included; enlarging interpolates
    with a cubic. The middle stays the middle for every window.
    """
    frame = pixels.shape[1], pixels.shape[0]
    if frame == tuple(window_px) == (width_px, height_px):
        return pixels.astype(np.float32)
    columns = _edges(frame[0], window_px[0], width_px)
    rows = _edges(frame[1], window_px[1], height_px)
    enlarges = window_px[0] < width_px or window_px[1] < height_px
    return _interpolated(pixels, columns, rows) if enlarges else _area_means(pixels, columns, rows)


def _check_camera(pixels: Pixels, photo: Camera) -> None:
    if pixels.shape[:2] != (photo.height_px, photo.width_px):
        raise InputError(
            "camera.invalid",
            "the camera does not fit the picture",
            seen=f"{photo.spec} for a picture of {pixels.shape[1]}x{pixels.shape[0]} px",
            do="give the camera of the picture as it is, or resize both",
        )


def _aspect_window_px(photo: Camera, nominal: Camera) -> tuple[float, float]:
    """The largest central window of the photo whose footprint has the nominal one's shape."""
    wide, high = nominal.footprint_m(1.0)
    width, height = wide * photo.fx_px, high * photo.fy_px
    fits = min(photo.width_px / width, photo.height_px / height)
    return _snapped(width * fits, photo.width_px), _snapped(height * fits, photo.height_px)


def _snapped(window_px: float, frame_px: int) -> float:
    """The window, or the frame itself where they differ by rounding only."""
    return float(frame_px) if abs(window_px - frame_px) <= _TOLERANCE * frame_px else window_px


def _edges(frame_px: int, window_px: float, count: int) -> Floats:
    """Where the new pixels begin and end along one axis, in old pixels."""
    return np.asarray((frame_px - window_px) / 2 + window_px / count * np.arange(count + 1), np.float64)


def _interpolated(pixels: Pixels, columns: Floats, rows: Floats) -> Picture:
    """Enlarged by a cubic, which reaches beyond the window; beyond the frame the last pixel goes on."""
    x, y = pixel_span(columns, pixels.shape[1], margin=3), pixel_span(rows, pixels.shape[0], margin=3)
    x_scale, y_scale = columns[1] - columns[0], rows[1] - rows[0]
    # The middle of the first new pixel, counted from the middle of the first old one.
    x_shift, y_shift = columns[:2].mean() - x.start - 0.5, rows[:2].mean() - y.start - 0.5
    photo_from_crop = np.array([[x_scale, 0.0, x_shift], [0.0, y_scale, y_shift]])
    enlarged = cv2.warpAffine(
        pixels[y, x].astype(np.float32), photo_from_crop, (columns.size - 1, rows.size - 1),
        flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    return np.clip(np.asarray(enlarged, np.float32), 0, 255)


def _area_means(pixels: Pixels, columns: Floats, rows: Floats) -> Picture:
    """The mean of the picture between each pair of edges, fractions of pixels included: exact."""
    x = pixel_span(columns, pixels.shape[1], margin=0)
    down = area_weights(rows[0], rows[-1], rows.size - 1, len(pixels))
    across = area_weights_rgb(columns[0] - x.start, columns[-1] - x.start, columns.size - 1, x.stop - x.start)
    return apply_weights(pixels, x, down, across)
