"""What tags say of the altitude: how far each is believed, and how that is weighed with the picture."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import ExifTags
from PIL.TiffImagePlugin import IFDRational

from nadirfix.altitude.exif import tagged_altitudes
from nadirfix.altitude.posterior import likely_altitudes
from nadirfix.altitude.prior import parse_altitude
from nadirfix.bundle.plan import Plan
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.tags import PhotoTags, read_tags
from nadirfix.online import altitude as online_altitude
from nadirfix.online.altitude import PhotoAltitude, find_altitude
from nadirfix.online.photo import DecodedPhoto
from nadirfix.options.locate import LocateOptions, TagOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.types import AltitudeEstimate, Fix, KnownAltitude
from tests.photos import exif, jpeg, rational, xmp_attributes

CAMERA = Camera(512, 384, 300.0, 300.0)
CENTERS_M = np.arange(125.0, 700.0, 50.0)


def tags(**prior: float) -> PhotoTags:
    return PhotoTags(width_px=400, height_px=300, **prior)


def test_relative_altitude_is_believed_within_what_take_off_and_relief_leave_open() -> None:
    known = tagged_altitudes(tags(relative_altitude_m=200.0), TagOptions())
    assert known == (KnownAltitude(200.0, 0.15 * 200 + 30, "RelativeAltitude"),)


@pytest.mark.parametrize("ground_m", [None, 80.0, 500.0])
def test_height_above_the_sea_counts_only_above_ground_that_is_known(ground_m: float | None) -> None:
    known = tagged_altitudes(tags(gps_altitude_m=350.0), TagOptions(ground_height_m=ground_m))
    assert [(k.altitude_m, k.source) for k in known] == ([(270.0, "GPSAltitude")] if ground_m == 80.0 else [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"ground_height_m": math.nan},
        {"ground_height_m": -math.inf},
        {"ground_height_m": -501.0},
        {"ground_height_m": 29_000.0},  # feet
        {"least_m": 0.0},
        {"least_m": 300.0, "most_m": 200.0},
        {"relative_m": 0.0},
        {"gnss_m": math.nan},
        {"relative_share": -0.1},
    ],
)
def test_a_height_of_the_ground_that_is_none_is_said(wrong: dict[str, float]) -> None:
    """It must not end as if nobody had told it."""
    with pytest.raises(InputError, match="metres"):
        TagOptions(**wrong)


@pytest.mark.parametrize("tag_m", [-3.0, 0.0, 9.0, 1e-300, 20_001.0, 1e308])
def test_a_photo_from_its_take_off_or_from_space_says_nothing(tag_m: float) -> None:
    assert tagged_altitudes(tags(relative_altitude_m=tag_m), TagOptions()) == ()
    assert tagged_altitudes(tags(gps_altitude_m=80.0 + tag_m), TagOptions(ground_height_m=80.0)) == ()


@pytest.mark.parametrize("written", ["1e308", "1e-300", "+inf", "nan", "no number", "-1e308", "", "1" * 400])
def test_absurd_tags_cost_neither_memory_nor_the_photo(written: str, picture: AltitudeEstimate) -> None:
    photo = jpeg(xmp=xmp_attributes({"RelativeAltitude": written}))
    known = tagged_altitudes(read_tags(photo), TagOptions())
    heights: list[PhotoAltitude] = []
    assert peak_bytes(
        lambda: heights.append(altitude_of(photo_with(*known)))
    ) < 1e6  # fmt: skip
    assert (known, heights[0].altitude_m) == ((), 225.0)


def peak_bytes(do: Callable[[], object]) -> int:
    """The most memory it takes to do something for the second time."""
    do()
    tracemalloc.start()
    do()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_altitudes_from_end_to_end_of_what_is_believed_take_little_memory() -> None:
    """From 10 m to 20 km in steps of a hundredth: a few hundred numbers, and nothing squared of them."""
    prior = [KnownAltitude(m, 0.15 * m + 30, "RelativeAltitude") for m in (10.0, 20_000.0)]
    assert len(likely_altitudes(None, prior, VoteOptions())) == VoteOptions().max_altitudes
    assert peak_bytes(lambda: likely_altitudes(None, prior, VoteOptions())) < 1e6


def test_tags_nobody_believes_say_nothing() -> None:
    assert tagged_altitudes(tags(relative_altitude_m=200.0), TagOptions(believed=False)) == ()


@pytest.mark.parametrize(
    ("reference", "height_m"), [(0, 412.5), (1, -412.5), (b"\x01", -412.5), (None, 412.5)]
)
def test_height_above_the_sea_is_read_with_its_sign(reference: object, height_m: float) -> None:
    block = {ExifTags.GPS.GPSAltitude: rational(412.5)}
    if reference is not None:
        block[ExifTags.GPS.GPSAltitudeRef] = reference
    assert read_tags(jpeg(tags=exif(gps=block))).gps_altitude_m == height_m


@pytest.mark.parametrize("height", [-500.0, 0.0, 9000.0])
def test_any_ground_there_is_may_be_told(height: float) -> None:
    assert TagOptions(ground_height_m=height).ground_height_m == height


def test_height_above_the_sea_that_is_no_number_is_not_used() -> None:
    assert read_tags(jpeg()).gps_altitude_m is None
    block = {ExifTags.GPS.GPSAltitude: IFDRational(412, 0), ExifTags.GPS.GPSAltitudeRef: 0}
    broken = read_tags(jpeg(tags=exif(gps=block)))
    assert broken.gps_altitude_m is None and any("GPSAltitude" in note for note in broken.notes)
    assert tagged_altitudes(broken, TagOptions(ground_height_m=80.0)) == ()
    prior = read_tags(jpeg(xmp=xmp_attributes({"RelativeAltitude": "+123.40"})))
    assert (prior.relative_altitude_m, prior.gps_altitude_m) == (123.4, None)


NOT_GIVEN, USUAL = PhotoAltitude(), LocateOptions()


def altitude_of(
    photo: DecodedPhoto, given: PhotoAltitude = NOT_GIVEN, options: LocateOptions = USUAL
) -> PhotoAltitude:
    """What is known of a photo's altitude, on a bundle that is never asked."""
    bundle = SimpleNamespace(described=False, matcher_name=None)
    plan = Plan.of(bundle, options, altitude_given=given.altitude_m is not None)
    return find_altitude(photo, given, bundle, options, plan)


