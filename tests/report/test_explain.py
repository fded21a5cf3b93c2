"""The picture of the reasons: there for every answer, with the photo laid where the answer says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from nadirfix.camera import Camera
from nadirfix.image.crop import Canonical
from nadirfix.options.locate import LocateOptions
from nadirfix.report.drawing import PANEL_PX
from nadirfix.report.explain import explanation, write_explanation
from nadirfix.types import Fix, View
from nadirfix.verify.features import Detector
from tests.places import CAMERA, photo_from, place, view_of
from tests.records import candidates

PANEL = Camera(*PANEL_PX, 1000.0, 1000.0)
TRUE = view_of(place(), altitude_m=130.0)


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "photo.png"
    Image.fromarray(photo_from(place(), TRUE)).save(path)
    return path


@pytest.fixture(scope="module")
def bundle(sift: Detector) -> SimpleNamespace:
    fields = {"texture": place(), "camera": CAMERA, "canonical": Canonical(CAMERA, 110.0)}
    return SimpleNamespace(**fields, matcher_name="sift", keypoint_detector=lambda options: sift)


def fix_at(view: View, **more: object) -> Fix:
    return Fix(
        photo="flight/photo.png",
        status="fix",
        position=view.center,
        altitude_m=view.altitude_m,
        gsd_m=CAMERA.gsd_m(view.altitude_m),
        heading_deg=view.heading_deg,
        candidates=candidates([(0.0, 0.0), (60.0, 20.0)], truth=view.center),
        **{"verified": True, "inliers": 40, "confidence": 1.0, "radius95_m": 2.0, **more},
    )


def draped(picture: np.ndarray) -> np.ndarray:
    """The last panel: map and photo in squares."""
    return picture[-PANEL_PX[1] - 20 : -20, -PANEL_PX[0] - 20 : -20].astype(float)


def test_the_photo_goes_on_in_the_map_at_the_right_place_only(photo: Path, bundle: SimpleNamespace) -> None:
    """Beside the map alone, the draped photo changes little where it is right, and much 12 m beside."""
    options = LocateOptions()
    off_by = []
    for east_m in (0.0, 12.0):
        view = replace(TRUE, center=TRUE.center.moved(east_m, 0.0))
        canvas = draped(explanation(photo, fix_at(view), bundle=bundle, camera=CAMERA, options=options))
        wide_m, high_m = CAMERA.footprint_m(view.altitude_m)
        gsd_m = 1.15 * float(np.hypot(wide_m, high_m)) / PANEL_PX[1]
        rendered = place().render(View(view.center, 1000.0 * gsd_m), PANEL).pixels
        off_by.append(float(np.abs(canvas - rendered)[150:420, 250:510].mean()))
    assert off_by[1] > 2 * max(off_by[0], 1.0)


@pytest.mark.parametrize("status", ["refused", "nowhere", "unverified"])
def test_every_kind_of_answer_has_a_picture(
    photo: Path, bundle: SimpleNamespace, tmp_path: Path, status: str
) -> None:
    found = fix_at(TRUE)
    none = {"status": "no_fix", "position": None, "verified": False, "reason": "the map confirms none"}
    unsure = dict.fromkeys(("verified", "confidence", "radius95_m", "inliers"))
    answer = {
        "refused": replace(found, **none, hypotheses=(found,)),
        "nowhere": replace(found, **none, candidates=None, heading_deg=None),
        "unverified": replace(found, status="unverified", **unsure),
    }[status]
    target = tmp_path / "deep" / "photo.png"
    target.parent.mkdir()
    write_explanation(target, photo, answer, bundle=bundle, camera=CAMERA, options=LocateOptions())
    with Image.open(target) as picture:
        assert picture.size[0] > 2 * PANEL_PX[0]
        assert np.asarray(picture).std() > 20
