"""Locating with verification against the map at its end, and with bundles that cannot verify."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from nadirfix.altitude.bins import AltitudeBins
from nadirfix.errors import InputError
from nadirfix.formats import geojson
from nadirfix.image.crop import Canonical
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import RECIPES
from nadirfix.retrieval.crops import ReferenceSearch
from nadirfix.types import View
from nadirfix.verify.features import Detector
from tests.places import CAMERA, other_place, photo_from, place, view_of

TRUE = view_of(place(), altitude_m=140.0, heading_deg=47.0)
EVERYWHERE = LocateOptions(cells=0)
MATCH_STAGES = ["verify_photo_points", "verify_render", "verify_map_points", "verify_match"]


def bundle_of(detector: Detector | None, *views: View, ground: Any = None) -> SimpleNamespace:
    """A bundle that finds these views most like any photo, in this order."""
    references = SimpleNamespace(
        east_m=np.array([v.center.east_m for v in views]),
        north_m=np.array([v.center.north_m for v in views]),
        heading_deg=np.array([v.heading_deg for v in views]),
        cell=np.zeros((len(views), 2), np.int64),
    )
    recipe = RECIPES["tiny"]
    rows = np.arange(len(views))
    search = ReferenceSearch(
        canonical=Canonical(CAMERA, 125.0),
        crop_px=(32, 24),
        embed=lambda crops: np.ones((len(crops), 4), np.float32),
        nearest=lambda words, _k: (np.tile(rows, (len(words), 1)), np.tile(1 - 0.01 * rows, (len(words), 1))),
        references=references,
        epsg=32633,
    )
    return SimpleNamespace(
        described=False,
        recipe=recipe,
        camera=CAMERA,
        epsg=32633,
        texture=ground or place(),
        bins=AltitudeBins.from_options(recipe.bins),
        canonical=Canonical(CAMERA, 125.0),
        references=references,
        index=SimpleNamespace(search=lambda _words, _classes, _k: (rows, 0.1 * (rows + 1.0))),
        cell_classifier=None,
        altitude_network=None,
        matcher_network=None,
        place_network=SimpleNamespace(run=lambda inputs: np.ones((len(inputs), 4), np.float32)),
        projection=None,
        altitude_classes=None,
        altitude_scores=lambda inputs: np.zeros((len(inputs), len(AltitudeBins.from_options(recipe.bins)))),
        describe=lambda embedding: embedding,
        reference_search=search,
        keypoint_detector=lambda options: detector,
        matcher_name=None if detector is None else "sift",
        similarity_tolerance=0.0,
    )


def photo() -> bytes:
    file = io.BytesIO()
    Image.fromarray(photo_from(place(), TRUE)).save(file, format="PNG")
    return file.getvalue()


def near(east_m: float = 20.0, turn_deg: float = -13.0) -> View:
    """What retrieval leaves of the true view."""
    return View(TRUE.center.moved(east_m, 10.0), 125.0, TRUE.heading_deg + turn_deg)


def away() -> View:
    return View(TRUE.center.moved(-160.0, 120.0), 125.0, 200.0)


def test_the_answer_is_the_map_s_and_not_the_candidate_s(detector: Detector) -> None:
    bundle = bundle_of(detector, away(), near())
    fix = locate(photo(), bundle=bundle, camera=CAMERA, altitude_m=150.0, options=EVERYWHERE)
    assert (fix.status, fix.verified) == ("fix", True)
    assert fix.position is not None
    assert fix.position.distance_m(TRUE.center) < 1.0
    assert fix.altitude_m == pytest.approx(140.0, rel=0.003)
    assert fix.gsd_m == pytest.approx(140.0 / 600.0, rel=0.003)
    assert fix.heading_deg == pytest.approx(47.0, abs=0.2)
    assert fix.footprint_m == pytest.approx(CAMERA.footprint_m(140.0), rel=0.003)


def test_every_stage_of_matching_is_timed(sift: Detector) -> None:
    fix = locate(photo(), bundle=bundle_of(sift, near()), camera=CAMERA, altitude_m=140.0, options=EVERYWHERE)
    assert set(MATCH_STAGES) | {"votes", "total"} <= set(fix.timings_ms)
    assert fix.timings_ms["total"] >= sum(
        spent for stage, spent in fix.timings_ms.items() if stage != "total"
    )


def test_without_verification_or_matcher_the_answer_is_the_published_one(sift: Detector) -> None:
    plain = LocateOptions(cells=0, verify=False)
    cases = [(bundle_of(sift, near()), plain), (bundle_of(None, near()), EVERYWHERE)]
    for bundle, options in cases:
        fix = locate(photo(), bundle=bundle, camera=CAMERA, altitude_m=140.0, options=options)
        assert (fix.status, fix.verified, fix.radius95_m) == ("unverified", None, None)
        assert fix.position is not None
        assert fix.position.distance_m(near().center) < 1e-6
        assert not {"votes", *MATCH_STAGES} & set(fix.timings_ms)


def test_what_the_map_does_not_confirm_is_refused(detector: Detector) -> None:
    bundle = bundle_of(detector, near(), ground=other_place())
    fix = locate(photo(), bundle=bundle, camera=CAMERA, altitude_m=140.0, options=EVERYWHERE)
    assert (fix.status, fix.position, fix.verified) == ("no_fix", None, False)
    assert "confirms none" in str(fix.reason)
    assert fix.candidates is not None, "what was retrieved is still reported"


def test_a_photo_of_unknown_scale_is_not_verified(sift: Detector) -> None:
    options = LocateOptions(cells=0, crop=False)
    fix = locate(photo(), bundle=bundle_of(sift, near()), camera=CAMERA, options=options)
    assert (fix.status, fix.verified) == ("unverified", None)


def at_the_edge(bundle: Any, *, altitude_class: int = 0) -> Any:
    """The bundle with an altitude network that names one class, the lowest unless another is given."""
    scores = 20.0 * np.eye(len(bundle.bins), dtype=np.float32)[altitude_class]
    bundle.altitude_network = True
    bundle.altitude_scores = lambda inputs: np.tile(scores, (len(inputs), 1))
    return bundle


def test_a_remark_on_the_estimate_goes_with_the_estimate(sift: Detector) -> None:
    """What the map confirms comes from 140 m: that 125 m was the lowest class no longer matters."""
    bundle = at_the_edge(bundle_of(sift, near(), away()))
    fix = locate(photo(), bundle=bundle, camera=CAMERA, options=EVERYWHERE)
    assert fix.verified
    assert not [w for w in fix.warnings if "the last the bundle knows" in w]
    elsewhere = at_the_edge(bundle_of(sift, near(), ground=other_place()))
    refused = locate(photo(), bundle=elsewhere, camera=CAMERA, options=EVERYWHERE)
    assert [w for w in refused.warnings if "the last the bundle knows" in w]


@pytest.mark.parametrize(("sigma_m", "remarks"), [(None, 1), (2.0, 1), (20.0, 0)])
def test_an_altitude_the_map_contradicts_is_remarked_on(
    sift: Detector, sigma_m: float | None, remarks: int
) -> None:
    """165 m were given, the photo is from 140 m."""
    bundle = at_the_edge(bundle_of(sift, near(), away()), altitude_class=1)
    fix = locate(
        photo(), bundle=bundle, camera=CAMERA, altitude_m=165.0, altitude_sigma_m=sigma_m, options=EVERYWHERE
    )
    assert fix.verified
    assert len([w for w in fix.warnings if "the map shows the photo from 140 m" in w]) == remarks


@pytest.mark.parametrize(
    ("altitude_m", "sigma_m"), [(140.0, -1.0), (140.0, float("nan")), (140.0, float("inf")), (None, 5.0)]
)
def test_a_deviation_that_is_none_is_refused(
    sift: Detector, altitude_m: float | None, sigma_m: float
) -> None:
    bundle = at_the_edge(bundle_of(sift, near()))
    with pytest.raises(InputError, match="deviation"):
        locate(photo(), bundle=bundle, camera=CAMERA, altitude_m=altitude_m, altitude_sigma_m=sigma_m)


def test_the_line_is_json_and_the_aircraft_a_feature(sift: Detector) -> None:
    bundle = bundle_of(sift, near(), away())
    fix = locate(photo(), bundle=bundle, camera=CAMERA, altitude_m=140.0, options=EVERYWHERE)
    line = json.loads(json.dumps(fix.to_dict(), allow_nan=False))
    roles = [feature["properties"]["role"] for feature in geojson([line])["features"]]
    assert roles.count("aircraft") == 1
    assert roles.count("hypothesis") == len(line["hypotheses"])
