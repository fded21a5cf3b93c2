"""Straightening a photo: as a pinhole camera would have taken it from the same place (ADR 46).

Everything after it measures in straight pictures whose principal point is the middle of the frame. The new
picture keeps the camera's size and focal length, so that its middle is as fine as it was; where the old one
does not reach its edges it is enlarged by just as much as is missing, and nothing is made up.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera, Lens
from nadirfix.errors import InputError

if TYPE_CHECKING:
    from cv2.typing import MatLike

__all__ = ["folds", "straight_camera", "undistorted"]

Floats = NDArray[np.float64]

#: A straight picture is at most so wide across its diagonal: at its corners a pixel covers four times the
#: angle, each way outwards, that it covers in the middle.
_WIDEST_DEG = 120.0
#: A picture enlarged by more than this for want of edges has a principal point far off the middle.
_MOST_ENLARGED = 4.0
#: Points along each side of the frame, and from the middle to a corner, that are tried.
_ALONG = 33
#: Straightened at a time, in pixels: six bytes a pixel say where each comes from.
_STRIP_PX = 1 << 21
#: Such tables kept, together 50 MB: those of a photo of 8 megapixels, for the photos after it.
_KEPT_STRIPS = 4
#: OpenCV counts pixels in 16 bits there.
_LARGEST_PX = 32_000


def undistorted(pixels: NDArray[np.uint8], camera: Camera) -> tuple[NDArray[np.uint8], Camera]:
    """The photo straightened, and the camera that would have taken it so; as it is where it has no lens."""
    if camera.lens is None:
        return pixels, camera
    import cv2

    straight, new = straight_camera(camera), np.empty_like(pixels)
    count = max(1, _STRIP_PX // camera.width_px)
    for first in range(0, camera.height_px, count):
        strip = new[first : first + count]
        columns, rows = _maps(camera, straight, first, len(strip))
        cv2.remap(pixels, columns, rows, cv2.INTER_LINEAR, dst=strip, borderMode=cv2.BORDER_REPLICATE)
    return new, straight


@lru_cache(maxsize=64)
def straight_camera(camera: Camera) -> Camera:
    """The pinhole camera that photos of this one are straightened for."""
    if camera.lens is None:
        return camera
    if max(camera.width_px, camera.height_px) > _LARGEST_PX:
        raise _unusable(camera, f"it has more than {_LARGEST_PX} px along a side")
    least = max(1.0, _half_diagonal(camera) / math.tan(math.radians(_WIDEST_DEG / 2)))
    pinhole = _enlarged(replace(camera, lens=None), least)
    if folds(pinhole, camera.lens):
        raise _unusable(camera, "its coefficients fold the picture over before the corner of the frame")
    enlarged = _least_enlarged(camera, least)
    if enlarged is None:
        raise _unusable(camera, "its principal point is too far from the middle of the frame")
    return _enlarged(pinhole, enlarged / least)


def folds(pinhole: Camera, lens: Lens) -> bool:
    """Whether points further out in the straight picture come further in in the bent one."""
    out = np.linspace(0.0, 1.0, _ALONG)
    right, down = out * pinhole.width_px / pinhole.fx_px / 2, out * pinhole.height_px / pinhole.fy_px / 2
    radius = np.hypot(right, down)
    return bool((np.diff(_bent_radius(radius, lens)) <= 0).any())


def _bent_radius(radius: Floats, lens: Lens) -> Floats:
    """How far from the principal point a ray ends, in focal lengths, of its tangent."""
    base = np.arctan(radius) if lens.model == "fisheye" else radius
    series = 1 + sum(k * base ** (2 * i) for i, k in enumerate(lens.radial, 1))
    return np.asarray(base * series, np.float64)


def _half_diagonal(camera: Camera) -> float:
    return math.hypot(camera.width_px / camera.fx_px, camera.height_px / camera.fy_px) / 2


def _enlarged(camera: Camera, by: float) -> Camera:
    return replace(camera, fx_px=camera.fx_px * by, fy_px=camera.fy_px * by)


def _least_enlarged(camera: Camera, least: float) -> float | None:
    """The smallest enlargement at which the bent picture reaches every edge of the straight one."""
    if _reaches(camera, least):
        return least
    low, high = least, _MOST_ENLARGED * least
    if not _reaches(camera, high):
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if _reaches(camera, middle) else (middle, high)
    return high


def _reaches(camera: Camera, enlarged: float) -> bool:
    """Whether the edge of the straight picture, so much enlarged, lies within the bent one."""
    assert camera.lens is not None
    half = (camera.width_px - 1) / 2, (camera.height_px - 1) / 2
    along = np.linspace(-1.0, 1.0, _ALONG)
    ends, ones = np.repeat([-1.0, 1.0], _ALONG), np.tile(along, 2)
    right = np.concatenate([ends, ones]) * half[0] / (camera.fx_px * enlarged)
    down = np.concatenate([ones, ends]) * half[1] / (camera.fy_px * enlarged)
    bent_right, bent_down = _bent(right, down, camera.lens)
    within = (np.abs(bent_right) <= half[0] + 1e-6) & (np.abs(bent_down) <= half[1] + 1e-6)
    return bool(within.all())


def _bent(right: Floats, down: Floats, lens: Lens) -> tuple[Floats, Floats]:
    """Where rays, given by their tangents, end in the bent picture: pixels from the middle of its frame."""
    radius = np.hypot(right, down)
    longer = np.divide(_bent_radius(radius, lens), radius, out=np.ones_like(radius), where=radius > 0)
    p1, p2 = lens.tangential
    off = 2 * (p2 * right + p1 * down)
    x = right * (longer + off) + p2 * radius**2
    y = down * (longer + off) + p1 * radius**2
    return lens.fx_px * x + lens.center_px[0], lens.fy_px * y + lens.center_px[1]


@lru_cache(maxsize=_KEPT_STRIPS)
def _maps(camera: Camera, straight: Camera, first: int, count: int) -> tuple[MatLike, MatLike]:
    """Where each pixel of these rows of the straight photo comes from."""
    import cv2

    assert camera.lens is not None
    lens, size = camera.lens, (camera.width_px, camera.height_px)
    bent_matrix = _matrix(lens.fx_px, lens.fy_px, size, lens.center_px)
    matrix = _matrix(straight.fx_px, straight.fy_px, size, (0.0, -float(first)))
    fisheye: Any = cv2.fisheye
    if lens.model == "fisheye":
        coefficients, make = np.array(lens.radial), fisheye.initUndistortRectifyMap
    else:
        k1, k2, k3 = lens.radial
        coefficients, make = np.array([k1, k2, *lens.tangential, k3]), cv2.initUndistortRectifyMap
    columns, rows = make(bent_matrix, coefficients, np.eye(3), matrix, (size[0], count), cv2.CV_16SC2)
    return columns, rows


def _matrix(fx_px: float, fy_px: float, size: tuple[int, int], center_px: tuple[float, float]) -> Floats:
    """The matrix of a camera whose principal point is counted from the middle of the frame."""
    cx_px, cy_px = ((s - 1) / 2 + c for s, c in zip(size, center_px, strict=True))
    return np.array([[fx_px, 0.0, cx_px], [0.0, fy_px, cy_px], [0.0, 0.0, 1.0]])


def _unusable(camera: Camera, why: str) -> InputError:
    do = "check the coefficients and the principal point; docs/cameras.md says what they are"
    return InputError(
        "camera.invalid", "the photo cannot be straightened", seen=f"{camera.spec}: {why}", do=do
    )