def photo_with(*tagged: KnownAltitude) -> DecodedPhoto:
    return DecodedPhoto(np.zeros((384, 512, 3), np.uint8), CAMERA, (), 1, tagged)


@pytest.fixture
def picture(monkeypatch: pytest.MonkeyPatch) -> AltitudeEstimate:
    """A picture that thinks of 225 m, and nearly as much of 475 m."""
    share = np.where(CENTERS_M == 225.0, 0.5, np.where(CENTERS_M == 475.0, 0.4, 0.01))
    estimate = AltitudeEstimate(225.0, share / share.sum(), CENTERS_M)
    estimated = PhotoAltitude(225.0, CAMERA.gsd_m(225.0), estimate)
    monkeypatch.setattr(online_altitude, "estimate_altitude", lambda _photo, _bundle: estimated)
    return estimate


def test_tags_decide_between_what_the_picture_thinks_of(picture: AltitudeEstimate) -> None:
    prior = KnownAltitude(500.0, 105.0, "RelativeAltitude")
    height = altitude_of(photo_with(prior))
    assert height.altitude_m == pytest.approx(475.0, rel=0.06)
    assert height.gsd_m == pytest.approx(CAMERA.gsd_m(height.altitude_m))
    assert height.estimate is picture, "what the picture says is still told"
    without = altitude_of(photo_with())
    assert without.altitude_m == 225.0 and without.known == ()


def test_how_far_both_are_doubted_is_the_caller_s_to_say(picture: AltitudeEstimate) -> None:
    prior = KnownAltitude(300.0, 40.0, "RelativeAltitude")
    sure, unsure = VoteOptions(doubt=0.001), VoteOptions(doubt=1.0)

    def first_m(options: LocateOptions) -> float | None:
        return altitude_of(photo_with(prior), options=options).altitude_m

    weighed_m = first_m(LocateOptions(votes=sure))
    assert weighed_m == pytest.approx(250.0, rel=0.1), (
        "between the tag and what the picture thinks nearest to it"
    )
    assert first_m(LocateOptions(votes=unsure)) != weighed_m


@pytest.mark.parametrize(
    ("altitude_m", "sigma_m"), [(1e300, None), (1e-300, None), (1e308, 1e308), (300.0, 1e9)]
)
def test_an_altitude_nobody_flies_at_is_said(altitude_m: float, sigma_m: float | None) -> None:
    """Not an overflow somewhere below, nor an answer."""
    with pytest.raises(InputError) as caught:
        altitude_of(photo_with(), PhotoAltitude(altitude_m, sigma_m=sigma_m))
    assert caught.value.code == "altitude.invalid"
    with pytest.raises(InputError):
        parse_altitude(f"{altitude_m}" if sigma_m is None else f"{altitude_m}+-{sigma_m}")


def test_every_source_is_told_with_its_deviation(picture: AltitudeEstimate) -> None:
    prior = KnownAltitude(500.0, 105.0, "RelativeAltitude")
    height = altitude_of(photo_with(prior))
    fix = Fix(photo="a", status="no_fix", position=None, reason="none", altitude_sources=height.sources)
    picture_says, tag_says = fix.to_dict()["altitude_sources"]
    mean_m = float(picture.probabilities @ CENTERS_M)
    assert picture_says["source"] == "picture"
    assert picture_says["altitude_m"] == pytest.approx(mean_m)
    spread = float(np.sqrt(picture.probabilities @ (CENTERS_M - mean_m) ** 2))
    assert picture_says["sigma_m"] == pytest.approx(spread)
    assert tag_says == {"source": "RelativeAltitude", "altitude_m": 500.0, "sigma_m": 105.0}


def test_an_altitude_that_was_given_silences_the_tags() -> None:
    prior = KnownAltitude(500.0, 105.0, "RelativeAltitude")
    height = altitude_of(photo_with(prior), PhotoAltitude(300.0, sigma_m=20.0))
    assert (height.altitude_m, height.sources) == (300.0, (KnownAltitude(300.0, 20.0, "given"),))
