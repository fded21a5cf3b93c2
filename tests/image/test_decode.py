"""Any photo becomes upright RGB bytes, or an error with the right code before memory is spent."""

from __future__ import annotations

import io
import resource
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image, ImageOps

from nadirfix.errors import InputError
from nadirfix.image.decode import DecodeResolution, decode
from tests.photos import corners, encoded

LIMIT = 1_000_000


def png_header(width_px: int, height_px: int) -> bytes:
    """A PNG that claims a size and holds no pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width_px, height_px, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(b"\0" * 64)
    chunks = (
        struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (head, body, b"IEND")
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def code_of(photo: bytes | Path | str, *, max_pixels: int = LIMIT) -> str:
    with pytest.raises(InputError) as caught:
        decode(photo, max_pixels=max_pixels)
    return caught.value.code


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_lossless_formats_keep_every_pixel(kind: str) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    settings = {"lossless": True} if kind == "WEBP" else {}
    decoded = decode(encoded(Image.fromarray(pixels), kind, **settings), max_pixels=LIMIT)
    assert decoded.dtype == np.uint8
    assert decoded.flags.writeable
    assert np.array_equal(decoded, pixels)


@pytest.mark.parametrize(
    ("mode", "kind"), [("L", "PNG"), ("1", "PNG"), ("P", "PNG"), ("CMYK", "TIFF"), ("CMYK", "JPEG")]
)
def test_other_colour_models_become_rgb(mode: str, kind: str) -> None:
    image = Image.fromarray(corners(64, 48))
    decoded = decode(encoded(image.convert(mode), kind), max_pixels=LIMIT)
    wanted = np.asarray(image.convert(mode).convert("RGB")).astype(int)
    assert decoded.shape == (48, 64, 3)
    assert np.abs(decoded[8::16, 8::16] - wanted[8::16, 8::16]).max() <= 3


def test_a_path_and_its_text_give_the_same_photo(tmp_path: Path) -> None:
    path = tmp_path / "a photo.png"
    path.write_bytes(encoded(Image.fromarray(corners(8, 6)), "PNG"))
    assert np.array_equal(decode(path, max_pixels=LIMIT), decode(str(path), max_pixels=LIMIT))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize(("brightest", "white"), [(65535, 65535), (4000, 4095), (1000, 1023), (200, 255)])
def test_deep_grey_is_scaled_by_its_sensor_depth(kind: str, brightest: int, white: int) -> None:
    values = np.linspace(0, brightest, 12, dtype=np.uint16).reshape(3, 4)
    decoded = decode(encoded(Image.fromarray(values), kind), max_pixels=LIMIT)
    assert np.array_equal(decoded[..., 0], np.rint(values / white * 255).astype(np.uint8))
    assert np.array_equal(decoded[..., 0], decoded[..., 2])


def test_float_grey_between_zero_and_one() -> None:
    values = np.array([[0.0, 0.5], [1.0, np.nan]], np.float32)
    decoded = decode(encoded(Image.fromarray(values), "TIFF"), max_pixels=LIMIT)
    assert decoded[..., 0].tolist() == [[0, 128], [255, 0]]


def test_transparent_parts_are_black_and_opaque_ones_unchanged() -> None:
    pixels = np.dstack([corners(8, 6), np.full((6, 8), 255, np.uint8)])
    pixels[0, 0, 3] = 0
    decoded = decode(encoded(Image.fromarray(pixels), "PNG"), max_pixels=LIMIT)
    assert decoded[0, 0].tolist() == [0, 0, 0]
    assert np.array_equal(decoded[1:], corners(8, 6)[1:])


def test_missing_photo(tmp_path: Path) -> None:
    assert code_of(tmp_path / "none.jpg") == "photo.missing"


def test_folder_is_no_photo(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder") as caught:
        decode(tmp_path, max_pixels=LIMIT)
    assert caught.value.code == "photo.unreadable"


@pytest.mark.parametrize("data", [b"", b"hello, I am no picture", b"\xff\xd8\xff\xe0"])
def test_no_picture(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.jpg").write_bytes(data)
    assert code_of(data) == code_of(tmp_path / "p.jpg") == "photo.unreadable"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_truncated_photo(kind: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    whole = encoded(Image.fromarray(noise), kind)
    assert code_of(whole[: int(len(whole) * share)]) == "photo.unreadable"


def test_limit_is_exact() -> None:
    photo = encoded(Image.fromarray(corners(40, 30)), "PNG")
    assert decode(photo, max_pixels=1200).shape == (30, 40, 3)
    with pytest.raises(InputError, match=r"40 × 30 px, limit 1,199") as caught:
        decode(photo, max_pixels=1199)
    assert caught.value.code == "photo.too_large"


@pytest.mark.filterwarnings("ignore:Image size")
@pytest.mark.parametrize("size", [(12_000, 9_000), (20_000, 20_000), (2**31 - 1, 2**31 - 1)])
def test_claimed_size_is_refused_before_memory_is_spent(size: tuple[int, int]) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert code_of(png_header(*size), max_pixels=100_000_000) == "photo.too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 50_000


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "MPO"])
def test_jpeg_pixels_are_those_of_pillow_however_the_camera_was_held(kind: str, orientation: int) -> None:
    small = np.random.default_rng(2).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    photo = Image.fromarray(small).resize((56, 37), Image.Resampling.BICUBIC)
    tags = Image.Exif()
    tags[ExifTags.Base.Orientation] = orientation
    more = {"save_all": True, "append_images": [photo]} if kind == "MPO" else {}
    file = io.BytesIO()
    photo.save(file, kind, quality=90, exif=tags, **more)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(file)))
    assert np.array_equal(decode(file.getvalue(), max_pixels=LIMIT), expected)


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_jpeg_pixels_are_those_of_pillow_for_every_kind_of_colour(mode: str, subsampling: int) -> None:
    small = np.random.default_rng(3).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    photo = Image.fromarray(small).resize((83, 61), Image.Resampling.BICUBIC).convert(mode)
    file = io.BytesIO()
    photo.save(file, "JPEG", quality=95, subsampling=subsampling, progressive=subsampling == 1)
    expected = np.asarray(Image.open(file).convert("RGB"))
    assert np.array_equal(decode(file.getvalue(), max_pixels=LIMIT), expected)


def ground(width_px: int, height_px: int) -> np.ndarray:
    """Detail at every scale, as ground has it."""
    draw, total = np.random.default_rng(7), np.zeros((height_px, width_px, 3))
    for octave in range(6):
        coarse = draw.normal(0, 1, (-(-height_px >> octave) + 1, -(-width_px >> octave) + 1, 3))
        fine = coarse.repeat(1 << octave, 0).repeat(1 << octave, 1)
        total += 1.6**octave * fine[:height_px, :width_px]
    return np.clip(128 + 40 * total / total.std(), 0, 255).astype(np.uint8)


def jpeg(pixels: np.ndarray, orientation: int = 1) -> bytes:
    tags, file = Image.Exif(), io.BytesIO()
    tags[ExifTags.Base.Orientation] = orientation
    Image.fromarray(pixels).save(file, "JPEG", quality=95, subsampling=0, exif=tags)
    return file.getvalue()


@pytest.mark.parametrize(("least", "factor"), [(97, 1), (96, 2), (49, 2), (48, 4), (25, 4), (24, 8)])
def test_a_photo_is_decoded_no_finer_than_needed(least: int, factor: int) -> None:
    """Each pixel is the mean of those it stands for, to a few grey levels."""
    photo = jpeg(ground(256, 192))
    whole = decode(photo, max_pixels=LIMIT).astype(np.float64)
    small = decode(photo, max_pixels=LIMIT, resolution=DecodeResolution((256, 192), (1, least)))
    assert small.shape == (192 // factor, 256 // factor, 3)
    means = whole.reshape(192 // factor, factor, 256 // factor, factor, 3).mean(axis=(1, 3))
    assert np.abs(small - means).mean() < 1.0


def test_a_reduced_photo_is_upright_too() -> None:
    photo = jpeg(ground(256, 192), orientation=6)
    small = decode(photo, max_pixels=LIMIT, resolution=DecodeResolution((192, 256), (96, 100)))
    assert small.shape == (128, 96, 3)
    whole = decode(photo, max_pixels=LIMIT).astype(np.float64)
    means = whole.reshape(128, 2, 96, 2, 3).mean(axis=(1, 3))
    assert np.abs(small - means).mean() < 1.0


@pytest.mark.parametrize("size", [(256, 192), (255, 192)])
def test_a_photo_that_is_not_as_expected_or_does_not_divide_stays_whole(size: tuple[int, int]) -> None:
    expected = DecodeResolution((300, 200) if size == (256, 192) else size, (10, 10))
    photo = jpeg(ground(*size))
    assert decode(photo, max_pixels=LIMIT, resolution=expected).shape == (size[1], size[0], 3)
