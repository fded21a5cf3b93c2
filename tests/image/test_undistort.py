"""Photos taken through a bent lens come out as a pinhole camera would have taken them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nadirfix.camera import Camera, Lens
from nadirfix.errors import InputError
from nadirfix.image.undistort import straight_camera, undistorted
from tests.lenses import Plane, bent

SIZE = (400, 300)
#: Of which two thirds are how well whole grey levels show a shift.
FRACTION_PX = 0.15
BARREL = Lens(
    model="brown-conrady", fx_px=352, fy_px=349, radial=(-0.31, 0.14, -0.04), tangential=(0.004, -0.003),
    center_px=(-4.8, 3.1),
)  # fmt: skip
CUSHION = Lens(model="brown-conrady", fx_px=350, fy_px=350, radial=(0.12, 0.05, 0.0))
FISHEYE = Lens(model="fisheye", fx_px=300, fy_px=300, radial=(0.02, -0.01, 0.004, -0.001), center_px=(3, -2))
LENSES = {"barrel": BARREL, "cushion": CUSHION, "fisheye": FISHEYE}


def camera_with(lens: Lens | None, focal_px: float = 350.0) -> Camera:
    return Camera(*SIZE, focal_px, focal_px, lens=lens)


@pytest.mark.parametrize("lens", LENSES.values(), ids=LENSES)
def test_a_bent_photo_is_straight_to_a_fraction_of_a_pixel(lens: Lens) -> None:
    camera, plane = camera_with(lens), Plane()
    photo = plane.photo(camera)
    pixels, straight = undistorted(photo, camera)
    assert straight.lens is None
    assert pixels.shape == photo.shape
    assert plane.off_px(pixels, straight) < FRACTION_PX
    assert plane.off_px(photo, replace(camera, lens=None)) > 2  # it was bent indeed


@pytest.mark.parametrize("lens", LENSES.values(), ids=LENSES)
def test_no_pixel_is_made_up(lens: Lens) -> None:
    """Every pixel of the straight picture comes from inside the bent one, which is used up to an edge."""
    camera = camera_with(lens)
    straight = straight_camera(camera)
    assert straight.fx_px >= camera.fx_px
    assert straight.fx_px / camera.fx_px == pytest.approx(straight.fy_px / camera.fy_px)
    half = (SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2
    x, y = np.meshgrid(np.linspace(-half[0], half[0], 101), np.linspace(-half[1], half[1], 101))
    u, v = bent(x / straight.fx_px, y / straight.fy_px, lens)
    room = min(half[0] - np.abs(u).max(), half[1] - np.abs(v).max())
    assert room > -0.1
    assert straight.fx_px == camera.fx_px or room < 0.1  # no larger than it has to be


def test_a_straight_photo_is_left_alone() -> None:
    pixels = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    assert undistorted(pixels, camera_with(None))[0] is pixels


def test_a_lens_may_be_calibrated_with_another_focal_length() -> None:
    """The camera says how large the straight picture comes out, its lens where the pixels come from."""
    plane = Plane()
    camera = camera_with(BARREL, focal_px=341.0)
    pixels, straight = undistorted(plane.photo(camera), camera)
    assert straight.fx_px == 341.0
    assert plane.off_px(pixels, straight) < FRACTION_PX


def test_a_very_wide_fisheye_is_straightened_to_120_degrees() -> None:
    lens = Lens(model="fisheye", fx_px=150, fy_px=150, radial=(0.0, 0.0, 0.0, 0.0))
    straight = straight_camera(camera_with(lens, focal_px=100.0))
    assert math.degrees(2 * math.atan(250 / straight.fx_px)) == pytest.approx(120)


@pytest.mark.parametrize("reduction", [2, 4])
def test_a_reduced_photo_is_straightened_by_the_reduced_camera(reduction: int) -> None:
    plane = Plane(shortest=0.2)
    camera = camera_with(BARREL).resized(SIZE[0] // reduction, SIZE[1] // reduction)
    pixels, straight = undistorted(plane.photo(camera), camera)
    assert straight.fx_px == pytest.approx(350 / reduction)
    assert plane.off_px(pixels, straight, block_px=25) < FRACTION_PX


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("lens", [BARREL, FISHEYE], ids=["barrel", "fisheye"])
def test_a_lens_turns_with_its_picture(lens: Lens, orientation: int) -> None:
    """Turned pixels and turned camera are straightened to the turned straight picture."""
    camera = camera_with(lens)
    stored = Plane().photo(camera)
    pixels, straight = undistorted(upright(stored, orientation), camera.oriented(orientation))
    wanted, straight_stored = undistorted(stored, camera)
    assert straight == straight_stored.oriented(orientation)
    assert np.abs(pixels.astype(int) - upright(wanted, orientation)).max() <= 2


def upright(stored: np.ndarray, orientation: int) -> np.ndarray:
    """Pixels as held, from where EXIF says the stored picture's row 0 and column 0 are."""
    rows = {1: "top", 2: "top", 3: "bottom", 4: "bottom", 5: "left", 6: "right", 7: "right", 8: "left"}
    columns = {1: "left", 2: "right", 3: "right", 4: "left", 5: "top", 6: "top", 7: "bottom", 8: "bottom"}
    turned = stored.transpose(1, 0, 2) if orientation >= 5 else stored
    sides = (rows[orientation], columns[orientation])
    turned = turned[::-1] if "bottom" in sides else turned
    return np.ascontiguousarray(turned[:, ::-1] if "right" in sides else turned)


@pytest.mark.parametrize(
    "lens",
    [
        Lens(model="brown-conrady", fx_px=350, fy_px=350, radial=(-0.9, 0.0, 0.0)),
        Lens(model="fisheye", fx_px=350, fy_px=350, radial=(-0.9, 0.0, 0.0, 0.0)),
        Lens(model="brown-conrady", fx_px=350, fy_px=350, radial=(0.0, 0.0, 0.0), center_px=(180, 0)),
    ],
    ids=["folds", "fisheye that folds", "off the middle"],
)
def test_a_lens_no_photo_can_have_is_refused(lens: Lens) -> None:
    with pytest.raises(InputError, match="cannot be straightened") as caught:
        straight_camera(camera_with(lens, focal_px=300.0))
    assert caught.value.code == "camera.invalid"


def test_a_large_photo_is_straightened_in_strips_without_seams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strips of 13 rows give the picture that one strip gives."""
    camera, photo = camera_with(BARREL), Plane().photo(camera_with(BARREL))
    whole, _ = undistorted(photo, camera)
    monkeypatch.setattr("nadirfix.image.undistort._STRIP_PX", 13 * SIZE[0])
    pixels, _ = undistorted(photo, camera)
    assert np.abs(pixels.astype(int) - whole).max() <= 1


def test_a_picture_too_long_to_straighten_is_refused() -> None:
    with pytest.raises(InputError, match="more than 32000 px"):
        straight_camera(camera_with(BARREL).resized(40_000, 100))
