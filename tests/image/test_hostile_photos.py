"""Small files that ask for minutes, gigabytes or another program are refused before a decoder starts."""

from __future__ import annotations

import dataclasses
import io
import math
import os
import resource
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image, TiffTags

from nadirfix.errors import InputError
from nadirfix.image.decode import decode, open_photo
from nadirfix.image.focal import FocalTags, camera_from_tags
from nadirfix.image.headers import MOST_SCANS, jpeg_work, webp_size_px
from nadirfix.image.tags import read_tags
from tests.hostile_photos import (
    base_photos,
    jpeg_of_scans,
    mutated_photo,
    overlapping_tiff,
    tiff_exif,
    tiff_with_xmp,
)
from tests.photos import corners, encoded, exif, jpeg

TAG = ExifTags.Base


def refusal(photo: bytes | Path, *, max_pixels: int = 200_000_000) -> InputError:
    with pytest.raises(InputError) as caught:
        decode(photo, max_pixels=max_pixels)
    return caught.value


def test_a_jpeg_of_three_thousand_scans_is_refused_at_once() -> None:
    photo = jpeg_of_scans(3000, side_px=3000)
    assert len(photo) < 250_000
    began_s = time.process_time()
    error = refusal(photo)
    assert error.code == "photo.unreadable"
    assert f"{MOST_SCANS} scans" in error.message
    assert time.process_time() - began_s < 1


def test_as_many_scans_as_allowed_are_decoded() -> None:
    plain = Image.open(io.BytesIO(jpeg_of_scans(0, side_px=64)))
    photo = jpeg_of_scans(MOST_SCANS - 10, side_px=64)
    assert jpeg_work(photo).scans == MOST_SCANS
    difference = decode(photo, max_pixels=10_000).astype(int) - np.asarray(plain).astype(int)
    assert np.abs(difference).max() <= 8  # a repeated refinement is a slightly different picture


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", [0, 2])
def test_scans_are_counted_as_the_encoder_wrote_them(progressive: bool, subsampling: int) -> None:
    settings = {"progressive": progressive, "subsampling": subsampling}
    work = jpeg_work(encoded(Image.fromarray(corners(320, 240)), "JPEG", **settings))
    assert work.in_one_go is not progressive
    assert work.scans == (10 if progressive else 1)


@pytest.mark.parametrize("name", ["photo.jpg", "photo.eps"])
def test_postscript_never_starts_a_program(tmp_path: Path, name: str) -> None:
    """Pillow hands EPS to Ghostscript: here one that would leave a mark stands in the path."""
    mark, fake = tmp_path / "started", tmp_path / "bin" / "gs"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n: > {mark}\n")
    fake.chmod(0o755)
    photo = tmp_path / name
    photo.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n%%EndComments\nshowpage\n%%EOF\n")
    code = f"from nadirfix.image.decode import decode; decode({str(photo)!r}, max_pixels=10**6)"
    surroundings = {**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=surroundings)
    assert "photo cannot be read" in done.stderr
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["BMP", "GIF", "PPM", "TGA", "PCX", "ICO"])
def test_formats_nobody_promised_are_not_opened(kind: str) -> None:
    error = refusal(encoded(Image.fromarray(corners(64, 48)), kind))
    assert "not a picture in a known format" in error.message


def test_image_open_stands_in_one_place_with_its_formats() -> None:
    package = Path(sys.modules["nadirfix"].__file__ or "").parent
    calls = [(p.name, line) for p in package.rglob("*.py") for line in p.read_text("utf-8").splitlines()]
    calls = [(name, line) for name, line in calls if "Image.open(" in line]
    assert [name for name, _ in calls] == ["decode.py"]
    assert "formats=" in calls[0][1]


