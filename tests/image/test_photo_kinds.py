"""A photo as a path, bytes, an array, a Pillow image or HEIC is the same photo, or a clear error."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.decode import decode
from nadirfix.image.tags import read_tags
from nadirfix.online import locate
from tests.photos import corners, encoded, exif, jpeg, rational, xmp_attributes

LIMIT = 1_000_000
#: The first bytes of any HEIC file.
HEIC = b"\x00\x00\x00\x1cftypheic\x00\x00\x00\x00mif1heic"


def test_pixels_are_taken_as_they_are() -> None:
    pixels = corners(40, 30)
    assert np.array_equal(decode(pixels, max_pixels=LIMIT), pixels)
    assert np.array_equal(decode(pixels[::-1, ::-1], max_pixels=LIMIT), pixels[::-1, ::-1])
    assert np.array_equal(decode(pixels[..., 0], max_pixels=LIMIT), np.repeat(pixels[..., :1], 3, axis=2))


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((30, 40, 3), np.float32),
        np.zeros((30, 40, 3), np.uint16),
        np.zeros((30, 40, 4), np.uint8),
        np.zeros((3, 30, 40), np.uint8),
        np.zeros((0, 40, 3), np.uint8),
        np.zeros(40, np.uint8),
    ],
)
def test_other_arrays_are_refused_with_what_they_are(pixels: np.ndarray) -> None:
    with pytest.raises(InputError) as caught:
        decode(pixels, max_pixels=LIMIT)
    assert caught.value.code == "photo.unreadable"
    assert str(pixels.dtype) in caught.value.seen and str(pixels.shape[0]) in caught.value.seen
    assert "uint8" in caught.value.do


def test_an_array_of_too_many_pixels_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        decode(np.zeros((30, 40), np.uint8), max_pixels=1199)
    assert caught.value.code == "photo.too_large"


def test_a_pillow_image_keeps_its_tags_and_stays_open() -> None:
    data = jpeg(
        tags=exif({274: 6}, photo={37386: rational(4.5)}), xmp=xmp_attributes({"RelativeAltitude": "80.5"})
    )
    with Image.open(io.BytesIO(data)) as image:
        tags = read_tags(image)
        assert (tags.orientation, tags.relative_altitude_m) == (6, 80.5)
        assert (tags.width_px, tags.height_px) == (300, 400)
        upright = decode(image, max_pixels=LIMIT)
        assert np.abs(upright.astype(int) - decode(data, max_pixels=LIMIT)).max() <= 4
        assert image.getpixel((0, 0)) is not None


def test_a_pillow_image_is_what_its_pixels_are_now() -> None:
    with Image.open(io.BytesIO(jpeg())) as image:
        image.paste((1, 2, 3), (0, 0, 400, 300))
        assert np.array_equal(decode(image, max_pixels=LIMIT)[5, 5], (1, 2, 3))


def test_the_same_photo_in_every_form_has_the_same_answer(tiny_bundle: Path, tiny_photos: Path) -> None:
    path = min((tiny_photos / "photos").iterdir())
    bundle, camera = Bundle.load(tiny_bundle), Camera(1024, 768, 600.0, 600.0)
    pixels = np.asarray(Image.open(path))
    png = encoded(Image.fromarray(pixels), "PNG")
    forms = (png, pixels, Image.fromarray(pixels))
    fixes = [locate(form, bundle=bundle, camera=camera) for form in forms]
    assert fixes[0].position is not None
    assert all(fix.position == fixes[0].position and fix.photo == "" for fix in fixes)
    assert fixes[1].altitude_m == fixes[0].altitude_m
    warned = locate(pixels, bundle=bundle)
    assert [w for w in warned.warnings if "nominal camera" in w], "an array has no tags"


def test_heic_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    (tmp_path / "a.heic").write_bytes(HEIC)
    for photo in (HEIC, tmp_path / "a.heic"):
        with pytest.raises(InputError) as caught:
            decode(photo, max_pixels=LIMIT)
        assert caught.value.code == "photo.unreadable"
        assert "nadirfix[heic]" in caught.value.do


def test_heic_is_read_upright_with_its_tags() -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    tags, xmp = exif({274: 6}, photo={37386: rational(4.5)}), xmp_attributes({"RelativeAltitude": "80.5"})
    data = encoded(Image.fromarray(corners(400, 300)), "HEIF", quality=95, exif=tags.tobytes(), xmp=xmp)
    upright = decode(data, max_pixels=LIMIT)
    assert upright.shape == (400, 300, 3)
    expected = decode(jpeg(tags=tags, xmp=xmp), max_pixels=LIMIT)
    assert np.median(np.abs(upright.astype(int) - expected)) <= 3
    found = read_tags(data)
    assert (found.width_px, found.height_px, found.relative_altitude_m) == (300, 400, 80.5)
