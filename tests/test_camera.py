"""The camera in pixels: how it is written down, and what it covers on the ground."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.errors import InputError


def test_published_camera_covers_213_by_160_m_from_125_m() -> None:
    assert Camera.parse("2048x1536@1200") == DEFAULT_CAMERA
    assert DEFAULT_CAMERA.footprint_m(125) == pytest.approx((213.333, 160.0), abs=1e-3)
    assert DEFAULT_CAMERA.gsd_m(120) == pytest.approx(0.1)
    assert DEFAULT_CAMERA.altitude_m(0.1) == pytest.approx(120)


def test_two_focal_lengths() -> None:
    assert Camera.parse(" 4000x3000@2900.5,2901 ") == Camera(4000, 3000, 2900.5, 2901.0)


def test_35_mm_equivalent_is_by_the_diagonal() -> None:
    # A full frame at 50 mm: 36 mm over 6000 px is 6 µm a pixel.
    camera = Camera.from_equivalent_focal(6000, 4000, 50)
    assert camera.fx_px == camera.fy_px == pytest.approx(50 / 0.006)
    assert math.hypot(36, 24) == pytest.approx(43.27, abs=0.005)


@pytest.mark.parametrize(
    "spec",
    [
        "", "2048x1536", "2048x1536@0", "0x1536@1200", "2048x1536@-1200", "2048x1536@nan", "2048x1536@1e3",
        "2048.5x1536@1200", "2048x1536@1200,0", "camera.json", "x@",
    ],
)  # fmt: skip
def test_what_is_no_camera(spec: str) -> None:
    with pytest.raises(InputError) as caught:
        Camera.parse(spec)
    assert caught.value.code == "camera.invalid"
    assert "2048x1536@1200" in caught.value.hint


@pytest.mark.parametrize("focal", [0.0, -1.0, math.nan, math.inf])
def test_focal_length_must_be_positive_and_finite(focal: float) -> None:
    with pytest.raises(InputError, match="positive size and focal length"):
        Camera(2048, 1536, 1200.0, focal)


@pytest.mark.parametrize(
    ("text", "camera"),
    [
        ("width_px = 2048\nheight_px = 1536\nfocal_px = 1200", DEFAULT_CAMERA),
        ("width_px = 20\nheight_px = 10\nfx_px = 15.5\nfy_px = 16", Camera(20, 10, 15.5, 16.0)),
    ],
)
def test_camera_file(tmp_path: Path, text: str, camera: Camera) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(text)
    assert Camera.parse(str(path)) == camera


@pytest.mark.parametrize(
    "text",
    [
        "width_px = 2048\nheight_px = 1536",
        "width_px = 2048\nheight_px = 1536\nfocal_px = 0",
        "width_px = 2048.5\nheight_px = 1536\nfocal_px = 1200",
        "width_px = true\nheight_px = 1536\nfocal_px = 1200",
        "width_px = 2048\nheight_px = 1536\nfocal_px = '1200'",
        "width_px = 2048\nheight_px = 1536\nfocal_px = 1200\nfocal_mm = 8",
        "not toml at all",
    ],
)
def test_wrong_camera_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Camera.parse(str(path))
    assert caught.value.code == "camera.invalid"


def test_missing_camera_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Camera.parse(str(tmp_path / "none.toml"))


def test_crop_cannot_grow() -> None:
    with pytest.raises(InputError, match="2049x1536 from 2048x1536@1200"):
        DEFAULT_CAMERA.cropped(2049, 1536)
