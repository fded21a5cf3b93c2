"""Water and closed forest: nothing there can be told apart, so nothing is confirmed."""

from __future__ import annotations

import numpy as np
import pytest

from bench.lib import featureless
from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Hypothesis, View
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import Registration
from nadirfix.verify.search import HypothesisStage, VerificationResult, verify_hypotheses
from nadirfix.world.make import World

CAMERA = Camera(512, 384, 300.0, 300.0)
GSD_M = 0.8


@pytest.fixture(scope="module")
def world() -> World:
    """Bare ground with a lake and forests in it."""
    plain = np.full((1600, 1600, 3), 120, np.uint8)
    bare = World(plain, plain, (GSD_M, 0.0, 452_000.0, 0.0, -GSD_M, 5_412_000.0), 32633)
    covered: World = featureless.covered(bare, seed=3)
    return covered


def verified(world: World, ground: str, detector: Detector) -> tuple[VerificationResult, View]:
    """A photo of the newer date verified against the older map: where it was taken, and elsewhere nearby."""
    old, new = (
        Texture.from_array(pixels, None, affine=world.affine, epsg=world.epsg)
        for pixels in (world.old, world.new)
    )
    true = View(featureless.middle(world, ground), 140.0, 30.0)
    views = [
        View(true.center.moved(east, north), 140.0, 35.0) for east, north in ((8, 6), (120, 0), (0, -120))
    ]
    pixels = new.render(true, CAMERA).pixels
    registration = Registration(pixels, CAMERA, texture=old, detector=detector, options=VerifyOptions().match)
    stage = HypothesisStage([Hypothesis(view, 1.0 / (k + 1)) for k, view in enumerate(views)])
    return verify_hypotheses([stage], registration, VerifyOptions()), true


@pytest.mark.parametrize("ground", ["water", "forest, other crowns"])
def test_what_cannot_be_told_apart_is_refused(world: World, ground: str, detector: Detector) -> None:
    result, _ = verified(world, ground, detector)
    assert result.confirmed is None
    assert result.reason


def test_crowns_that_are_still_the_same_may_be_found_and_then_rightly(
    world: World, standard: Detector
) -> None:
    result, true = verified(world, "forest, same crowns", standard)
    assert result.distinct, "some crowns look the same under another sun"
    assert result.distinct[0].view.center.distance_m(true.center) < 5.0


def correlation(world: World, ground: str) -> float:
    """The correlation of brightness between the two dates, in the middle of a piece."""
    place, (rows, columns) = featureless.GROUNDS[ground], world.old.shape[:2]
    column, row = round(place[0] * columns), round(place[1] * rows)
    pieces = [p[row - 120 : row + 120, column - 120 : column + 120].mean(-1) for p in (world.old, world.new)]
    return float(np.corrcoef(*(piece.ravel() for piece in pieces))[0, 1])


def test_waves_and_other_crowns_have_nothing_in_common_and_the_same_crowns_have(world: World) -> None:
    assert abs(correlation(world, "water")) < 0.2
    assert abs(correlation(world, "forest, other crowns")) < 0.1
    assert correlation(world, "forest, same crowns") > 0.3
