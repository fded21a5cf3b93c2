"""``nadirfix camera`` says what is known of a camera, and what to do where nothing is."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from PIL import ExifTags

from tests.command import nadirfix
from tests.photos import exif, jpeg, rational, xmp_attributes

TAG = ExifTags.Base
DEWARP = "2022-03-02;352.0,349.0,-4.8,3.1,-0.31,0.14,0.004,-0.003,-0.04"


def test_a_known_camera_with_its_lens(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    xmp = xmp_attributes({"DewarpData": DEWARP, "CalibratedFocalLength": "350"})
    path.write_bytes(jpeg(xmp=xmp, tags=exif({TAG.Orientation: 6})))
    done = nadirfix("camera", path)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["photo"], found["camera"], found["source"]) == (
        str(path),
        "300x400@350",
        "CalibratedFocalLength",
    )
    assert (found["width_px"], found["height_px"], found["orientation"]) == (300, 400, 6)
    assert found["view_deg"] == pytest.approx(2 * math.degrees(math.atan(150 / 350)), abs=1e-3)
    lens = found["lens"]
    assert (lens["model"], lens["fx_px"], lens["fy_px"]) == ("brown-conrady", 349.0, 352.0)
    assert lens["center_px"] == pytest.approx([-3.1, -4.8])  # what was above the middle is to its right now
    assert (lens["k1"], lens["k3"], lens["p1"], lens["p2"]) == (-0.31, -0.04, -0.003, -0.004)
    assert found["notes"] == []


def test_a_camera_that_is_not_known_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(jpeg(tags=exif(photo={TAG.FocalLength: rational(19.0)})))
    done = nadirfix("camera", path)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert [found[name] for name in ("camera", "source", "fx_px", "view_deg", "lens")] == [None] * 5
    assert "19 mm" in found["notes"][0]
    assert "give --camera" in done.stderr
    assert nadirfix("camera", path, "--quiet").stderr == ""
    assert nadirfix("camera", tmp_path / "none.jpg").returncode == 2
