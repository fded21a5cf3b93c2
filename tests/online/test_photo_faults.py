"""Photos as they really arrive: cut short, empty, enormous, in every colour model, turned, tiny."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import ExifTags, Image

from nadirfix.bundle import Bundle
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.online import locate
from nadirfix.types import Fix
from tests.command import nadirfix

CAMERA = Camera(1024, 768, 600.0, 600.0)
MEASURE = """
import re, sys
from pathlib import Path
from nadirfix.cli import main
code = main()
# Not getrusage: its peak begins with that of the process that started this one.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def bundle(tiny_bundle: Path) -> Bundle:
    return Bundle.load(tiny_bundle)


@pytest.fixture(scope="module")
def path(tiny_photos: Path) -> Path:
    return tiny_photos / "photos" / "000000.jpg"


@pytest.fixture(scope="module")
def picture(path: Path) -> Image.Image:
    return Image.open(path).convert("RGB")


@pytest.fixture(scope="module")
def plain(picture: Image.Image, bundle: Bundle) -> Fix:
    """The answer for the photo without loss: what the others are compared with."""
    return locate(saved(picture, "PNG"), bundle=bundle, camera=CAMERA)


def saved(image: Image.Image, kind: str, **settings: Any) -> bytes:
    target = io.BytesIO()
    image.save(target, kind, **settings)
    return target.getvalue()


def same_answer(one: Fix, other: Fix) -> bool:
    hidden = {"timings_ms", "warnings", "photo"}
    return all(one.to_dict()[k] == other.to_dict()[k] for k in one.to_dict().keys() - hidden)


def metres_between(one: Fix, other: Fix) -> float:
    assert one.position is not None
    assert other.position is not None
    return one.position.distance_m(other.position)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9])
def test_a_photo_cut_short_is_unreadable(path: Path, bundle: Bundle, share: float) -> None:
    held = path.read_bytes()
    with pytest.raises(InputError) as failed:
        locate(held[: int(share * len(held))], bundle=bundle)
    assert failed.value.code == "photo.unreadable"


@pytest.mark.parametrize("held", [b"", b"not a picture", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"II*\0"])
def test_what_is_no_photo_is_unreadable(held: bytes, bundle: Bundle, tmp_path: Path) -> None:
    file = tmp_path / "photo.jpg"
    file.write_bytes(held)
    for photo in (held, file):
        with pytest.raises(InputError) as failed:
            locate(photo, bundle=bundle)
        assert failed.value.code == "photo.unreadable"


def test_an_enormous_photo_is_refused_before_it_fills_the_memory(
    path: Path, tiny_bundle: Path, tmp_path: Path
) -> None:
    """20,000 × 20,000 px are 1.2 GB of pixels; the file itself is small."""
    huge = tmp_path / "huge.png"
    huge.write_bytes(png_of_zeros(20_000))
    assert huge.stat().st_size < 1_000_000
    usual, usual_mb = peak_mb(path, tiny_bundle)
    refused, refused_mb = peak_mb(huge, tiny_bundle)
    print(f"peak memory: {usual_mb} MB for a usual photo, {refused_mb} MB for the enormous one")
    assert json.loads(usual.stdout)["status"] == "unverified"
    assert refused.returncode == 2
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "photo.too_large"
    assert "smaller" in error["hint"]
    assert refused_mb < usual_mb + 50


