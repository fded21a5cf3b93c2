"""Water and closed forest: nothing there can be told apart, so nothing is confirmed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.geo.texture import Texture
from nadirfix.options.verify import VerifyOptions
from nadirfix.types import Hypothesis, View
from nadirfix.verify.features import Detector
from nadirfix.verify.registration import Comparison
from nadirfix.verify.search import Verdict, Wave, decide
from nadirfix.world.make import World

SOURCE = Path(__file__).parents[2] / "bench" / "alike.py"
CAMERA = Camera(512, 384, 300.0, 300.0)
GSD_M = 0.8


@pytest.fixture(scope="module")
def alike() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_alike", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def world(alike: ModuleType) -> World:
    """Bare ground with a lake and forests in it."""
    plain = np.full((1600, 1600, 3), 120, np.uint8)
    bare = World(plain, plain, (GSD_M, 0.0, 452_000.0, 0.0, -GSD_M, 5_412_000.0), 32633)
    made: World = alike.covered(bare, seed=3)
    return made


def verdict(world: World, alike: ModuleType, ground: str, detector: Detector) -> tuple[Verdict, View]:
    """A photo of the newer date held against the older map: where it was taken, and elsewhere nearby."""
    old, new = (
        Texture.from_array(pixels, None, affine=world.affine, epsg=world.epsg)
        for pixels in (world.old, world.new)
    )
    true = View(alike.middle(world, ground), 140.0, 30.0)
    asked = [
        View(true.center.moved(east, north), 140.0, 35.0) for east, north in ((8, 6), (120, 0), (0, -120))
    ]
    pixels = new.render(true, CAMERA).pixels
    compare = Comparison(pixels, CAMERA, texture=old, detector=detector, options=VerifyOptions())
    wave = Wave([Hypothesis(view, 1.0 / (k + 1)) for k, view in enumerate(asked)])
    return decide([wave], compare, VerifyOptions()), true


@pytest.mark.parametrize("ground", ["water", "forest, other crowns"])
def test_what_cannot_be_told_apart_is_refused(
    world: World, alike: ModuleType, ground: str, detector: Detector
) -> None:
    told, _ = verdict(world, alike, ground, detector)
    assert told.confirmed is None
    assert told.reason


def test_crowns_that_are_still_the_same_may_be_found_and_then_rightly(
    world: World, alike: ModuleType, xfeat: Detector
) -> None:
    told, true = verdict(world, alike, "forest, same crowns", xfeat)
    assert told.places, "some crowns look the same under another sun"
    assert told.places[0].view.center.distance_m(true.center) < 5.0


def likeness(world: World, alike: ModuleType, ground: str) -> float:
    """How much the two dates look alike in the middle of a piece: the correlation of their brightness."""
    place, (rows, columns) = alike.GROUNDS[ground], world.old.shape[:2]
    column, row = round(place[0] * columns), round(place[1] * rows)
    pieces = [p[row - 120 : row + 120, column - 120 : column + 120].mean(-1) for p in (world.old, world.new)]
    return float(np.corrcoef(*(piece.ravel() for piece in pieces))[0, 1])


def test_waves_and_other_crowns_have_nothing_in_common_and_the_same_crowns_have(
    world: World, alike: ModuleType
) -> None:
    assert abs(likeness(world, alike, "water")) < 0.2
    assert abs(likeness(world, alike, "forest, other crowns")) < 0.1
    assert likeness(world, alike, "forest, same crowns") > 0.3
