"""A bundle belongs to the ground, not to the file: answers move with the map, in whatever system it comes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.offline import build_bundle
from nadirfix.online import locate
from nadirfix.options import LocateOptions
from nadirfix.types import Fix, Point, View
from tests.bundles import CAMERA, GROUND, RECIPE, photo_of, write_ground, write_ground_in

SHIFT_M = np.array([123.4, -567.8])


@pytest.fixture(scope="module")
def photos() -> list[bytes]:
    """Photos of the ground's middle, anywhere within 200 m of it, at any heading."""
    draw = np.random.default_rng(4)
    center = Point(*GROUND.center, GROUND.epsg)
    places = [center.moved(*draw.uniform(-200, 200, 2)) for _ in range(12)]
    return [photo_of(View(p, draw.uniform(125, 150), draw.uniform(0, 360))) for p in places]


def located(bundle: Bundle, photos: list[bytes]) -> list[Fix]:
    return [locate(photo, bundle=bundle, camera=CAMERA) for photo in photos]


@pytest.mark.parametrize("train", [False, True], ids=["untrained", "trained"])
def test_answers_move_with_the_map(tmp_path: Path, photos: list[bytes], train: bool) -> None:
    here = build_bundle(
        write_ground(tmp_path / "here.tif"), tmp_path / "here.nadir", recipe=RECIPE, train=train
    )
    moved = write_ground(tmp_path / "there.tif", east_m=SHIFT_M[0], north_m=SHIFT_M[1])
    there = build_bundle(moved, tmp_path / "there.nadir", recipe=RECIPE, train=train)
    assert here.order.to_dict() == there.order.to_dict()
    shift = places(located(there, photos)) - places(located(here, photos))
    print(f"largest difference {np.abs(shift - SHIFT_M).max():.2e} m")
    assert np.abs(shift - SHIFT_M).max() < 1e-6


@pytest.fixture(scope="module")
def in_utm(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("utm")
    written = write_ground_in(folder / "map.tif", "EPSG:32633")
    return build_bundle(written, folder / "b.nadir", recipe=RECIPE, train=False)


def near_references(bundle: Bundle, *, count: int) -> list[bytes]:
    """Photos from close to reference views: even an untrained network is in no doubt about them."""
    draw = np.random.default_rng(5)
    known = bundle.references
    photos = []
    for row in draw.choice(len(known), count, replace=False):
        place = Point(known.east_m[row], known.north_m[row], known.epsg).moved(*draw.uniform(-5, 5, 2))
        heading_deg = known.heading_deg[row] + draw.uniform(-3, 3)
        photos.append(photo_of(View(place, bundle.canonical.altitude_m, heading_deg)))
    return photos


@pytest.mark.parametrize(("crs", "turn_deg"), [("EPSG:3857", 0.0), ("EPSG:32633", 30.0)])
def test_answers_do_not_depend_on_the_file(tmp_path: Path, in_utm: Bundle, crs: str, turn_deg: float) -> None:
    written = write_ground_in(tmp_path / "map.tif", crs, turn_deg=turn_deg)
    other = build_bundle(written, tmp_path / "b.nadir", recipe=RECIPE, train=False)
    apart = np.hypot(*np.subtract(other.grid.origin_m, in_utm.grid.origin_m))
    print(f"origins {apart:.4f} m apart, {len(in_utm.references)} and {len(other.references)} references")
    assert apart < 0.1
    assert other.order.to_dict() == in_utm.order.to_dict()
    photos = near_references(in_utm, count=24)
    here, there = (best_answers(bundle, photos) for bundle in (in_utm, other))
    distance = np.hypot(*(places(there) - places(here)).T)
    print(f"answers at most {distance.max():.4f} m apart")
    assert distance.max() < 1.0
    for a, b in zip(here, there, strict=True):
        assert a.heading_deg == b.heading_deg
        assert a.candidates.distance[0] == pytest.approx(b.candidates.distance[0], abs=0.05)


def best_answers(bundle: Bundle, photos: list[bytes]) -> list[Fix]:
    """The most similar reference of all cells, with the altitude known.

    Not the weighted coordinate: between candidates that are as good as each other, another file's rounding
    may choose the other one.
    """
    options = LocateOptions(cells=len(bundle.order), weighted=False)
    height_m = bundle.canonical.altitude_m
    return [locate(p, bundle=bundle, camera=CAMERA, altitude_m=height_m, options=options) for p in photos]


def places(fixes: list[Fix]) -> np.ndarray:
    assert all(fix.position and fix.position.epsg == GROUND.epsg for fix in fixes)
    return np.array([(fix.position.east_m, fix.position.north_m) for fix in fixes])
