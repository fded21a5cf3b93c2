"""From pixels to hypotheses, with a describer that reads the place off the crop itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nadirfix.altitude.sweep import geometric_series
from nadirfix.bundle.reference_search import search_of
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.image.crop import Canonical, canonical_crop, scaled_photo
from nadirfix.options.recipe import RECIPES, NetworkOptions
from nadirfix.options.sweep import SweepOptions
from nadirfix.options.voting import VoteOptions
from nadirfix.retrieval.crops import PhotoCrops, ReferenceSearch, Scale
from nadirfix.retrieval.hypotheses import hypotheses, hypotheses_of_middle, hypotheses_of_sweep
from nadirfix.types import Point, View
from tests.ground import AnalyticGround

CAMERA = Camera(512, 384, 300.0, 300.0)
CANONICAL = Canonical(CAMERA, 125.0)
GROUND = AnalyticGround(15.31, 49.12, 32633, shortest_m=25.0)
SIZE = 32
STRIDE_M, SIDE_M = 40.0, 1100.0


@dataclass
class References:
    east_m: np.ndarray
    north_m: np.ndarray
    heading_deg: np.ndarray


def described(crops: np.ndarray) -> np.ndarray:
    """The crop itself, coarse, without its mean: enough to recognise this ground."""
    small = crops.reshape(len(crops), 8, SIZE // 8, 8, SIZE // 8, 3).mean(axis=(2, 4))
    flat = (small - small.mean(axis=(1, 2), keepdims=True)).reshape(len(crops), -1)
    return (flat / np.linalg.norm(flat, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def search() -> ReferenceSearch:
    steps = np.arange(-SIDE_M / 2, SIDE_M / 2, STRIDE_M)
    east, north, heading = (a.ravel() for a in np.meshgrid(steps, steps, np.arange(0, 360, 30.0)))
    references = References(GROUND.center[0] + east, GROUND.center[1] + north, heading)
    views = zip(references.east_m, references.north_m, heading, strict=True)
    views_px = [
        GROUND.expected(View(Point(e, n, 32633), 125.0, h), CAMERA, (SIZE, SIZE)) for e, n, h in views
    ]
    known = described(np.stack(views_px))

    def nearest(descriptors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        similarity = descriptors @ known.T
        rows = np.argsort(-similarity, axis=1)[:, :k]
        return rows, np.take_along_axis(similarity, rows, axis=1).astype(np.float64)

    return ReferenceSearch(CANONICAL, (SIZE, SIZE), described, nearest, references, 32633)


def photo(view: View) -> np.ndarray:
    return GROUND.expected(view, CAMERA, (CAMERA.width_px, CAMERA.height_px)).astype(np.uint8)


@pytest.mark.parametrize("altitude_m", [150.0, 300.0, 420.0])
def test_a_photo_is_found_better_than_its_references_lie(search: ReferenceSearch, altitude_m: float) -> None:
    truth = View(Point(GROUND.center[0] + 37.0, GROUND.center[1] - 61.0, 32633), altitude_m, 112.0)
    guesses = [Scale(CAMERA.gsd_m(1.5 * altitude_m), 0.5), Scale(CAMERA.gsd_m(1.04 * altitude_m), 0.5)]
    options = VoteOptions(position_m=20.0, retrieve=8)
    found = hypotheses(PhotoCrops(photo(truth), CAMERA, search), guesses, options)
    best = found[0].view
    off_m = best.center.distance_m(truth.center)
    print(f"{off_m:.1f} m, {best.heading_deg:.1f}°, {best.altitude_m:.0f} m")
    assert off_m < 15 and abs(best.heading_deg - 112.0) < 8
    assert best.altitude_m == pytest.approx(altitude_m, rel=0.08)


def test_few_crops_are_enough_where_they_agree(search: ReferenceSearch) -> None:
    batches = []

    def counted(crops: np.ndarray) -> np.ndarray:
        batches.append(len(crops))
        return described(crops)

    counting = ReferenceSearch(CANONICAL, (SIZE, SIZE), counted, search.nearest, search.references, 32633)
    truth = View(Point(*GROUND.center, 32633), 300.0, 60.0)
    scales = [Scale(CAMERA.gsd_m(300.0), 0.8), Scale(CAMERA.gsd_m(550.0), 0.2)]
    few = {"first_crops": 9, "crops": 25, "extra_altitudes": 0}
    sure = VoteOptions(position_m=20.0, retrieve=4, temperature=0.01, consensus=0.25, **few)
    hypotheses(PhotoCrops(photo(truth), CAMERA, counting), scales, sure)
    assert batches == [9]
    batches.clear()
    noise = np.random.default_rng(0).integers(0, 255, (384, 512, 3)).astype(np.uint8)
    hypotheses(PhotoCrops(noise, CAMERA, counting), scales, sure)
    assert batches == [9, 16 - 4 + 25], "all altitudes at once, and not the four corners a second time"


def test_the_middle_votes_for_nothing_and_is_never_described_again(search: ReferenceSearch) -> None:
    described_px: list[np.ndarray] = []

    def counted(crops: np.ndarray) -> np.ndarray:
        described_px.extend(crops)
        return described(crops)

    truth = View(Point(GROUND.center[0] + 5.0, GROUND.center[1] + 3.0, 32633), 300.0, 60.0)
    scale = Scale(CAMERA.gsd_m(300.0), 1.0)
    options = VoteOptions(position_m=20.0, retrieve=4, extra_altitudes=0)
    crops = PhotoCrops(photo(truth), CAMERA, replace(search, embed=counted))
    size = {"width_px": SIZE, "height_px": SIZE}
    middle = canonical_crop(photo(truth), CAMERA, scale.gsd_m, CANONICAL, **size)
    crops.cache_middle(scale.gsd_m, described(middle.pixels[None])[0])
    best = hypotheses_of_middle(crops, scale, options)[0].view
    assert described_px == []
    assert best.center.distance_m(truth.center) < STRIDE_M
    crops.votes([scale], options, crops=9)
    assert len(described_px) == 8


@pytest.mark.parametrize("enlarge", ["mean", "cubic"])
def test_the_middle_comes_to_every_scale_as_the_recipe_says(search: ReferenceSearch, enlarge: Any) -> None:
    recorded: list[np.ndarray] = []

    def record(crops: np.ndarray) -> np.ndarray:
        recorded.extend(crops)
        return described(crops)

    network = NetworkOptions(width_px=SIZE, height_px=SIZE)

    def run(planes: np.ndarray) -> np.ndarray:
        return record(np.moveaxis(planes, 1, -1))

    bundle: Any = SimpleNamespace(
        recipe=replace(RECIPES["tiny"], enlarge=enlarge, place_network=network), canonical=CANONICAL,
        epsg=32633, references=search.references, index=search, describe=np.asarray,
        place_network=SimpleNamespace(run=run),
    )  # fmt: skip
    noise = np.random.default_rng(0).integers(0, 255, (384, 512, 3)).astype(np.uint8)
    gsd_m, size = CAMERA.gsd_m(300.0), {"width_px": SIZE, "height_px": SIZE}
    PhotoCrops(noise, CAMERA, search_of(bundle)).votes([Scale(gsd_m, 1.0)], VoteOptions(), crops=1)
    crop = canonical_crop(noise, CAMERA, gsd_m, CANONICAL, enlarge=enlarge, **size)
    assert np.array_equal(recorded, crop.pixels[None])


def test_a_scale_the_votes_agree_on_is_tried_once_more(search: ReferenceSearch) -> None:
    """Tried a third too high, the frame's own spread shows it, and the second try is at the right scale."""
    truth = View(Point(GROUND.center[0] - 20.0, GROUND.center[1] + 44.0, 32633), 300.0, 61.0)
    wrong = [Scale(CAMERA.gsd_m(390.0), 1.0)]
    views = []
    for extra in (0, 2):
        options = VoteOptions(position_m=20.0, retrieve=8, crops=16, extra_altitudes=extra, consensus=1.0)
        views.append(hypotheses(PhotoCrops(photo(truth), CAMERA, search), wrong, options)[0].view)
    off = [abs(view.altitude_m / 300.0 - 1) for view in views]
    print(f"scale off by {100 * off[0]:.1f} %, then by {100 * off[1]:.1f} %")
    assert off[1] < 0.04 and off[1] < off[0]
    assert views[1].center.distance_m(truth.center) < 10


