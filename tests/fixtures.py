"""A small world, photos of its newer date and a bundle of its older one, made once per test session.

For every test that needs something to locate with:

- ``tiny_bundle``: the path of a bundle, 0.6 × 0.6 km, the tiny recipe's networks as they start (untrained:
  what is tested here is that answers agree, not that they are good), and no matcher: that is tested in
  tests/verify. Read only: copy it to change it.
- ``ground_map``, ``trained_bundle``, ``untrained_bundle``, ``mosaic_bundle``: the ground of tests/bundles.py,
  and bundles of its recipes on it, for those who need one to read or to compare with. Read only as well.
- ``tiny_photos``: a folder with ``manifest.csv`` and ``photos/NNNNNN.jpg``, 1024 × 768 px, 100 to 180 m.

Workers of one pytest run share them through the session's temporary folder.
"""

from __future__ import annotations

import dataclasses
import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from nadirfix.camera import Camera
from nadirfix.geo.geomap import GeoMap
from nadirfix.options.map import SimulateOptions
from nadirfix.options.recipe import RECIPES, Recipe
from nadirfix.world.files import write_world
from nadirfix.world.photos import simulate_photos
from tests.bundles import MOSAICS, RECIPE, write_ground

CAMERA = Camera(1024, 768, 600.0, 600.0)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """One folder for all workers of this run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def tiny_world(shared: Path) -> Path:
    """old.tif and new.tif."""
    return once(shared / "world", lambda out: write_world(out, size_m=600.0, gsd_m=0.5, seed=5))


@pytest.fixture(scope="session")
def tiny_photos(shared: Path, tiny_world: Path) -> Path:
    """Six photos of the newer date with their manifest."""

    def take(out: Path) -> None:
        options = SimulateOptions(count=6, altitude_min_m=100.0, altitude_max_m=180.0)
        with GeoMap.open(tiny_world / "new.tif") as ground:
            simulate_photos(ground, out, camera=CAMERA, options=options)

    return once(shared / "photos", take)


@pytest.fixture(scope="session")
def tiny_bundle(shared: Path, tiny_world: Path) -> Path:
    """A bundle of the older date, its networks untrained."""

    def build(out: Path) -> None:
        from nadirfix.offline import build_bundle

        recipe = dataclasses.replace(RECIPES["tiny"], matcher="none")
        build_bundle(tiny_world / "old.tif", out, recipe=recipe, train=False, device="cpu")

    return once(shared / "tiny.nadir", build)


@pytest.fixture(scope="session")
def ground_map(shared: Path) -> Path:
    """The ground of tests/bundles.py, as map.tif."""

    def write(out: Path) -> None:
        out.mkdir()
        write_ground(out / "map.tif")

    return once(shared / "ground", write) / "map.tif"


@pytest.fixture(scope="session")
def trained_bundle(shared: Path, ground_map: Path) -> Path:
    """A bundle of that ground, its networks trained for a few steps."""
    return _of_ground(shared / "trained.nadir", ground_map, train=True)


@pytest.fixture(scope="session")
def untrained_bundle(shared: Path, ground_map: Path) -> Path:
    """The same, its networks as they start."""
    return _of_ground(shared / "untrained.nadir", ground_map, train=False)


@pytest.fixture(scope="session")
def mosaic_bundle(shared: Path, ground_map: Path) -> Path:
    """One whose references are cut from mosaics."""
    return _of_ground(shared / "mosaics.nadir", ground_map, train=False, recipe=MOSAICS)


def _of_ground(target: Path, ground_map: Path, *, train: bool, recipe: Recipe = RECIPE) -> Path:
    from nadirfix.offline import build_bundle

    return once(target, lambda out: build_bundle(ground_map, out, recipe=recipe, train=train, device="cpu"))


def once(target: Path, make: Callable[[Path], object]) -> Path:
    """What ``make`` makes, made by whichever worker comes first; the others wait."""
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            make(target)
    return target
