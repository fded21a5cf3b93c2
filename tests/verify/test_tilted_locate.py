"""Photos of a tilted camera, located from the picture to the answer: gimbal known, wrong, or unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions, TagOptions
from nadirfix.prior import Prior
from nadirfix.types import Fix, View
from nadirfix.types.gimbal import Gimbal
from nadirfix.verify.features import Detector
from nadirfix.verify.pose import aircraft_of
from tests.places import CAMERA, photo_from, place, view_of
from tests.verify.test_verified_locate import bundle_of

EVERYWHERE = LocateOptions(cells=0)


def located(detector: Detector, true: View, *, options: LocateOptions = EVERYWHERE, **known: Any) -> Fix:
    """Answered with one reference near the truth, at an altitude that is off by 7 %."""
    near = View(true.center.moved(12.0, -8.0), 125.0, true.heading_deg + 9.0)
    photo = known.pop("photo", None) or photo_from(place(), true)
    altitude_m = 1.07 * true.altitude_m
    return locate(
        photo, bundle=bundle_of(detector, near), camera=CAMERA, altitude_m=altitude_m, altitude_sigma_m=30.0,
        options=replace(options, sweep=None), **known,
    )  # fmt: skip


def assert_right(fix: Fix, true: View, *, off_m: float) -> None:
    assert fix.verified, fix.reason
    assert fix.position is not None and fix.aircraft is not None and fix.tilt_deg is not None
    assert fix.position.distance_m(true.center) < off_m
    assert fix.tilt_deg == pytest.approx(true.tilt_deg, abs=1.0)
    off_air_m = fix.aircraft.position.distance_m(aircraft_of(true))
    assert off_air_m < 2 * off_m
    assert off_air_m < fix.aircraft.radius95_m
    assert fix.aircraft.altitude_m == pytest.approx(true.altitude_m, rel=0.03)


def test_a_tilt_nobody_told_of_is_found(sift: Detector) -> None:
    true = view_of(place(), altitude_m=110.0, heading_deg=47.0, tilt_deg=15.0, tilt_toward_deg=300.0)
    assert_right(located(sift, true), true, off_m=2.0)


def test_with_a_gimbal_an_oblique_photo_is_rectified_and_found(sift: Detector) -> None:
    true = view_of(place(), altitude_m=80.0, heading_deg=30.0, tilt_deg=50.0, tilt_toward_deg=30.0)
    fix = located(sift, true, prior=Prior(gimbal=Gimbal(pitch_deg=-40.0)))
    assert_right(fix, true, off_m=3.0)
    assert fix.footprint_m == pytest.approx(CAMERA.footprint_m(80.0), rel=0.03), (
        "of the photo as it was taken"
    )


def test_the_gimbal_in_the_tags_counts_where_tags_are_believed(sift: Detector) -> None:
    true = view_of(place(), altitude_m=80.0, heading_deg=30.0, tilt_deg=50.0, tilt_toward_deg=75.0)
    photo = encode_jpeg(photo_from(place(), true), CAMERA, quality=95, pose=true)
    assert_right(located(sift, true, photo=photo), true, off_m=3.0)
    ignored = LocateOptions(cells=0, tags=TagOptions(believed=False))
    assert "rectify" not in located(sift, true, photo=photo, options=ignored).timings_ms


def test_a_gimbal_that_is_wrong_is_found_out(sift: Detector) -> None:
    true = view_of(place(), altitude_m=110.0, heading_deg=47.0)
    fix = located(sift, true, prior=Prior(gimbal=Gimbal(pitch_deg=-40.0)))
    assert_right(fix, true, off_m=1.0)
    assert any("gimbal that was given contradicts the map" in warning for warning in fix.warnings)
