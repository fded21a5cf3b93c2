"""What most likely stood in the way: an altitude, a camera or a place, each told by what was measured."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.online import locate
from nadirfix.online.altitude import PhotoAltitude
from nadirfix.online.answer import Answer, refused
from nadirfix.online.refusal import LocatableRange, with_likely_reason
from nadirfix.options.locate import LocateOptions, PriorOptions
from nadirfix.prior import Prior
from nadirfix.types import AltitudeEstimate, Fix, KnownAltitude, Point
from nadirfix.types.gimbal import Gimbal
from nadirfix.verify.features import Detector
from tests.online.test_answer import evidence
from tests.places import CAMERA, other_place
from tests.verify.test_verified_locate import TRUE, bundle_of, near, photo

#: A map of 0.5 m: 128 pixels of it are 64 m across, which this camera sees from 37.5 m.
BUNDLE = SimpleNamespace(
    texture=SimpleNamespace(gsd_m=0.5), camera=CAMERA,
    recipe=SimpleNamespace(bins=SimpleNamespace(max_m=700.0)),
)  # fmt: skip
NONE = Answer(refused("changed_ground", "the map confirms none of 3 places", verified=False, inliers=4))
CENTERS_M = np.array([125.0, 300.0, 675.0])


def reason(given: Prior = Prior(), *, off_map: bool = False, known=None) -> tuple[str | None, str]:  # noqa: B008
    answer = with_likely_reason(NONE, known or evidence(), given, BUNDLE, PriorOptions(), off_map=off_map)
    return answer.best.reason_code, str(answer.best.reason)


def estimated(index: int, *, at_edge: bool):
    estimate = AltitudeEstimate(CENTERS_M[index], np.full(3, 1 / 3), CENTERS_M, at_edge)
    return evidence(PhotoAltitude(CENTERS_M[index], 0.3, estimate))


def test_the_range_is_where_the_map_resolves_the_frame_up_to_the_bundle_s_own() -> None:
    limits = LocatableRange.of(CAMERA, BUNDLE)
    assert CAMERA.footprint_m(limits.lowest_m)[0] == pytest.approx(128 * 0.5)
    assert limits.highest_m == pytest.approx(700.0)
    longer = Camera(1024, 768, 1200.0, 1200.0)  # the same frame on the ground from twice as high
    assert LocatableRange.of(longer, BUNDLE).lowest_m == pytest.approx(2 * limits.lowest_m)
    assert LocatableRange.of(longer, BUNDLE).highest_m == pytest.approx(1400.0)


@pytest.mark.parametrize(
    ("altitude_m", "code", "wording"),
    [
        (30.0, "below_range", "nothing below about 38 m"),
        (38.0, "changed_ground", "confirms none of 3"),
        (700.0, "changed_ground", "confirms none of 3"),
        (900.0, "above_range", "900 m is above the 700 m"),
    ],
)
def test_a_known_altitude_beyond_the_range_is_the_reason(altitude_m: float, code: str, wording: str) -> None:
    assert reason(Prior(altitude_m=altitude_m))[0] == code
    assert wording in reason(Prior(altitude_m=altitude_m))[1]
    tagged = evidence()
    tagged = replace(tagged, photo=replace(tagged.photo, tagged=(KnownAltitude(altitude_m, 30.0, "tag"),)))
    assert reason(known=tagged)[0] == code


def test_an_estimate_at_an_end_of_the_range_is_the_reason() -> None:
    assert reason(known=estimated(0, at_edge=True))[0] == "below_range"
    assert reason(known=estimated(2, at_edge=True))[0] == "above_range"
    assert reason(known=estimated(2, at_edge=False))[0] == "changed_ground"
    assert "125 m, the lowest" in reason(known=estimated(0, at_edge=True))[1]
    assert reason(Prior(altitude_m=300.0), known=estimated(0, at_edge=True))[0] == "changed_ground"


def test_an_assumed_camera_is_the_reason() -> None:
    assumed = evidence()
    assumed = replace(assumed, photo=replace(assumed.photo, camera_assumed=True))
    code, wording = reason(known=assumed)
    assert code == "camera_unknown" and CAMERA.spec in wording


def test_a_place_off_the_map_is_the_reason() -> None:
    code, wording = reason(Prior(near=Point.from_lonlat(14.5, 48.25), near_sigma_m=30.0), off_map=True)
    assert code == "off_map" and "14.50000, 48.25000 ± 30 m" in wording


def test_other_reasons_stay_what_they_are() -> None:
    for code in ("too_little_texture", "equal_places"):
        answer = Answer(refused(code, "as measured", verified=False, inliers=0))
        far = Prior(altitude_m=5000.0)
        found = with_likely_reason(answer, evidence(), far, BUNDLE, PriorOptions(), off_map=False)
        assert found is answer


def test_a_photo_that_a_gimbal_tilts_too_far_says_how_far() -> None:
    code, wording = reason(Prior(gimbal=Gimbal(pitch_deg=-25.0)))
    assert code == "too_tilted" and "pitch -25° is 65° from straight down" in wording
    assert reason(Prior(gimbal=Gimbal(pitch_deg=-35.0)))[0] == "changed_ground"


def test_a_reason_is_one_of_the_codes() -> None:
    with pytest.raises(ValueError, match="is not a code"):
        Fix(photo="", status="no_fix", position=None, reason="why", reason_code="bad_luck")  # type: ignore[arg-type]


def test_the_whole_way_from_a_photo_to_a_code(sift: Detector) -> None:
    options = LocateOptions(cells=0)
    bundle = bundle_of(sift, near(), ground=other_place())
    far = Prior(near=TRUE.center.moved(40_000.0, 0.0), near_sigma_m=30.0)
    for prior, code in ((Prior(altitude_m=20.0), "below_range"), (far, "off_map")):
        search = SimpleNamespace(search=lambda *_a, within=None: (np.zeros(0, int), np.zeros(0)))
        bundle.index = search if prior is far else bundle.index
        fix = locate(photo(), bundle=bundle, camera=CAMERA, prior=prior, options=options)
        assert (fix.status, fix.reason_code) == ("no_fix", code)
        assert fix.to_dict()["reason_code"] == code
