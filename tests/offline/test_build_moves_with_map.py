"""A bundle belongs to the ground, not to the file: answers move with the map, in whatever system it comes."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp, Resampling
from rasterio.transform import Affine
from rasterio.warp import reproject, transform_bounds

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.offline import build_bundle
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.options.recipe import RECIPES, FitOptions
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
def test_answers_move_with_the_map(
    tmp_path: Path, photos: list[bytes], train: bool, request: pytest.FixtureRequest
) -> None:
    here = Bundle.load(request.getfixturevalue("trained_bundle" if train else "untrained_bundle"))
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


def rewritten(source: Path, target: Path, crs: str, *, turn_deg: float) -> Path:
    """The same map in another system or transform, resampled as anybody would."""
    with rasterio.open(source) as old:
        ground_m = transform_bounds(old.crs, crs, *old.bounds)
        stretch = 1 / math.cos(math.radians(old.lnglat()[1])) if crs == "EPSG:3857" else 1.0
        gsd_m = old.res[0] * stretch
        middle = (ground_m[0] + ground_m[2]) / 2, (ground_m[1] + ground_m[3]) / 2
        count = round(1.5 * (ground_m[2] - ground_m[0]) / gsd_m)
        place = Affine.translation(*middle) @ Affine.rotation(turn_deg) @ Affine.scale(gsd_m, -gsd_m)
        place = place @ Affine.translation(-count / 2, -count / 2)
        pixels = np.zeros((4, count, count), np.uint8)
        bands = np.concatenate([old.read(), np.full((1, *old.shape), 255, np.uint8)])
        known = {"src_transform": old.transform, "src_crs": old.crs, "dst_transform": place, "dst_crs": crs}
        reproject(bands, pixels, resampling=Resampling.cubic, **known)
    profile = {"driver": "GTiff", "dtype": "uint8", "count": 4, "crs": crs, "transform": place}
    with rasterio.open(target, "w", width=count, height=count, **profile) as new:
        new.write(pixels)
        new.colorinterp = [ColorInterp.red, ColorInterp.green, ColorInterp.blue, ColorInterp.alpha]
    return target


def test_answers_as_they_are_given_do_not_depend_on_the_file(
    tmp_path: Path, tiny_world: Path, tiny_photos: Path
) -> None:
    """Photos of another date, altitude unknown, by default; web metres and a turn in one file."""
    pytest.importorskip("kornia")
    written = rewritten(tiny_world / "old.tif", tmp_path / "map.tif", "EPSG:3857", turn_deg=30.0)
    recipe = dataclasses.replace(RECIPES["tiny"], fit=FitOptions(views=200))
    maps = tiny_world / "old.tif", written
    bundles = [build_bundle(m, tmp_path / f"{m.stem}.nadir", recipe=recipe, train=False) for m in maps]
    photos = sorted((tiny_photos / "photos").iterdir())
    here, there = ([locate(photo, bundle=bundle) for photo in photos] for bundle in bundles)
    assert [fix.status for fix in here] == [fix.status for fix in there]
    both = [(a.position, b.position) for a, b in zip(here, there, strict=True) if a.position]
    apart_m = [a.distance_m(b) for a, b in both]
    print(f"{len(both)} of {len(photos)} answered, at most {max(apart_m):.2f} m apart")
    assert len(both) >= len(photos) - 1
    assert max(apart_m) < 1.0