def test_a_scaled_photo_from_very_high_is_the_middle_of_the_photo_and_no_larger() -> None:
    """From 20 km the whole scaled photo would take gigabytes, for crops that show a few pixels each."""
    pixels = np.zeros((384, 512, 3), np.uint8)
    pixels[190:194, 254:258] = 200
    scaled = scaled_photo(pixels, CAMERA, CAMERA.gsd_m(20_000.0), CANONICAL, width_px=32, height_px=32)
    assert scaled.pixels.shape == (384, 384, 3)
    rows, columns = scaled.pixels.shape[:2]
    assert scaled.pixels[rows // 2, columns // 2].max() > 150, "the photo's middle is the scaled photo's"


@pytest.mark.parametrize(
    "none", [{"max_altitudes": 0}, {"crops": 0}, {"retrieve": 0}, {"hypotheses": 0}, {"extra_altitudes": -1}]
)
def test_options_with_which_nothing_can_vote_are_refused(none: dict[str, int]) -> None:
    with pytest.raises(InputError, match="nothing can vote"):
        VoteOptions(**none)


def test_a_scaled_photo_s_middle_crop_is_the_canonical_crop() -> None:
    """The scaled photo is cut between whole pixels, so its middle may lie half a pixel of it off."""
    view = View(Point(*GROUND.center, 32633), 375.0, 0.0)
    size = {"width_px": 64, "height_px": 64}
    scaled = scaled_photo(photo(view), CAMERA, CAMERA.gsd_m(375.0), CANONICAL, **size)
    crops, middles = scaled.crops(3)
    assert scaled.pixels.shape[:2] == (192, 192) and len(crops) == 9
    wanted = canonical_crop(photo(view), CAMERA, CAMERA.gsd_m(375.0), CANONICAL, **size).pixels
    assert middles[4] == pytest.approx([0, 0], abs=1e-9)
    assert np.abs(crops[4] - wanted).mean() < 0.5
    assert middles[0] == pytest.approx(
        [-512 / 3, 384 / 3], rel=1e-6
    )  # top left: left of the middle, above it


def test_a_crop_shows_the_ground_its_middle_says() -> None:
    view = View(Point(*GROUND.center, 32633), 375.0, 30.0)
    scaled = scaled_photo(photo(view), CAMERA, CAMERA.gsd_m(375.0), CANONICAL, width_px=SIZE, height_px=SIZE)
    for crop, (right_px, ahead_px) in zip(*scaled.crops(4), strict=True):
        right_m, ahead_m = right_px * CAMERA.gsd_m(375.0), ahead_px * CAMERA.gsd_m(375.0)
        cos, sin = np.cos(np.radians(30.0)), np.sin(np.radians(30.0))
        place = view.center.moved(right_m * cos + ahead_m * sin, -right_m * sin + ahead_m * cos)
        wanted = GROUND.expected(View(place, 125.0, 30.0), CAMERA, (SIZE, SIZE))
        assert np.abs(crop - wanted).mean() < 3.0


def test_a_photo_from_the_canonical_altitude_is_one_crop() -> None:
    view = View(Point(*GROUND.center, 32633), 125.0, 0.0)
    for altitude_m in (110.0, 125.0, 130.0):
        scaled = scaled_photo(
            photo(view), CAMERA, CAMERA.gsd_m(altitude_m), CANONICAL, width_px=SIZE, height_px=SIZE
        )
        crops, middles = scaled.crops(5)
        assert len(crops) == 1 and np.abs(middles).max() < 8.1


def test_the_frame_votes_at_the_altitudes_its_middle_speaks_for(search: ReferenceSearch) -> None:
    """Nine altitudes, of which the fourth is right and not the likeliest: all middles, then few frames."""
    batches: list[int] = []

    def counted(crops: np.ndarray) -> np.ndarray:
        batches.append(len(crops))
        return described(crops)

    truth = View(Point(GROUND.center[0] - 33.0, GROUND.center[1] + 18.0, 32633), 260.0, 30.0)
    altitudes = [260.0 * 1.2**k for k in range(-3, 6)]
    scales = [Scale(CAMERA.gsd_m(a), 0.2 if a > 500 else 0.05) for a in altitudes]
    options = VoteOptions(position_m=20.0, retrieve=6, consensus=2.0, promising=2)
    found = hypotheses(PhotoCrops(photo(truth), CAMERA, replace(search, embed=counted)), scales, options)
    assert batches[0] == 9 and len(batches) == 2 and batches[1] <= 2 * options.crops
    best = found[0].view
    assert best.center.distance_m(truth.center) < 20 and best.altitude_m == pytest.approx(260.0, rel=0.12)


def test_a_sweep_finds_the_altitude_and_votes_nearby_use_its_crops(search: ReferenceSearch) -> None:
    counts: list[int] = []

    def counted(crops: np.ndarray) -> np.ndarray:
        counts.append(len(crops))
        return described(crops)

    truth = View(Point(*GROUND.center, 32633), 300.0, 60.0)
    crops, options = PhotoCrops(photo(truth), CAMERA, replace(search, embed=counted)), SweepOptions()
    altitude_m = geometric_series(125.0, 700.0, options.ratio)
    gsd_m = np.array([CAMERA.gsd_m(one_m) for one_m in altitude_m])
    swept = crops.sweep(gsd_m, options, count=8)
    assert counts == [len(altitude_m)] and len(swept) == 8 * len(altitude_m)
    votes = VoteOptions(position_m=20.0)
    found = [one.view for one in hypotheses_of_sweep(swept, CAMERA, 32633, votes, scale=options.scale)]
    assert all(view.altitude_m == pytest.approx(300, rel=0.15) for view in found[:4])
    assert all(view.heading_deg % 180 == pytest.approx(60, abs=10) for view in found[:4]), "it repeats itself"

    votes = crops.votes([Scale(1.1 * gsd_m[3], 1.0)], VoteOptions(retrieve=8), crops=1)
    assert counts == [len(altitude_m)], "a crop a tenth off in scale is as good"
    assert votes.gsd_m == pytest.approx(np.full(8, 1.1 * gsd_m[3])), "but they vote for the scale tried"
    crops.votes([Scale(0.5 * gsd_m[0], 1.0)], VoteOptions(retrieve=8), crops=1)
    assert counts == [len(altitude_m)], "below the first altitude the whole frame is all there is"
    crops.votes([Scale(1.5 * gsd_m[-1], 1.0)], VoteOptions(retrieve=8), crops=1)
    assert counts == [len(altitude_m), 1], "and one far off is not"


def test_the_whole_frame_of_a_sweep_also_speaks_for_lower_altitudes(search: ReferenceSearch) -> None:
    """From half as high the frame is a part of a reference, and resembles it."""
    crops = PhotoCrops(photo(View(Point(*GROUND.center, 32633), 125.0, 60.0)), CAMERA, search)
    gsd_m = np.array([CAMERA.gsd_m(125.0), CAMERA.gsd_m(160.0)])
    swept = crops.sweep(gsd_m, SweepOptions(), count=5, lower=0.62)
    assert np.unique(swept.gsd_m).tolist() == pytest.approx([0.62 * gsd_m[0], *gsd_m])
    first, lower = (swept.take(np.isclose(swept.gsd_m, gsd)) for gsd in (gsd_m[0], 0.62 * gsd_m[0]))
    assert np.array_equal(first.east_m, lower.east_m) and np.array_equal(first.weight, lower.weight)


def test_a_crop_two_sets_of_references_need_is_embedded_once(search: ReferenceSearch) -> None:
    """Half the altitude, half the ground: the same piece of the photo."""
    counts: list[int] = []

    def counted(crops: np.ndarray) -> np.ndarray:
        counts.append(len(crops))
        return described(crops)

    pixels = photo(View(Point(*GROUND.center, 32633), 300.0, 60.0))
    usual = PhotoCrops(pixels, CAMERA, replace(search, embed=counted))
    low = usual.sharing(replace(search, embed=counted, canonical=Canonical(CAMERA, 62.5)))
    gsd_m = np.array([CAMERA.gsd_m(altitude_m) for altitude_m in (125.0, 250.0)])
    at_once = usual.sweep(gsd_m, SweepOptions(), count=4)
    later = low.sweep(gsd_m / 2, SweepOptions(), count=4)
    assert counts == [2]
    assert np.array_equal(at_once.east_m, later.east_m) and later.gsd_m == pytest.approx(at_once.gsd_m / 2)
