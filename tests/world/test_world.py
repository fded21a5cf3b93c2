"""The world: the same place at two dates, at any resolution, told apart from every other."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys

import cv2
import numpy as np
import pytest
import rasterio

from nadirfix.errors import InputError, OutputError
from nadirfix.files.owned import MARKER
from nadirfix.world import World, make_world
from nadirfix.world.files import write_world
from nadirfix.world.noise import Noise
from nadirfix.world.plan import make_plan

SIZE_M = 640.0


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(size_m=SIZE_M, gsd_m=1.0, seed=3)


@pytest.fixture(scope="module")
def finer() -> World:
    return make_world(size_m=SIZE_M, gsd_m=0.5, seed=3)


def grey(pixels: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def hashed(made: World) -> str:
    return hashlib.sha256(made.old.tobytes() + made.new.tobytes()).hexdigest()


def test_lies_at_a_believable_place(world):
    assert world.epsg == 32633
    assert world.old.shape == world.new.shape == (640, 640, 3)
    assert world.old.dtype == np.uint8
    a, b, east_m, d, e, north_m = world.affine
    assert (a, b, d, e) == (1.0, 0.0, 0.0, -1.0)
    assert 166_000 < east_m < 834_000
    assert 0 < north_m < 9_300_000


def test_the_same_seed_is_the_same_place(world):
    assert hashed(make_world(size_m=SIZE_M, gsd_m=1.0, seed=3)) == hashed(world)


def test_another_seed_is_another_place(world):
    other = make_world(size_m=SIZE_M, gsd_m=1.0, seed=4)
    assert abs(correlation(grey(other.old), grey(world.old))) < 0.25


def test_the_dates_differ_in_value(world):
    change = np.abs(world.old.astype(float) - world.new).mean()
    assert change > 12
    assert correlation(grey(world.old), grey(world.new)) < 0.8


def edges(pixels: np.ndarray) -> np.ndarray:
    """How strong the outlines are, whatever side is lighter."""
    smooth = cv2.GaussianBlur(grey(pixels), (0, 0), 1.0)
    strength = np.hypot(cv2.Sobel(smooth, cv2.CV_32F, 1, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 1))
    return np.sqrt(strength)


def test_what_persists_stays_where_it_is(world):
    """Outlines of the two dates match best without any shift: under half a metre."""
    old, new = edges(world.old), edges(world.new)
    score = cv2.matchTemplate(new, old[20:-20, 20:-20], cv2.TM_CCOEFF_NORMED)
    row, col = np.unravel_index(np.argmax(score), score.shape)
    assert (
        np.hypot(*(_vertex(line) for line in (score[row, col - 1 : col + 2], score[row - 1 : row + 2, col])))
        < 0.5
    )
    assert (row, col) == (20, 20)
    assert score[row, col] > 0.25


def _vertex(three: np.ndarray) -> float:
    """Where the parabola through three neighbours peaks, from the middle one."""
    low, middle, high = map(float, three)
    return 0.5 * (high - low) / (2 * middle - low - high)


def test_roads_are_the_same_pixels_at_both_dates(finer):
    """On a main road away from shadows and cars, the two dates differ by tone only, not by position."""
    road = next(r for r in make_plan(size_m=SIZE_M, seed=3).roads if r.kind == "main" and _inside(r.points))
    column, row = (int(v / 0.5) for v in road.points[len(road.points) // 2])
    old, new = (grey(p)[row - 40 : row + 40, column - 40 : column + 40] for p in (finer.old, finer.new))
    window = cv2.createHanningWindow((80, 80), cv2.CV_32F)
    (dx, dy), _ = cv2.phaseCorrelate(cv2.Laplacian(old, -1), cv2.Laplacian(new, -1), window)
    assert np.hypot(dx, dy) * 0.5 < 0.5


def _inside(points: np.ndarray) -> bool:
    middle = points[len(points) // 2]
    return bool(np.all((middle > 60) & (middle < SIZE_M - 60)))


@pytest.mark.parametrize("date", ["old", "new"])
def test_statistics_are_those_of_a_photograph(world, date):
    pixels = getattr(world, date)
    assert (pixels == 0).mean() < 0.02
    assert (pixels == 255).mean() < 0.02
    assert 60 < pixels.mean() < 160
    assert pixels.std() > 20
    cells = grey(pixels)[:600, :600].reshape(6, 100, 6, 100).std(axis=(1, 3))
    assert cells.min() > 5, "every 100 m cell shows something"


def test_no_two_places_are_alike(world):
    """The best match of any 128 m square elsewhere on the map is a poor one."""
    picture = cv2.GaussianBlur(grey(world.old), (0, 0), 1.5) - cv2.GaussianBlur(grey(world.old), (0, 0), 12)
    for row, col in ((60, 60), (60, 440), (250, 250), (440, 60), (440, 440)):
        patch = picture[row : row + 128, col : col + 128]
        score = cv2.matchTemplate(picture, patch, cv2.TM_CCOEFF_NORMED)
        assert score[row, col] > 0.999
        score[max(row - 24, 0) : row + 25, max(col - 24, 0) : col + 25] = 0
        assert score.max() < 0.65


@pytest.mark.parametrize("date", ["old", "new"])
def test_another_resolution_is_the_same_place(world, finer, date):
    shrunk = cv2.resize(getattr(finer, date), (640, 640), interpolation=cv2.INTER_AREA)
    assert correlation(grey(shrunk), grey(getattr(world, date))) > 0.9
    window = cv2.createHanningWindow((640, 640), cv2.CV_32F)
    (dx, dy), _ = cv2.phaseCorrelate(grey(shrunk), grey(getattr(world, date)), window)
    assert np.hypot(dx, dy) < 0.1


def top_octave(pixels: np.ndarray) -> float:
    """Grey levels (root mean square) that only the finest octave carries."""
    full = grey(pixels)
    half = cv2.resize(full, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    return float((full - cv2.resize(half, full.shape[::-1], interpolation=cv2.INTER_CUBIC)).std())


def test_detail_goes_down_to_the_pixel(world, finer):
    coarse, fine = top_octave(world.old), top_octave(finer.old)
    assert min(coarse, fine) > 4
    assert max(coarse, fine) / min(coarse, fine) < 1.8


def test_tiles_leave_no_seams():
    """A world larger than one tile has no step where tiles meet."""
    made = make_world(size_m=560, gsd_m=0.5, seed=5)
    old = grey(made.old)
    steps = np.abs(np.diff(old, axis=1)).mean(axis=0)
    assert steps[1023] < steps[990:1056].mean() + 3 * steps[990:1056].std()


@pytest.mark.parametrize("spacing_m", [0.3, 7.0, 60.0])
def test_noise_is_the_same_in_a_window_of_one_column(spacing_m):
    """A river may touch a tile with a single column of pixels."""
    noise, x_m, y_m = Noise.seeded(3), 100 + 0.5 * np.arange(64), 40 + 0.5 * np.arange(48)
    whole = noise.grid(x_m, y_m, spacing_m, 31)
    column, row = noise.grid(x_m[:1], y_m, spacing_m, 31), noise.grid(x_m, y_m[:1], spacing_m, 31)
    assert (column.shape, row.shape) == ((48, 1), (1, 64))
    assert np.abs(column[:, 0] - whole[:, 0]).max() < 1e-3
    assert np.abs(row[0] - whole[0]).max() < 1e-3
    assert np.isfinite(noise.grid(x_m[:1], y_m[:1], spacing_m, 31)).all()


def test_something_comes_and_something_goes():
    plan = make_plan(size_m=1200, seed=0)
    houses = [b for b in plan.boxes if b.kind in ("gable", "hip")]
    stay = sum(b.here == (True, True) for b in houses)
    assert 0.8 < stay / len(houses) < 0.97
    assert {b.here for b in houses} == {(True, True), (True, False), (False, True)}
    cars = [b for b in plan.boxes if b.kind == "car"]
    assert not any(b.here == (True, True) for b in cars)
    assert any(r.here != (True, True) for r in plan.roads)
    assert plan.seasons[0].name != plan.seasons[1].name


def test_every_world_has_variety():
    for seed in range(3):
        plan = make_plan(size_m=3000, seed=seed)
        uses = {b.use for b in plan.blocks}
        assert {"field", "meadow", "wood", "housing", "centre", "quarry", "orchard", "vineyard"} <= uses


@pytest.mark.parametrize(
    ("size_m", "gsd_m", "seed"),
    [(400, 0.5, 0), (11_000, 1, 0), (3000, 0.1, 0), (3000, 3, 0), (10_000, 0.2, 0), (3000, 0.5, -1)],
)
def test_what_cannot_be_made_is_refused(size_m, gsd_m, seed):
    with pytest.raises(InputError) as caught:
        make_world(size_m=size_m, gsd_m=gsd_m, seed=seed)
    assert caught.value.code == "options.invalid"


def test_nan_is_refused():
    with pytest.raises(InputError):
        make_world(size_m=float("nan"), gsd_m=0.5, seed=0)


def test_reports_progress():
    reports = []
    make_world(size_m=500, gsd_m=2.0, seed=1, progress=lambda *report: reports.append(report))
    assert reports[0][1] == 0
    assert reports[-1][1] == reports[-1][2]


def test_two_maps_in_one_folder(tmp_path):
    summary = write_world(tmp_path / "w", size_m=500, gsd_m=2.0, seed=1)
    assert sorted(p.name for p in (tmp_path / "w").iterdir()) == [
        MARKER,
        "new.tif",
        "old.tif",
    ]
    with rasterio.open(summary["new"]) as source:
        assert list(source.bounds) == summary["bounds"]
        assert source.crs.to_epsg() == summary["epsg"]
    with pytest.raises(OutputError) as caught:
        write_world(tmp_path / "w", size_m=500, gsd_m=2.0, seed=1)
    assert caught.value.code == "output.exists"
    write_world(tmp_path / "w", size_m=500, gsd_m=2.0, seed=1, overwrite=True)


def test_importing_nadirfix_does_not_make_worlds():
    code = "import sys, nadirfix; print(any(m.startswith('nadirfix.world') for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_the_command_prints_one_object(tmp_path, capsys):
    from nadirfix.cli.world import world as command

    command(out=tmp_path / "w", size_km=0.5, gsd=2.0, seed=2, quiet=True)
    summary = json.loads(capsys.readouterr().out)
    fields = {"old", "new", "epsg", "bounds", "width_px", "height_px", "gsd_m", "seed", "seconds"}
    assert set(summary) >= fields
    assert summary["width_px"] == 250
