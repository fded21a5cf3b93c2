"""Photos as pixels: any common format, upright, eight bits of red, green and blue (ADR 23).

The size is checked before anything is decoded, so that a small file cannot ask for all memory.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError

from nadirfix.errors import InputError

__all__ = ["DecodeResolution", "Photo", "decode", "open_photo", "orientation_of"]

#: A photo on disk, its bytes, its pixels (grey, or red, green and blue, of eight bits), or a Pillow image.
Photo = Path | str | bytes | NDArray[Any] | Image.Image

#: Pictures as phones store them: what such a file begins with, after four bytes of length.
_HEIC = tuple(b"ftyp" + brand for brand in (b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"))

_DO_OPEN = "give a JPEG, PNG, TIFF, WebP or JPEG 2000 photo"
#: What Pillow's readers raise on damaged files, besides OSError.
_DAMAGED = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    TypeError,
    KeyError,
    struct.error,
    zlib.error,
)
#: What has to be done to the stored pixels for each EXIF orientation.
_TURN = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
#: Orientations that change width and height.
_ON_ITS_SIDE = (5, 6, 7, 8)
#: Depths sensors deliver: the brightest value tells which one a 16-bit file really uses.
_WHITE_LEVELS = tuple(2**bits - 1 for bits in (8, 10, 12, 14, 16, 24, 32))


@dataclass(frozen=True, slots=True)
class DecodeResolution:
    """The resolution a photo is needed at: the size it is expected to have, and the least that is enough."""

    whole_px: tuple[int, int]
    least_px: tuple[int, int]

    def reduction(self, size_px: tuple[int, int]) -> int:
        """By how much a photo of this size may be made smaller: 1, 2, 4 or 8, never by part of a pixel."""
        if size_px != self.whole_px:
            return 1
        sides = list(zip(size_px, self.least_px, strict=True))
        fitting = [f for f in (2, 4, 8) if all(s % f == 0 and s // f >= least for s, least in sides)]
        return max(fitting, default=1)


def decode(photo: Photo, *, max_pixels: int, resolution: DecodeResolution | None = None) -> NDArray[np.uint8]:
    """The photo upright as (height, width, 3) RGB bytes, or a clear error.

    With ``resolution`` a JPEG may come out half, a quarter or an eighth as wide and high, each pixel the mean
    of those it stands for: its decoder then leaves out detail that is not needed.
    Transparent parts come out black. Grey of more than eight bits is scaled so that the smallest common
    sensor depth that holds its brightest pixel becomes white.
    """
    with open_photo(photo) as image:
        _check_size(image, photo, max_pixels)
        try:
            quickly = _from_jpeg(photo, image, resolution)
            return np.array(_rgb(_upright(image)), dtype=np.uint8) if quickly is None else quickly
        except _DAMAGED as error:
            do = "copy it from the camera again; it may have been cut short"
            raise _unreadable(photo, f"damaged ({error})", do) from error


@contextmanager
def open_photo(photo: Photo) -> Iterator[Image.Image]:
    """The opened photo with only its header read; an image that is open already stays so."""
    if isinstance(photo, Image.Image):
        yield photo
        return
    if isinstance(photo, np.ndarray):
        yield _from_array(photo)
        return
    _check_there(photo)
    _prepare_heic(photo)
    try:
        image = Image.open(io.BytesIO(photo) if isinstance(photo, bytes) else photo)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(photo, str(error)) from error
    except UnidentifiedImageError as error:
        raise _unreadable(photo, "not a picture in a known format", _DO_OPEN) from error
    except _DAMAGED as error:
        raise _unreadable(photo, f"damaged ({error})", _DO_OPEN) from error
    with image:
        yield image


def orientation_of(image: Image.Image) -> int:
    """The EXIF orientation, 1 to 8; upright where there is none, or none that makes sense."""
    try:
        value = image.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # Pillow's EXIF reader raises many kinds; the pixels are fine all the same
        return 1
    return value if value in _TURN else 1


def _from_array(pixels: NDArray[Any]) -> Image.Image:
    """Pixels as an image; what they mean is never guessed."""
    shape_ok = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)
    if not (shape_ok and pixels.size and pixels.dtype == np.uint8):
        do = "give rows × columns × 3 (red, green, blue) or rows × columns (grey) of 8 bits (uint8)"
        raise _unreadable(pixels, f"an array of {pixels.dtype}", do)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _prepare_heic(photo: Path | str | bytes) -> None:
    """Teach Pillow to read HEIC when one comes; it cannot by itself."""
    if not _first_bytes(photo)[4:].startswith(_HEIC):
        return
    try:
        from pillow_heif import register_heif_opener
    except ImportError as error:
        do = "pip install 'nadirfix[heic]', or save the photo as JPEG with all its tags"
        raise _unreadable(photo, "HEIC, which needs an extra", do) from error
    register_heif_opener()


def _first_bytes(photo: Path | str | bytes) -> bytes:
    if isinstance(photo, bytes):
        return photo[:12]
    try:
        with Path(photo).open("rb") as file:
            return file.read(12)
    except OSError as error:
        raise _unreadable(photo, error.strerror or "cannot be opened", _DO_OPEN) from error


def _check_there(photo: Path | str | bytes) -> None:
    size = len(photo) if isinstance(photo, bytes) else _file_size(Path(photo))
    if size == 0:
        raise _unreadable(photo, "empty, 0 bytes", _DO_OPEN)


def _file_size(path: Path) -> int:
    if not path.exists():
        do = "check the path; it is relative to the folder you are in"
        raise InputError("photo.missing", "the photo is not there", seen=str(path), do=do)
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "not a plain file"
        raise _unreadable(path, kind, "name a photo file")
    return path.stat().st_size


def _check_size(image: Image.Image, photo: Photo, max_pixels: int) -> None:
    width_px, height_px = image.size
    if width_px * height_px > max_pixels:
        raise _too_large(photo, f"{width_px} × {height_px} px, limit {max_pixels:,} pixels")


def _upright(image: Image.Image) -> Image.Image:
    """The picture as it was held."""
    orientation = orientation_of(image)
    image.load()
    turns_itself = image.format == "TIFF"  # Pillow's TIFF reader does so while loading
    return image if orientation == 1 or turns_itself else image.transpose(_TURN[orientation])


def _from_jpeg(
    photo: Photo, image: Image.Image, resolution: DecodeResolution | None
) -> NDArray[np.uint8] | None:
    """A common JPEG upright, the same pixels as Pillow's in half the time; None for anything else.

    Whatever its decoder refuses is left to Pillow, which can read more.
    """
    if image.format not in ("JPEG", "MPO") or image.mode not in ("RGB", "L"):
        return None
    if isinstance(photo, np.ndarray | Image.Image):  # its file may be closed or its pixels changed by now
        return None
    import simplejpeg

    orientation, (width, height) = orientation_of(image), image.size
    upright = (height, width) if orientation in _ON_ITS_SIDE else (width, height)
    smaller = resolution.reduction(upright) if resolution else 1
    least = {"min_width": width // smaller, "min_height": height // smaller} if smaller > 1 else {}
    data = photo if isinstance(photo, bytes) else Path(photo).read_bytes()
    try:
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, colorspace="RGB", **least)
    except ValueError:
        return None
    if pixels.shape[1::-1] != (width // smaller, height // smaller):
        return None
    return _turned(pixels, orientation)


def _turned(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """Pixels as the photo was held: mirrored along the diagonal first, then along rows and columns."""
    across = pixels.transpose(1, 0, 2) if orientation in _ON_ITS_SIDE else pixels
    down = -1 if orientation in (3, 4, 7, 8) else 1
    right = -1 if orientation in (2, 3, 6, 7) else 1
    return np.ascontiguousarray(across[::down, ::right])


def _rgb(image: Image.Image) -> Image.Image | NDArray[np.uint8]:
    if image.mode == "RGB":
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return _grey_from_deep(np.asarray(image))
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        return _on_black(image)
    return image.convert("RGB")


def _on_black(image: Image.Image) -> Image.Image:
    """Under full transparency lies whatever a program left there; black is at least always the same."""
    ground = Image.new("RGBA", image.size, "black")
    return Image.alpha_composite(ground, image.convert("RGBA")).convert("RGB")


def _grey_from_deep(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    deep = np.nan_to_num(values.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    grey = np.rint(np.clip(deep / _white(float(deep.max()), values.dtype), 0, 1) * 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _white(brightest: float, dtype: np.dtype[np.generic]) -> float:
    if dtype.kind == "f" and brightest <= 1:
        return 1.0
    return float(next((level for level in _WHITE_LEVELS if brightest <= level), brightest))


def _name(photo: Photo) -> str:
    if isinstance(photo, np.ndarray | Image.Image):
        sides = photo.shape if isinstance(photo, np.ndarray) else photo.size
        return " × ".join(str(side) for side in sides)
    return f"{len(photo)} bytes" if isinstance(photo, bytes) else str(photo)


def _unreadable(photo: Photo, why: str, do: str) -> InputError:
    return InputError("photo.unreadable", "the photo cannot be read", seen=f"{_name(photo)} ({why})", do=do)


def _too_large(photo: Photo, why: str) -> InputError:
    do = "make it smaller first, and scale the camera's focal length with it"
    return InputError(
        "photo.too_large", "the photo has too many pixels", seen=f"{_name(photo)} ({why})", do=do
    )
