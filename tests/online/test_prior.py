"""What is known of a photo: what it narrows, how a wrong one is found out, what the answer says of it."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import ExifTags, Image

from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.tags import read_tags
from nadirfix.online import locate
from nadirfix.online.altitude import PhotoAltitude
from nadirfix.online.answer import Placement
from nadirfix.online.prior import (
    agreeing_stages,
    contradictions,
    given_prior,
    rows_in_question,
    with_deviations,
)
from nadirfix.options.locate import LocateOptions, PriorOptions, TagOptions
from nadirfix.prior import Prior
from nadirfix.retrieval.index import ReferenceIndex
from nadirfix.types import Hypothesis, Point, View
from nadirfix.verify.features import Detector
from nadirfix.verify.search import HypothesisStage
from tests.photos import exif, jpeg, rational, xmp_attributes
from tests.places import CAMERA, photo_from, place
from tests.verify.test_verified_locate import TRUE, away, bundle_of, near

OPTIONS = PriorOptions()
HERE = Point(500_000.0, 5_400_000.0, 32633)


def placement(view: View) -> Placement:
    return Placement(
        position=view.center, altitude_m=view.altitude_m, gsd_m=0.3, heading_deg=view.heading_deg,
        footprint_m=None, weights=None, verified=True,
    )  # fmt: skip


def fix_with(detector: Detector, prior: Prior, *views: View, options: LocateOptions | None = None):
    """The answer of a bundle whose index heeds the rows it is given, photos resembling the first most."""
    bundle = bundle_of(detector, *views)
    words = np.stack([[1.0, 0.1 * i, 0.0, 0.0] for i in range(len(views))]).astype(np.float16)
    index = ReferenceIndex(words, [0, len(views)])
    search = bundle.reference_search
    ones = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    describe = lambda crops: np.tile(ones, (len(crops), 1))  # noqa: E731
    bundle.place_network = SimpleNamespace(run=describe)
    bundle.index = index
    bundle.reference_search = type(search)(
        search.canonical, search.crop_px, describe, index.nearest, search.references, search.epsg
    )
    file = io.BytesIO()
    Image.fromarray(photo_from(place(), TRUE)).save(file, format="PNG")
    return locate(
        file.getvalue(), bundle=bundle, camera=CAMERA, prior=prior, options=options or LocateOptions(cells=0)
    )


def test_a_right_place_leaves_out_what_looks_more_alike_elsewhere(sift: Detector) -> None:
    """Many places look more like the photo than its own: with the place known that one alone is tried."""
    decoys = [View(TRUE.center.moved(1000.0 + 300 * i, 0.0), 125.0, 200.0) for i in range(25)]
    known = Prior(near=TRUE.center.moved(30.0, -20.0), near_sigma_m=25.0, altitude_m=140.0)
    fix = fix_with(sift, known, *decoys, near())
    assert (fix.status, fix.verified, fix.warnings) == ("fix", True, ())
    assert fix.position is not None and fix.position.distance_m(TRUE.center) < 1.0
    assert fix.candidates is not None and set(fix.candidates.reference) == {25}
    unknown = fix_with(sift, Prior(altitude_m=140.0), *decoys, near())
    assert unknown.status == "no_fix", "without the prior all that is tried are the decoys"


def test_a_wrong_place_is_found_out_and_the_photo_found_all_the_same(sift: Detector) -> None:
    """600 m off, deviation 25 m, with a reference there: not confirmed, and the whole map is searched."""
    wrong = View(TRUE.center.moved(600.0, 0.0), 125.0, 47.0)
    known = Prior(near=wrong.center, near_sigma_m=25.0, altitude_m=140.0)
    fix = fix_with(sift, known, wrong, near())
    assert (fix.status, fix.verified) == ("fix", True)
    assert fix.position is not None and fix.position.distance_m(TRUE.center) < 1.0
    assert [w for w in fix.warnings if "contradicts the map" in w and "600 m" in w]


def test_a_place_off_the_map_is_found_out(sift: Detector) -> None:
    for far in (TRUE.center.moved(50_000.0, 0.0), Point.from_lonlat(-170.0, 10.0)):
        known = Prior(near=far, near_sigma_m=25.0, altitude_m=140.0)
        fix = fix_with(sift, known, near())
        assert fix.position is not None and fix.position.distance_m(TRUE.center) < 1.0
        assert [w for w in fix.warnings if "contradicts the map" in w]


def test_without_verification_a_place_off_the_map_is_no_fix(sift: Detector) -> None:
    options = LocateOptions(cells=0, verify=False)
    fix = fix_with(sift, Prior(near=TRUE.center.moved(5e4, 0.0), altitude_m=140.0), near(), options=options)
    assert fix.status == "no_fix"
    assert "no ground where the photo was said to be taken" in str(fix.reason)


@pytest.mark.parametrize(
    ("heading_deg", "contradicts"), [(47.0, False), (47.0 - 360.0, False), (227.0, True)]
)
def test_a_heading_narrows_and_a_wrong_one_is_found_out(
    sift: Detector, heading_deg: float, contradicts: bool
) -> None:
    known = Prior(heading_deg=heading_deg, heading_sigma_deg=10.0, altitude_m=140.0)
    # References have four headings here: those half a turn away are left out.
    others = [View(TRUE.center.moved(900.0 + i, 0.0), 125.0, 34.0 + 90.0 * i) for i in (1, 2, 3)]
    fix = fix_with(sift, known, *others, near())
    assert fix.position is not None and fix.position.distance_m(TRUE.center) < 1.0
    assert bool([w for w in fix.warnings if "heading that was given contradicts" in w]) == contradicts


def test_a_wrong_altitude_is_found_out(sift: Detector) -> None:
    """30 m were given without a deviation; 140 m are true, and the picture says 125."""
    fix = fix_with(sift, Prior(altitude_m=30.0), near(), away())
    assert fix.altitude_m == pytest.approx(140.0, rel=0.01)
    assert [w for w in fix.warnings if "30 m above ground were given" in w and "from 140 m" in w]


def test_what_does_not_agree_with_the_place_is_not_tried() -> None:
    """Half the frame from 200 m is 213 m: 3 × 10 m and that far a frame may lie off, no farther."""
    views = [View(HERE.moved(east_m, 0.0), 200.0, 10.0) for east_m in (0.0, 240.0, 246.0)]
    turned = View(HERE, 200.0, 61.0)
    stage = HypothesisStage([Hypothesis(view, 1.0) for view in (*views, turned)], 2)
    known = Prior(near=HERE, near_sigma_m=10.0, heading_deg=0.0, heading_sigma_deg=10.0)
    [kept] = agreeing_stages([stage], known, CAMERA, OPTIONS)
    assert [h.view for h in kept.hypotheses] == views[:2]
    assert kept.limit == 2
    [all_of_them] = agreeing_stages([stage], Prior(), CAMERA, OPTIONS)
    assert len(all_of_them.hypotheses) == 4


def test_the_place_reaches_half_a_frame_and_half_a_reference_farther() -> None:
    east_m = np.arange(0.0, 1000.0, 10.0)
    references = SimpleNamespace(
        east_m=HERE.east_m + east_m, north_m=np.full(100, HERE.north_m), heading_deg=np.zeros(100)
    )
    canonical = SimpleNamespace(footprint_m=(200.0, 150.0))
    bundle = SimpleNamespace(references=references, epsg=HERE.epsg, canonical=canonical)
    known, camera = Prior(near=HERE, near_sigma_m=10.0), Camera(300, 400, 100.0, 100.0)
    rows = rows_in_question(known, camera, PhotoAltitude(100.0), bundle, OPTIONS)  # a frame of 300 × 400 m
    assert rows is not None and east_m[rows[-1]] == pytest.approx(30.0 + 250.0 + 100.0)
    assert rows_in_question(Prior(altitude_m=100.0), camera, PhotoAltitude(100.0), bundle, OPTIONS) is None


def test_contradictions_name_both_sides() -> None:
    found = placement(View(HERE, 140.0, 90.0))
    known = with_deviations(
        Prior(near=HERE.moved(0.0, 80.0), heading_deg=30.0, altitude_m=120.0, altitude_sigma_m=5.0), OPTIONS
    )
    place_remark, heading, altitude = contradictions(found, known, OPTIONS)
    assert "80 m from it" in place_remark and "± 25 m" in place_remark
    assert "30° ± 10°" in heading and "90°" in heading
    assert altitude == "120 m above ground were given, the map shows the photo from 140 m"
    right = Prior(near=HERE.moved(0.0, 70.0), heading_deg=110.0, altitude_m=130.0)
    assert contradictions(found, with_deviations(right, OPTIONS), OPTIONS) == ()


def test_no_place_is_believed_more_exactly_than_a_map() -> None:
    exact = with_deviations(Prior(near=HERE, near_sigma_m=0.02), OPTIONS)
    assert exact.near_sigma_m == OPTIONS.least_m


def test_an_altitude_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="given twice"):
        given_prior(Prior(altitude_m=120.0), 130.0, None, LocateOptions())


def test_altitudes_above_take_off_and_sea_are_brought_to_the_ground() -> None:
    tags = TagOptions(ground_height_m=300.0, takeoff_height_m=320.0)
    options = LocateOptions(tags=tags)
    sea = given_prior(Prior(altitude_m=450.0, altitude_above="sea"), None, None, options)
    assert (sea.altitude_m, sea.altitude_sigma_m, sea.altitude_above) == (150.0, tags.gnss_m, "ground")
    takeoff = Prior(altitude_m=100.0, altitude_sigma_m=4.0, altitude_above="takeoff")
    assert given_prior(takeoff, None, None, options).altitude_m == 120.0
    assert given_prior(takeoff, None, None, options).altitude_sigma_m == 4.0


@pytest.mark.parametrize(
    ("above", "tags", "missing"),
    [
        ("sea", TagOptions(), "ground"),
        ("takeoff", TagOptions(ground_height_m=300.0), "take-off"),
        ("takeoff", TagOptions(takeoff_height_m=300.0), "ground"),
    ],
)
def test_heights_that_are_not_known_are_asked_for(above, tags: TagOptions, missing: str) -> None:
    known = Prior(altitude_m=450.0, altitude_above=above)
    with pytest.raises(InputError, match=f"the height of {missing} is not known") as caught:
        given_prior(known, None, None, LocateOptions(tags=tags))
    assert caught.value.code == "altitude.invalid"
    assert "--ground-height" in caught.value.do


def tagged_photo(error_m: float | None, xmp: bytes | None = None) -> bytes:
    lon_deg, lat_deg = TRUE.center.lonlat
    gps = {
        ExifTags.GPS.GPSLongitude: (rational(lon_deg), rational(0), rational(0)),
        ExifTags.GPS.GPSLatitude: (rational(lat_deg), rational(0), rational(0)),
    }
    if error_m is not None:
        gps[ExifTags.GPS.GPSHPositioningError] = rational(error_m)
    return jpeg(tags=exif(gps=gps), xmp=xmp)


def test_the_accuracy_of_a_position_is_read_from_the_tags() -> None:
    rtk = xmp_attributes({"RtkStdLon": "0.8", "RtkStdLat": "1.4"})
    assert read_tags(tagged_photo(7.5)).position_error_m == pytest.approx(7.5)
    assert read_tags(tagged_photo(None, rtk)).position_error_m == pytest.approx(1.4)
    assert read_tags(tagged_photo(0.0)).position_error_m is None
    assert read_tags(tagged_photo(None)).position_error_m is None


@pytest.mark.parametrize(
    ("wanted", "error_m", "sigma_m"), [(True, 7.5, 7.5), (True, None, None), (False, 7.5, None)]
)
def test_a_photo_s_own_position_is_used_only_when_wanted(
    wanted: bool, error_m: float | None, sigma_m: float | None, sift: Detector
) -> None:
    from nadirfix.online.photo import read_photo

    options = LocateOptions(priors=PriorOptions(exif_position=wanted))
    decoded = read_photo(tagged_photo(error_m), CAMERA.resized(400, 300), bundle_of(sift, near()), options)
    assert (decoded.by_tags.near is not None) == wanted
    assert decoded.by_tags.near_sigma_m == (None if sigma_m is None else pytest.approx(sigma_m))
    if wanted:
        assert decoded.by_tags.near.distance_m(TRUE.center) < 20.0


def test_a_photo_without_a_position_says_so(sift: Detector) -> None:
    options = LocateOptions(cells=0, priors=PriorOptions(exif_position=True))
    fix = fix_with(sift, Prior(altitude_m=140.0), near(), options=options)
    assert fix.status == "fix"
    assert [w for w in fix.warnings if "hold no position" in w]


def test_an_answer_that_is_not_verified_says_what_was_searched(sift: Detector) -> None:
    options = LocateOptions(cells=0, verify=False)
    fix = fix_with(sift, Prior(near=near().center, altitude_m=140.0), near(), away(), options=options)
    assert fix.status == "unverified" and fix.verified is None
    assert [w for w in fix.warnings if "not verified, and only references that agree" in w]
