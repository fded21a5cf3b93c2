"""The answer as one Fix: which place is confirmed, which others are reported, and what no longer holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nadirfix.online.altitude import PhotoAltitude
from nadirfix.online.answer import Evidence, assemble_fix
from nadirfix.online.photo import DecodedPhoto
from nadirfix.online.retrieve import Retrieved
from nadirfix.online.verify import answer_of
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Candidates, Fix, Hypothesis, KnownAltitude, Point, View
from nadirfix.verify.features import Detector
from nadirfix.verify.pose import FittedView
from nadirfix.verify.registration import MatchResult, Registration
from nadirfix.verify.search import HypothesisStage, VerificationResult, verify_hypotheses
from tests.places import CAMERA, photo_from, place, view_of

OPTIONS = VerifyOptions()
HERE = Point(500_000.0, 5_400_000.0, 32633)
NOTHING = Candidates(
    reference=np.zeros(0, np.int64), east_m=np.zeros(0), north_m=np.zeros(0), heading_deg=np.zeros(0),
    distance=np.zeros(0), cell=np.zeros((0, 2), np.int64), epsg=HERE.epsg,
)  # fmt: skip


def evidence(altitude: PhotoAltitude | None = None, *, reduction: int = 1) -> Evidence:
    """A photo for which nothing was retrieved."""
    photo = DecodedPhoto(np.zeros((1, 1, 3), np.uint8), CAMERA, ("of the photo",), reduction)
    retrieved = Retrieved(np.zeros(1, np.float32), NOTHING, math.inf)
    return Evidence(photo, altitude or PhotoAltitude(200.0, 0.3), retrieved, None, crop_clamped=False)


def match_at(east_m: float, cells: int) -> MatchResult:
    """A match this far east with inliers in so many cells of the frame."""
    view = View(HERE.moved(east_m, 0.0), 200.0, 30.0)
    cell = np.arange(cells)
    share = np.stack([(cell % 12 + 0.5) / 12, (cell // 12 + 0.5) / 9], axis=1)
    fitted = FittedView(view, np.ones(cells), np.eye(6) * 1e-4)
    return MatchResult(view, 100, fitted, share, np.zeros((cells, 2)), 0.5)


def fix_of(*matches: MatchResult, reason: str | None = None, known: Evidence | None = None) -> Fix:
    base = known or evidence()
    answer = answer_of(base, VerificationResult(matches, reason), OPTIONS)
    return assemble_fix("p.jpg", base, answer, {"total": 1.0})


def test_only_the_place_the_map_confirms_is_verified() -> None:
    fix = fix_of(match_at(0.0, 60), match_at(700.0, 5))
    assert (fix.status, fix.verified) == ("fix", True)
    assert [other.verified for other in fix.hypotheses] == [False]
    refused = fix_of(match_at(0.0, 6), match_at(700.0, 5), reason="the map confirms none")
    assert (refused.status, refused.position, refused.heading_deg) == ("no_fix", None, None)
    assert [other.verified for other in refused.hypotheses] == [False, False]


def test_no_fix_has_nothing_that_reads_like_an_answer() -> None:
    """The altitude before verification stays where it is called that."""
    altitude = PhotoAltitude(200.0, 0.3, sigma_m=5.0, known=(KnownAltitude(200.0, 5.0),))
    line = fix_of(match_at(0.0, 6), reason="the map confirms none", known=evidence(altitude)).to_dict()
    answers = (
        "lon", "lat", "altitude_m", "gsd_m", "heading_deg", "confidence", "radius95_m", "footprint",
        "aircraft",
    )  # fmt: skip
    assert {name: line[name] for name in answers} == dict.fromkeys(answers)
    assert line["altitude_sources"] == [{"source": "given", "altitude_m": 200.0, "sigma_m": 5.0}]
    assert (line["reason"], line["reason_code"]) == ("the map confirms none", "changed_ground")
    assert (line["verified"], line["inliers"]) == (False, 6)


def test_other_places_are_not_the_answer_s_own() -> None:
    """Matches from several hypotheses that led to one place are one place."""
    fix = fix_of(match_at(0.0, 60), match_at(0.5, 40), match_at(-3.0, 20), match_at(700.0, 5))
    assert [other.position for other in fix.hypotheses] == [HERE.moved(700.0, 0.0)]


def test_both_of_two_equal_places_are_reported_however_often_one_was_matched() -> None:
    often = [match_at(float(i), 60 - i) for i in range(OPTIONS.search.reported)]
    refused = fix_of(*often, match_at(700.0, 50), reason="two places look alike")
    assert [p.position for p in refused.hypotheses] == [HERE, HERE.moved(700.0, 0.0)]
    known = [other.confidence for other in refused.hypotheses]
    assert refused.confidence is None and all(one is not None for one in known), "either of them may be it"


def test_ground_sampling_is_that_of_the_photo_s_own_pixels() -> None:
    whole, halved = fix_of(match_at(0.0, 60), match_at(700.0, 5)), evidence(reduction=2)
    half = fix_of(match_at(0.0, 60), match_at(700.0, 5), known=halved)
    assert whole.gsd_m == pytest.approx(CAMERA.gsd_m(200.0))
    assert half.gsd_m == pytest.approx(CAMERA.gsd_m(200.0) / 2)
    assert half.hypotheses[0].gsd_m == pytest.approx(CAMERA.gsd_m(200.0) / 2)


def test_the_line_of_a_verified_photo(sift: Detector) -> None:
    true = view_of(place())
    near = View(true.center.moved(12.0, -9.0), true.altitude_m * 1.06, true.heading_deg + 6.0)
    photo = photo_from(place(), true)
    registration = Registration(photo, CAMERA, texture=place(), detector=sift, options=OPTIONS.match)
    found = verify_hypotheses([HypothesisStage([Hypothesis(near, 1.0)])], registration, OPTIONS)
    base = evidence()
    fix = assemble_fix("p.jpg", base, answer_of(base, found, OPTIONS), {})
    line = fix.to_dict()
    assert (line["status"], line["verified"], line["photo"]) == ("fix", True, "p.jpg")
    assert fix.position is not None
    assert line["radius95_m"] > fix.position.distance_m(true.center)
    assert line["radius95_m"] < 10.0
    assert 0.98 < line["confidence"] <= 1.0
    assert line["inliers"] > 30
    assert line["gsd_m"] == pytest.approx(150.0 / 600.0, rel=0.003)
    assert line["aircraft"]["radius95_m"] > line["radius95_m"]
    assert line["hypotheses"] == []
