"""What the cameras of many makers write: each one's focal length, worked out from exiftool's table.

The pictures cannot be handed on; where they are not, this is skipped. They are 320 px wide, with the tags as
the camera wrote them.
"""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import pytest
from PIL import Image

from nadirfix.image.tags import PhotoTags, read_tags

FOLDER = Path(os.environ.get("NADIRFIX_TAGS", Path(__file__).parents[3] / "shared" / "data" / "tags"))
TABLE = FOLDER / "tags.csv"
UNIT_MM = {"2": 25.4, "4": 1.0}
#: Sensors of drones and compact cameras are so wide.
SENSOR_MM = (3.0, 40.0)
#: Pictures that are no pinhole camera's: a fisheye, 6 mm on a full frame.
NO_PINHOLE = {"PARROT_Disco_parrot-1.jpg"}
#: Not in the table: DigitalZoomRatio where it is not 1, and the original's width where the table has another.
ZOOM = {"DJI_ZH20N_DJI_0006_R.JPG": 8.0}
ORIGINAL_PX = {"Canon_Canon_PowerShot_ELPH_300_HS_IMG_0504.jpg": 4000}
#: What no column of the table gives: these photos need --camera.
UNKNOWN = {
    "DJI_FC2403_DJI_0001.JPG",
    "DJI_FLIR_DJI_XT2.jpg",
    "DJI_MAVIC2-ENTERPRISE-ADVANCED_DJI_0001_R.JPG",
    "Skydio_X2_Narrow_S1008521.JPG",
    "Teledyne_FLIR_Boson_640_teal2_img_ir_00015.jpg",
    "Teledyne_FLIR_Hadron_640R_EO_teal2_img_eo_00015.jpg",
    *NO_PINHOLE,
}

pytestmark = pytest.mark.skipif(not TABLE.exists(), reason=f"no {TABLE}")


def rows() -> dict[str, dict[str, str]]:
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        named = {row["SourceFile"].removeprefix("./"): row for row in csv.DictReader(file)}
    return {name: row for name, row in named.items() if (FOLDER / name).exists()}


ROWS = rows()


def expected_deg(name: str, row: dict[str, str]) -> float | None:
    """The angle of view along the width, by what the row's columns say; None where they do not."""
    zoom, width_mm = ZOOM.get(name, 1.0), sensor_width_mm(row, ORIGINAL_PX.get(name, int(row["ImageWidth"])))
    if row["CalibratedFocalLength"]:
        tangent = int(row["ImageWidth"]) / 2 / float(row["CalibratedFocalLength"])
    elif row["FocalLength"] and width_mm is not None:
        tangent = width_mm / 2 / float(row["FocalLength"])
    elif row["FocalLengthIn35mmFormat"] and name not in NO_PINHOLE:
        shape = math.atan2(int(row["ImageHeight"]), int(row["ImageWidth"]))
        tangent = math.hypot(36, 24) * math.cos(shape) / 2 / float(row["FocalLengthIn35mmFormat"])
    else:
        return None
    return 2 * math.degrees(math.atan(tangent / zoom))


def sensor_width_mm(row: dict[str, str], width_px: int) -> float | None:
    """From the pixel density, or from what stands in its place; None where neither is a sensor's."""
    if not row["FocalPlaneXResolution"]:
        return None
    plane, unit_mm = float(row["FocalPlaneXResolution"]), UNIT_MM[row["FocalPlaneResolutionUnit"] or "2"]
    fitting = [mm for mm in (width_px / plane * unit_mm, plane * unit_mm) if SENSOR_MM[0] < mm < SENSOR_MM[1]]
    return fitting[0] if len(fitting) == 1 else None


def angle_deg(tags: PhotoTags) -> float | None:
    return tags.camera and 2 * math.degrees(math.atan(tags.width_px / 2 / tags.camera.fx_px))


def test_all_are_there() -> None:
    assert len(ROWS) == 30
    assert len({row["Model"] for row in ROWS.values()}) >= 26


@pytest.mark.parametrize("name", ROWS)
def test_the_focal_length_is_right_or_not_known(name: str) -> None:
    """Within a percent: makers write focal lengths with two figures."""
    tags, wanted = read_tags(FOLDER / name), expected_deg(name, ROWS[name])
    assert (wanted is None) == (name in UNKNOWN)
    if wanted is None:
        assert tags.camera is None
        assert "give --camera" in tags.notes[-1]
    else:
        assert angle_deg(tags) == pytest.approx(wanted, rel=0.01)


@pytest.mark.parametrize("name", ROWS)
def test_pixels_are_square_and_the_camera_fits_the_picture(name: str) -> None:
    tags = read_tags(FOLDER / name)
    with Image.open(FOLDER / name) as image:
        assert (tags.width_px, tags.height_px) == image.size
    if tags.camera is not None:
        assert (tags.camera.width_px, tags.camera.height_px) == (tags.width_px, tags.height_px)
        assert tags.camera.fx_px == pytest.approx(tags.camera.fy_px, rel=0.005)


@pytest.mark.parametrize("name", ROWS)
def test_the_lens_is_the_one_that_was_written(name: str) -> None:
    camera, written = read_tags(FOLDER / name).camera, ROWS[name]["DewarpData"].rpartition(";")[2].split(",")
    if len(written) != 9:
        assert camera is None or camera.lens is None
        return
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = map(float, written)
    scale = 320 / int(ROWS[name]["ImageWidth"])
    assert camera is not None
    assert camera.lens is not None
    assert (camera.lens.fx_px, camera.lens.fy_px) == pytest.approx((fx * scale, fy * scale))
    assert camera.lens.center_px == pytest.approx((cx * scale, cy * scale))
    assert (camera.lens.radial, camera.lens.tangential) == ((k1, k2, k3), (p1, p2))