def png_of_zeros(side_px: int) -> bytes:
    """A grey PNG, one bit a pixel, without ever holding its pixels."""
    packer = zlib.compressobj(9)
    row = bytes(1 + -(-side_px // 8))
    body = b"".join([*(packer.compress(row) for _ in range(side_px)), packer.flush()])
    header = struct.pack(">IIBBBBB", side_px, side_px, 1, 0, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", body), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def peak_mb(photo: Path, bundle: Path) -> tuple[subprocess.CompletedProcess[str], int]:
    command = [sys.executable, "-c", MEASURE, "locate", photo, "--bundle", bundle, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done, int(done.stderr.split()[-1])


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
def test_lossless_formats_give_the_same_answer(
    picture: Image.Image, plain: Fix, bundle: Bundle, kind: str
) -> None:
    settings = {"lossless": True} if kind == "WEBP" else {}
    assert same_answer(locate(saved(picture, kind, **settings), bundle=bundle, camera=CAMERA), plain)


def test_alpha_changes_nothing_where_all_is_opaque(picture: Image.Image, plain: Fix, bundle: Bundle) -> None:
    opaque = picture.copy()
    opaque.putalpha(255)
    assert same_answer(locate(saved(opaque, "PNG"), bundle=bundle, camera=CAMERA), plain)


def test_holes_in_alpha_still_give_an_answer(picture: Image.Image, bundle: Bundle) -> None:
    holed = picture.copy()
    alpha = Image.new("L", holed.size, 255)
    alpha.paste(0, (0, 0, 200, 200))
    holed.putalpha(alpha)
    assert locate(saved(holed, "PNG"), bundle=bundle, camera=CAMERA).status == "unverified"


def test_palette_gives_an_answer(picture: Image.Image, bundle: Bundle) -> None:
    assert locate(saved(picture.quantize(256), "PNG"), bundle=bundle, camera=CAMERA).status == "unverified"


def test_grey_and_sixteen_bits_are_the_same_grey(picture: Image.Image, bundle: Bundle) -> None:
    """The same grey in one channel, in three, and in sixteen bits."""
    grey = picture.convert("L")
    white = np.asarray(grey).copy()
    white[0, 0] = 255  # so that sixteen bits are recognised as sixteen
    one = Image.fromarray(white)
    deep = Image.fromarray(white.astype(np.uint16) * 257)
    answers = [
        locate(photo, bundle=bundle, camera=CAMERA)
        for photo in (
            saved(one, "PNG"),
            saved(one.convert("RGB"), "PNG"),
            saved(deep, "PNG"),
            saved(deep, "TIFF"),
        )
    ]
    assert all(same_answer(answer, answers[0]) for answer in answers)


@pytest.mark.parametrize("kind", ["TIFF", "JPEG"])
def test_cmyk_gives_nearly_the_same_answer(
    picture: Image.Image, plain: Fix, bundle: Bundle, kind: str
) -> None:
    settings = {"quality": 100, "subsampling": 0} if kind == "JPEG" else {}
    fix = locate(saved(picture.convert("CMYK"), kind, **settings), bundle=bundle, camera=CAMERA)
    assert fix.status == "unverified"
    if kind == "TIFF":
        assert metres_between(fix, plain) < 1


TURNS = {
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_a_photo_stored_turned_gives_the_same_position(
    picture: Image.Image, plain: Fix, bundle: Bundle, orientation: int, kind: str
) -> None:
    turned = saved(picture.transpose(TURNS[orientation]), kind, exif=oriented(orientation))
    fix = locate(turned, bundle=bundle, camera=CAMERA)
    assert same_answer(fix, plain)


def oriented(orientation: int) -> bytes:
    tags = Image.Exif()
    tags[ExifTags.Base.Orientation] = orientation
    return tags.tobytes()


@pytest.mark.parametrize("size", [(200, 150), (100, 75), (43, 32)])
def test_a_photo_smaller_than_the_networks_is_enlarged(
    picture: Image.Image, bundle: Bundle, size: tuple[int, int]
) -> None:
    fix = locate(saved(picture.resize(size), "PNG"), bundle=bundle)
    assert fix.status == "unverified"
    assert any("enlarged" in warning for warning in fix.warnings)


def test_a_thumbnail_is_refused(picture: Image.Image, bundle: Bundle) -> None:
    with pytest.raises(InputError) as failed:
        locate(saved(picture.resize((32, 24)), "PNG"), bundle=bundle)
    assert failed.value.code == "photo.too_small"


def test_a_photo_of_one_colour_still_gets_an_answer(bundle: Bundle) -> None:
    """Fog, or a lens cap: nothing to see, no division by zero, nothing that is not a number."""
    for level in (0, 128, 255):
        fix = locate(saved(Image.new("RGB", (1024, 768), (level,) * 3), "PNG"), bundle=bundle)
        json.dumps(fix.to_dict(), allow_nan=False)


def test_a_damaged_tag_block_does_not_cost_the_answer(path: Path, bundle: Bundle) -> None:
    held = bytearray(path.read_bytes())
    start = held.index(b"Exif\0\0") + 8
    held[start : start + 40] = b"\xff" * 40
    fix = locate(bytes(held), bundle=bundle)
    assert fix.status == "unverified"
    assert fix.warnings


def test_all_of_them_in_one_go(path: Path, picture: Image.Image, tiny_bundle: Path, tmp_path: Path) -> None:
    """One process, good and bad mixed: every line is written, exit 2 says that some were bad."""
    held = path.read_bytes()
    flight = {
        "1-good.jpg": held,
        "2-cut.jpg": held[:5000],
        "3-empty.jpg": b"",
        "4-cmyk.tif": saved(picture.convert("CMYK"), "TIFF"),
        "5-huge.png": png_of_zeros(20_000),
        "6-tiny.png": saved(picture.resize((20, 15)), "PNG"),
        "7-good.jpg": held,
    }
    for name, content in flight.items():
        (tmp_path / name).write_bytes(content)
    done = nadirfix("locate", tmp_path, "--bundle", tiny_bundle, "--quiet")
    answered = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [line.get("error", {}).get("code") for line in answered]
    assert codes == [
        None, "photo.unreadable", "photo.unreadable", None, "photo.too_large", "photo.too_small", None,
    ]  # fmt: skip
    assert done.returncode == 2
    assert answered[0]["lon"] == answered[-1]["lon"]
