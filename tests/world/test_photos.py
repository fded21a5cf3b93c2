"""Simulated photos: on the map, seeded one by one, with the truth beside them."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from nadirfix.camera import Camera
from nadirfix.errors import InputError, MapError, NadirfixError, OutputError
from nadirfix.geo.pose import ground_from_pixel, project
from nadirfix.image.decode import decode
from nadirfix.image.tags import read_tags
from nadirfix.options.map import SimulateOptions
from nadirfix.photo_list import read_photo_list, read_views
from nadirfix.types import Point, View
from nadirfix.world.photos import simulate_photos

CAMERA = Camera(80, 60, 50.0, 50.0)  # 1.6 h × 1.2 h metres of ground
WEST, SOUTH, SIDE_M = 500_000.0, 4_649_000.0, 1000.0


@dataclass(frozen=True)
class Rendered:
    pixels: np.ndarray
    valid_share: float


@dataclass
class FlatMap:
    """A square of ground whose colour is its place: red grows eastwards, green northwards."""

    hole_east_m: float = math.inf
    epsg: int = 32633
    bounds: tuple[float, float, float, float] = (WEST, SOUTH, WEST + SIDE_M, SOUTH + SIDE_M)

    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Rendered:
        width, height = size or (camera.width_px, camera.height_px)
        u, v = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
        east, north = project(ground_from_pixel(view, camera, (width, height)), u, v)
        x, y = east + view.center.east_m - WEST, north + view.center.north_m - SOUTH
        valid = (x >= 0) & (y >= 0) & (x <= min(SIDE_M, self.hole_east_m)) & (y <= SIDE_M)
        pixels = np.dstack([x / SIDE_M * 255, y / SIDE_M * 255, np.full_like(x, 128)])
        return Rendered(np.where(valid[..., None], pixels, 0).astype(np.uint8), float(valid.mean()))


def options(**changes: object) -> SimulateOptions:
    usual = {"count": 12, "altitude_min_m": 100.0, "altitude_max_m": 300.0, "noise_levels": 0.0}
    return SimulateOptions(**{**usual, **changes})


def simulate(out: Path, ground: FlatMap | None = None, **settings) -> list:
    settings.setdefault("options", options())
    made = simulate_photos(ground or FlatMap(), out, camera=CAMERA, **settings)
    rows = read_photo_list(made.manifest)
    assert made.count == len(rows) == len(list((out / "photos").iterdir()))
    return rows


def pixels_of(rows) -> list[np.ndarray]:
    return [decode(row.photo, max_pixels=10**6) for row in rows]


def test_each_slice_of_the_altitude_range_gets_one_photo(tmp_path: Path) -> None:
    altitudes = sorted(row.altitude_m for row in simulate(tmp_path / "a", options=options(count=20)))
    assert [math.floor((h - 100) / 10) for h in altitudes] == list(range(20))


def test_rounding_never_reaches_the_end_of_the_range(tmp_path: Path) -> None:
    narrow = options(count=8, altitude_min_m=299.9991, altitude_max_m=300.0)
    assert all(299.9991 <= row.altitude_m < 300 for row in simulate(tmp_path / "a", options=narrow))


def test_every_footprint_lies_on_the_map(tmp_path: Path) -> None:
    rows = simulate(tmp_path / "a", FlatMap(hole_east_m=700), options=options(count=30, tilt_max_deg=10))
    for row in rows:
        assert row.valid_share >= 0.99
        view = View(row.point, row.altitude_m, row.heading_deg, row.tilt_deg, row.tilt_toward_deg)
        east, north = project(
            ground_from_pixel(view, CAMERA, (80, 60)), np.array([0.0, 80, 80, 0]), np.array([0.0, 0, 60, 60])
        )
        assert (east + row.point.east_m - WEST).min() >= 0
        assert (north + row.point.north_m - SOUTH).max() <= SIDE_M
    assert {int(row.heading_deg // 90) for row in rows} == {0, 1, 2, 3}
    assert 2 < max(row.tilt_deg for row in rows) <= 10


def test_middle_of_the_photo_is_where_the_photo_list_has_it(tmp_path: Path) -> None:
    for row in simulate(tmp_path / "a", options=options(count=5, tilt_max_deg=5)):
        red, green, _ = decode(row.photo, max_pixels=10**6)[29:31, 39:41].reshape(-1, 3).mean(axis=0)
        # One grey level is 4 m of this map.
        assert red / 255 * SIDE_M == pytest.approx(row.point.east_m - WEST, abs=12)
        assert green / 255 * SIDE_M == pytest.approx(row.point.north_m - SOUTH, abs=12)


def test_camera_is_in_every_photo_and_pose_in_none(tmp_path: Path) -> None:
    for row in simulate(tmp_path / "a"):
        tags = read_tags(row.photo)
        assert tags.camera == CAMERA
        assert (tags.lonlat, tags.relative_altitude_m, tags.gimbal_yaw_deg) == (None, None, None)


def test_pose_is_written_on_request(tmp_path: Path) -> None:
    for row in simulate(tmp_path / "a", write_pose=True):
        tags = read_tags(row.photo)
        assert tags.lonlat is not None
        assert Point.from_lonlat(*tags.lonlat).distance_m(row.point) < 0.01
        assert tags.relative_altitude_m == pytest.approx(row.altitude_m, abs=1e-3)
        assert tags.heading_deg == pytest.approx(row.heading_deg, abs=1e-3)


def test_same_seed_same_photos_other_seed_other_photos(tmp_path: Path) -> None:
    runs = {"a": 1, "b": 1, "c": 2}
    rows = [simulate(tmp_path / name, options=options(seed=s, noise_levels=2.0)) for name, s in runs.items()]
    first, again, other = ([(row.point, row.photo.read_bytes()) for row in made] for made in rows)
    assert first == again
    assert not {p for p, _ in first} & {p for p, _ in other}


def test_the_views_of_a_photo_list_give_the_same_photos_again(tmp_path: Path) -> None:
    settings = options(noise_levels=2.0, tilt_max_deg=3.0)
    first = simulate(tmp_path / "a", options=settings)
    views = read_views(tmp_path / "a" / "manifest.csv")
    again = simulate(tmp_path / "b", options=settings, views=views)
    assert [r.photo.read_bytes() for r in first] == [r.photo.read_bytes() for r in again]


def test_noise_is_gaussian_and_each_photo_has_its_own(tmp_path: Path) -> None:
    view = View(Point(WEST + 500, SOUTH + 500, 32633), 200)
    clean = simulate(tmp_path / "a", options=options(jpeg_quality=100), views=[view] * 3)
    noisy = simulate(tmp_path / "b", options=options(jpeg_quality=100, noise_levels=6.0), views=[view] * 3)
    # Chroma is halved (4:2:0), so luma tells: of three equal noises it keeps √(0.299² + 0.587² + 0.114²).
    weights = np.array([0.299, 0.587, 0.114])
    luma = [(a.astype(float) - b) @ weights for a, b in zip(pixels_of(noisy), pixels_of(clean), strict=True)]
    assert [d.std() for d in luma] == pytest.approx([6 * np.linalg.norm(weights)] * 3, rel=0.1)
    assert abs(np.corrcoef(luma[0].ravel(), luma[1].ravel())[0, 1]) < 0.1


def test_given_views_are_taken_as_they_are(tmp_path: Path) -> None:
    inside = View(Point(WEST + 500, SOUTH + 500, 32633), 200, 350.0)
    edge = View(Point(WEST, SOUTH + 500, 32633), 200, 0.0)
    made = simulate_photos(FlatMap(), tmp_path / "a", camera=CAMERA, options=options(), views=[edge, inside])
    first, second = read_photo_list(made.manifest)
    assert made.partial == 1
    assert (first.point, second.point) == (edge.center, inside.center)
    assert first.valid_share == pytest.approx(0.5, abs=0.02)
    assert (second.altitude_m, second.heading_deg, second.tilt_deg, second.valid_share) == (200, 350, 0, 1)


def test_given_view_off_the_map_is_named(tmp_path: Path) -> None:
    inside = View(Point(WEST + 500, SOUTH + 500, 32633), 200)
    away = View(Point(WEST - 5000, SOUTH, 32633), 200)
    with pytest.raises(InputError, match="view 2 of 2"):
        simulate(tmp_path / "a", views=[inside, away])
    assert list(tmp_path.iterdir()) == []


def test_photo_larger_than_the_map_names_both_sizes(tmp_path: Path) -> None:
    with pytest.raises(MapError, match=r"covers 1\d\d\d × \d+ m; the map is 1000 × 1000 m") as caught:
        simulate(tmp_path / "a", options=options(altitude_max_m=1000.0))
    assert caught.value.code == "map.too_small"
    assert list(tmp_path.iterdir()) == []


def test_map_with_too_many_holes(tmp_path: Path) -> None:
    with pytest.raises(MapError, match="99% of a photo") as caught:
        simulate(tmp_path / "a", FlatMap(hole_east_m=100))
    assert caught.value.code == "map.too_small"


class MapForTwo(FlatMap):
    """A map that shows full photos only to two threads at once."""

    def __init__(self) -> None:
        super().__init__()
        self.both = threading.Barrier(2, timeout=10)

    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Rendered:
        if size is None:
            self.both.wait()
        return super().render(view, camera, size)


def test_two_threads_render_and_photos_stay_in_order(tmp_path: Path) -> None:
    rows = simulate(tmp_path / "a", MapForTwo())
    assert [row.photo.name for row in rows] == [f"{i:06d}.jpg" for i in range(12)]


class SlowMap(FlatMap):
    def render(self, view: View, camera: Camera, size: tuple[int, int] | None = None) -> Rendered:
        time.sleep(0.05 if size is None else 0)
        return super().render(view, camera, size)


def test_stopping_half_way_leaves_nothing_and_nobody_at_work(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if stage == "rendering photos" and done == 3:
            raise KeyboardInterrupt

    # Held on to, as the command line does: nothing may depend on the error being forgotten.
    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(tmp_path / "a", SlowMap(), progress=stop, options=options(count=100))
    assert list(tmp_path.iterdir()) == []
    assert not any("ThreadPool" in thread.name for thread in threading.enumerate())
    assert caught.tb is not None


def test_progress_counts_every_photo(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    simulate(tmp_path / "a", progress=lambda *call: calls.append(call))
    for stage in ("choosing views", "rendering photos"):
        assert [(done, total) for name, done, total in calls if name == stage][-1] == (12, 12)


@pytest.mark.parametrize(
    "change",
    [
        {"count": 0}, {"altitude_min_m": 0.0}, {"altitude_min_m": 400.0}, {"altitude_max_m": math.inf},
        {"noise_levels": -1.0}, {"noise_levels": math.nan}, {"jpeg_quality": 0}, {"jpeg_quality": 101},
        {"tilt_max_deg": -1.0}, {"tilt_max_deg": 56.0}, {"valid_share": 1.5}, {"seed": -1},
    ],
)  # fmt: skip
def test_settings_out_of_range(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        simulate(tmp_path / "a", options=options(**change))
    assert caught.value.code == "options.invalid"
    assert next(iter(change)) in caught.value.seen


def test_overwriting_replaces_simulated_photos(tmp_path: Path) -> None:
    simulate(tmp_path / "a")
    with pytest.raises(OutputError):
        simulate(tmp_path / "a")
    simulate(tmp_path / "a", overwrite=True, options=options(count=3))
    assert len(list((tmp_path / "a" / "photos").iterdir())) == 3


@pytest.mark.parametrize("inside", ["thesis.txt", None])
def test_overwriting_never_touches_anything_else(tmp_path: Path, inside: str | None) -> None:
    out = tmp_path / "a"
    mine = out / inside if inside else out
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(NadirfixError) as caught:
        simulate(out, overwrite=True)
    assert caught.value.code == "output.exists"
    assert mine.read_text() == "mine"
