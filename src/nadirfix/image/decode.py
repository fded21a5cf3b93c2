"""Photos as pixels: any common format, upright, eight bits of red, green and blue (ADR 23, 55).

The size is checked before anything is decoded, so that a small file cannot ask for all memory.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from nadirfix.errors import NadirfixError
from nadirfix.image.headers import FORMATS, HEIC, MOST_SCANS, check_header, is_heic, jpeg_work, webp_size_px
from nadirfix.image.photo_source import DO_OPEN, Photo, check_there, open_file, too_large, unreadable
from nadirfix.image.tag_blocks import orientation_of
from nadirfix.options.locate import MAX_PIXELS

__all__ = ["DecodeResolution", "Decoder", "Photo", "decode", "open_photo", "reading_photo"]

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
    do = "copy it from the camera again; it may have been cut short"
    with open_photo(photo, max_pixels=max_pixels) as image, reading_photo(photo, do):
        quickly = _from_jpeg(photo, image, resolution)
        return np.array(_rgb(_upright(image)), dtype=np.uint8) if quickly is None else quickly


class Decoder(Protocol):
    """What decodes photos as ``decode`` does, perhaps within limits of its own."""

    def __call__(
        self, photo: Photo, *, max_pixels: int, resolution: DecodeResolution | None = None
    ) -> NDArray[np.uint8]:
        """The photo upright as (height, width, 3) RGB bytes, or a clear error."""
        ...


@contextmanager
def open_photo(photo: Photo, *, max_pixels: int = MAX_PIXELS) -> Iterator[Image.Image]:
    """The opened photo with only its header read, in a documented format and no larger than allowed.

    An image that is open already stays so.
    """
    if isinstance(photo, Image.Image | np.ndarray):
        image = photo if isinstance(photo, Image.Image) else _from_array(photo)
        _check_size(image.size, photo, max_pixels)
        yield image
        return
    check_there(photo)
    formats = _checked_formats(photo, max_pixels)
    with reading_photo(photo, DO_OPEN):
        image = Image.open(io.BytesIO(photo) if isinstance(photo, bytes) else photo, formats=formats)
    with image:
        _check_size(image.size, photo, max_pixels)
        yield image


@contextmanager
def reading_photo(photo: Photo, do: str) -> Iterator[None]:
    """Whatever Pillow's readers raise on damaged files, which is nearly anything, becomes our error."""
    try:
        yield
    except NadirfixError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise too_large(photo, str(error)) from error
    except MemoryError as error:
        raise too_large(photo, "there is not enough memory to decode it") from error
    except UnidentifiedImageError as error:
        raise unreadable(photo, "not a picture in a known format", do) from error
    except Exception as error:
        raise unreadable(photo, f"damaged ({error})", do) from error


def _checked_formats(photo: Path | str | bytes, max_pixels: int) -> tuple[str, ...]:
    """The formats the photo may be in, once its header asks for nothing out of proportion."""
    with open_file(photo) as file:
        head = file.read(32)
        if is_heic(head):
            _prepare_heic(photo)
            return (HEIC,)
        if (size_px := webp_size_px(head)) is not None:  # its reader takes all memory on opening
            _check_size(size_px, photo, max_pixels)
        file.seek(0)
        if (excess := check_header(file)) is not None:
            raise unreadable(photo, excess, "save it again with a photo program")
    return FORMATS


def _from_array(pixels: NDArray[Any]) -> Image.Image:
    """Pixels as an image; what they mean is never guessed."""
    shape_ok = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)
    if not (shape_ok and pixels.size and pixels.dtype == np.uint8):
        do = "give rows × columns × 3 (red, green, blue) or rows × columns (grey) of 8 bits (uint8)"
        raise unreadable(pixels, f"an array of {pixels.dtype}", do)
    return Image.fromarray(np.ascontiguousarray(pixels))


def _prepare_heic(photo: Path | str | bytes) -> None:
    """Teach Pillow to read HEIC when one comes; it cannot by itself."""
    try:
        from pillow_heif import register_heif_opener
    except ImportError as error:
        do = "pip install 'nadirfix[heic]', or save the photo as JPEG with all its tags"
        raise unreadable(photo, "HEIC, which needs an extra", do) from error
    register_heif_opener()


def _check_size(size_px: tuple[int, int], photo: Photo, max_pixels: int) -> None:
    width_px, height_px = size_px
    if width_px * height_px > max_pixels:
        raise too_large(photo, f"{width_px} × {height_px} px, limit {max_pixels:,} pixels")


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
    if isinstance(photo, np.ndarray | Image.Image):  # its file may be closed or its pixels changed by now
        return None
    if image.format not in ("JPEG", "MPO"):
        return None
    data = photo if isinstance(photo, bytes) else Path(photo).read_bytes()
    _check_scans(data, photo)
    if image.mode not in ("RGB", "L"):
        return None
    orientation, (width, height) = orientation_of(image), image.size
    upright = (height, width) if orientation in _ON_ITS_SIDE else (width, height)
    smaller = resolution.reduction(upright) if resolution else 1
    pixels = _by_simplejpeg(data, (width, height), smaller)
    return None if pixels is None else _turned(pixels, orientation)


def _check_scans(data: bytes, photo: Photo) -> None:
    """Refuse a JPEG whose decoder would go over its pixels again and again."""
    if jpeg_work(data).scans > MOST_SCANS:
        do = "save it again with a photo program"
        raise unreadable(photo, f"a JPEG in more than {MOST_SCANS} scans", do)


def _by_simplejpeg(data: bytes, size_px: tuple[int, int], smaller: int) -> NDArray[np.uint8] | None:
    """The stored pixels, so many times smaller; None where simplejpeg cannot read all of them."""
    import simplejpeg

    wanted = size_px[0] // smaller, size_px[1] // smaller
    least = {"min_width": wanted[0], "min_height": wanted[1]} if smaller > 1 else {}
    try:
        pixels: NDArray[np.uint8] = simplejpeg.decode_jpeg(data, colorspace="RGB", **least)
    except ValueError:
        return None
    return pixels if pixels.shape[1::-1] == wanted else None


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