def png_of(width_px: int, height_px: int) -> bytes:
    """A whole PNG of one colour, a few hundred kilobytes however large."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width_px, height_px, 8, 2, 0, 0, 0)
    pack, rows = zlib.compressobj(1), []
    for _ in range(height_px):
        rows.append(pack.compress(bytes(1 + 3 * width_px)))
    body = b"".join([*rows, pack.flush()])
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def test_the_size_of_a_png_is_known_before_its_tags_are_read() -> None:
    """Pillow decodes a PNG to find its tags: 200 MB here, 1.7 GB for what was found in the field."""
    photo = png_of(8_100, 8_100)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError) as caught:
        read_tags(photo, max_pixels=64_000_000)
    assert caught.value.code == "photo.too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100_000


@pytest.mark.parametrize("settings", [{"lossless": True}, {"quality": 50}, {"quality": 50, "exif": exif()}])
def test_the_size_of_a_webp_is_read_from_its_header(settings: dict[str, object]) -> None:
    assert webp_size_px(encoded(Image.fromarray(corners(321, 243)), "WEBP", **settings)[:32]) == (321, 243)


def test_a_webp_is_refused_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    photo = encoded(Image.fromarray(corners(400, 300)), "WEBP")
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("it was opened"))
    assert refusal(photo, max_pixels=100_000).code == "photo.too_large"


def test_a_tiff_whose_tags_hold_millions_of_numbers_is_refused() -> None:
    assert "its tags hold more than" in refusal(overlapping_tiff(values=200_000)).message


@pytest.mark.parametrize("piece", ["exif", "comment", "padding"])
def test_a_jpeg_whose_header_never_ends_is_refused_at_once(piece: str) -> None:
    """Pillow adds each EXIF segment to those before it: 90,000 of them took it minutes."""
    photo = jpeg(tags=exif({TAG.Make: "a maker"}))
    segment = {
        "exif": photo[2 : photo.index(b"\xff\xdb")],
        "comment": b"\xff\xfe\0\2",
        "padding": b"\xff" * 9,
    }
    began_s = time.process_time()
    error = refusal(photo[:2] + segment[piece] * 90_000 + photo[2:])
    assert "its header is in" in error.message
    assert time.process_time() - began_s < 2


@pytest.mark.parametrize(
    "begins", [b"II*\0", b"MM\0*", b"II+\0", b"\xff\xd8\xff", b"RIFF", b"\xff\x4f\xff\x51"]
)
def test_a_photo_of_a_few_bytes_is_refused(begins: bytes) -> None:
    for length in range(len(begins), 60):
        assert refusal(begins.ljust(length, b"\1")).code == "photo.unreadable"


def test_a_usual_tiff_passes_every_limit(tmp_path: Path) -> None:
    photo, path = Image.fromarray(corners(400, 300)), tmp_path / "a.tif"
    photo.save(path, exif=tiff_exif(exif(photo={TAG.FocalLengthIn35mmFilm: 24})))
    with open_photo(path) as image:
        assert image.size == (400, 300)
    assert read_tags(path).camera_source == "FocalLengthIn35mmFilm"


@pytest.mark.parametrize("kind", [TiffTags.SHORT, TiffTags.DOUBLE, TiffTags.RATIONAL])
def test_a_tiff_whose_xmp_is_numbers_still_tells_its_size(kind: int) -> None:
    tags = read_tags(tiff_with_xmp(kind))
    assert (tags.width_px, tags.height_px) == (64, 48)
    assert any("XMP" in note for note in tags.notes)


@pytest.mark.parametrize("unit", ["inf", "-inf", "nan", "1e400"])
def test_an_endless_unit_of_length_is_a_note(unit: str) -> None:
    tags = dataclasses.replace(FocalTags(focal_mm=8.0, plane_x=50.0), plane_unit=float(unit))
    camera, _, notes = camera_from_tags(tags, (400, 300))
    assert camera is None
    assert "which is no unit of length" in notes[0]


def test_a_photo_whose_tags_are_odd_in_every_way_is_still_a_photo() -> None:
    odd = {TAG.FocalPlaneResolutionUnit: 65535, TAG.FocalLength: b"\xff", TAG.DigitalZoomRatio: "x"}
    tags = read_tags(jpeg(tags=exif(photo=odd)))
    assert tags.width_px == 400


NUMBERS = st.one_of(st.none(), st.floats(), st.integers(-(2**53), 2**53).map(float))
LENSES = st.lists(st.floats(), min_size=9, max_size=9).map(lambda v: ",".join(map(str, v)))


@given(
    tags=st.builds(
        FocalTags,
        declared=st.none() | st.tuples(st.integers(1, 1_000_000), st.integers(1, 1_000_000)),
        calibrated_px=NUMBERS,
        optical_center_px=st.none() | st.tuples(st.floats(), st.floats()),
        focal_mm=NUMBERS,
        plane_x=NUMBERS,
        plane_y=NUMBERS,
        plane_unit=NUMBERS | st.sampled_from([2.0, 3.0, 4.0]),
        focal_35mm=NUMBERS,
        digital_zoom=NUMBERS,
        dewarp_data=st.none() | st.text() | LENSES,
        dewarped=st.booleans(),
    ),
    size=st.tuples(st.integers(1, 65_535), st.integers(1, 65_535)),
)
def test_whatever_numbers_tags_hold_they_give_a_camera_or_a_note(
    tags: FocalTags, size: tuple[int, int]
) -> None:
    camera, source, notes = camera_from_tags(tags, size)
    assert (camera is None) == (source == "")
    assert camera is not None or notes
    assert camera is None or (math.isfinite(camera.fx_px) and camera.width_px == size[0])


def test_mutated_photos_are_read_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small part of ``python -m bench.speed.fuzz_photos``: nothing but our own errors comes out."""
    monkeypatch.setattr("warnings.warn", lambda *_, **__: None)  # Pillow says a lot
    bases, answers = base_photos(), Counter[str]()
    for number in range(300):
        kind, photo = mutated_photo(bases, 24, number)
        try:
            tags = read_tags(photo, max_pixels=64_000_000)
            pixels = decode(photo, max_pixels=64_000_000)
            answers["read"] += pixels.shape == (tags.height_px, tags.width_px, 3)
        except InputError as error:
            answers[error.code] += 1
        except Exception as error:
            raise AssertionError(f"number {number} ({kind})") from error
    assert answers["read"] > 50
    assert answers["photo.unreadable"] > 50
