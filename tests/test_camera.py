"""The camera in pixels: how it is written down, and what it covers on the ground."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from nadirfix.camera import DEFAULT_CAMERA, Camera, Lens
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


LENS_FILE = "width_px = 400\nheight_px = 300\nfx_px = 350\nfy_px = 351\n[lens]\n"


def test_camera_file_with_a_lens(tmp_path: Path) -> None:
    """The principal point is counted as OpenCV does, from the middle of the first pixel."""
    path = tmp_path / "camera.toml"
    path.write_text(
        LENS_FILE + 'model = "brown-conrady"\ncx_px = 201.5\ncy_px = 149\nk1 = -0.1\np2 = 1e-3\nk3 = 2'
    )
    lens = Camera.parse(str(path)).lens
    assert lens == Lens(
        model="brown-conrady",
        fx_px=350,
        fy_px=351,
        radial=(-0.1, 0, 2),
        tangential=(0, 1e-3),
        center_px=(2, -0.5),
    )
    path.write_text(LENS_FILE + 'model = "fisheye"\nk4 = 0.25')
    assert Camera.parse(str(path)).lens == Lens(model="fisheye", fx_px=350, fy_px=351, radial=(0, 0, 0, 0.25))


@pytest.mark.parametrize(
    "text",
    [
        "k1 = 0.1",
        'model = "pinhole"',
        'model = ["fisheye"]',
        'model = "fisheye"\np1 = 0.1',
        'model = "brown-conrady"\nk4 = 0.1',
        'model = "brown-conrady"\nk1 = "0.1"',
        'model = "brown-conrady"\nk1 = nan',
        'model = "fisheye"\ncx_px = inf',
    ],
)
def test_wrong_lens_in_a_camera_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(LENS_FILE + text)
    with pytest.raises(InputError, match="this is not a lens") as caught:
        Camera.parse(str(path))
    assert (caught.value.code, "brown-conrady" in caught.value.hint) == ("camera.invalid", True)


def test_rendered_pictures_have_no_lens(tmp_path: Path) -> None:
    path = tmp_path / "camera.toml"
    path.write_text(LENS_FILE + 'model = "fisheye"\nk1 = 0.1')
    with pytest.raises(InputError, match="no lens"):
        Camera.pinhole(str(path))
    assert Camera.pinhole("2048x1536@1200") == DEFAULT_CAMERA


def test_a_lens_is_part_of_what_a_camera_is_called() -> None:
    lens = Lens(model="fisheye", fx_px=350, fy_px=350, radial=(0.5, 0, 0, 0))
    assert "fisheye" in Camera(400, 300, 350.0, 350.0, lens=lens).spec
