"""The networks learn: altitudes and places of one date of a procedural world, asked about the other date.

With the tiny recipe (cells for less than half as long): its embedders have seen other worlds, never this one.
Spectrum and pixels are compared from a random start, alike in everything else. Settings were tuned on worlds
of other seeds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import RECIPES, Recipe
from nadirfix.options.training import AugmentOptions, TrainOptions
from nadirfix.world import make_world
from tests.fixtures import once

torch = pytest.importorskip("torch")

from nadirfix.geo.coverage import MapCoverage  # noqa: E402
from nadirfix.train.altitude import TrainedAltitude, altitude_input, train_altitude  # noqa: E402
from nadirfix.train.data.altitude_views import AltitudeSampler  # noqa: E402
from nadirfix.train.data.batches import Pictures, Sampling  # noqa: E402
from nadirfix.train.data.device_renderer import DeviceRenderer  # noqa: E402
from nadirfix.train.place import cell_probabilities, place_sampler, train_place  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]

WORLD_SEED = 11
VIEWS = 300
#: From a random start, the recipe's own strengths take longer to learn through than a test has.
GENTLE = AugmentOptions(
    colour=0.3, haze=0.2, blur=0.3, noise_levels=2.0, jpeg=0.2, shadow=0.2, patches=0.05, tilt_deg=1.0
)


@pytest.fixture(scope="module")
def dates(shared: Path) -> tuple[Texture, Texture]:
    """Both dates of the world, which one worker makes and the others read."""
    with np.load(once(shared / "learning.npz", write_dates)) as stored:
        place = {"affine": tuple(stored["affine"].tolist()), "epsg": int(stored["epsg"])}
        old, new = (Texture.from_array(stored[name], None, **place) for name in ("old", "new"))
    return old, new


def write_dates(path: Path) -> None:
    world = make_world(size_m=2000.0, gsd_m=0.8, seed=WORLD_SEED)
    np.savez(path, old=world.old, new=world.new, affine=world.affine, epsg=world.epsg)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Two threads that wait for each other on a busy machine are far slower than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def from_random(kind: Literal["spectrum", "pixels"]) -> Recipe:
    """The tiny recipe with a smaller input and nothing learned before: what a test has time for."""
    tiny = RECIPES["tiny"]
    network = dataclasses.replace(tiny.altitude_network, input=kind, width_px=128, height_px=96, start="")
    training = TrainOptions(
        schedule="budget", budget_steps=250, batch=16, extractor_rate=1e-3, classifier_rate=1e-3,
        altitude_step_m=0.0, validation_views=64,
    )  # fmt: skip
    return dataclasses.replace(tiny, altitude_network=network, altitude_training=training, augment=GENTLE)


def classes_off(trained: TrainedAltitude, texture: Texture, recipe: Recipe) -> np.ndarray:
    """By how many altitude classes views of a map are misjudged."""
    sampling = Sampling(camera=recipe.camera, seed=99, valid_share=0.99, tilt_deg=0.0)
    sampler = AltitudeSampler(MapCoverage(texture), sampling, trained.bins)
    views, labels = sampler.draw(np.arange(VIEWS))
    options = recipe.altitude_network
    size = (options.width_px, options.height_px)
    pictures = Pictures(DeviceRenderer(texture, "cpu"), recipe.camera, size, recipe.augment, seed=0)
    with torch.no_grad():
        scores = trained.network(altitude_input(pictures.rendered(views), options))
    return np.abs(scores.argmax(1).numpy() - labels)


def test_altitude_of_the_other_date(dates: tuple[Texture, Texture]) -> None:
    old, new = dates
    recipe = RECIPES["tiny"]
    off = classes_off(train_altitude(old, recipe), new, recipe)
    within_one = float((off <= 1).mean())
    print(f"within one class: {100 * within_one:.1f} % of {VIEWS} views of the other date")
    assert within_one >= 0.8


def test_spectrum_beats_pixels_on_the_other_date(dates: tuple[Texture, Texture]) -> None:
    old, new = dates
    off = {}
    for kind in ("spectrum", "pixels"):
        recipe = from_random(kind)
        off[kind] = float(classes_off(train_altitude(old, recipe), new, recipe).mean())
    print(f"mean error in classes: spectrum {off['spectrum']:.2f}, pixels {off['pixels']:.2f}")
    assert off["spectrum"] < 0.8 * off["pixels"], "not by a margin that chance would not give"


def test_cells_of_the_other_date(dates: tuple[Texture, Texture]) -> None:
    old, new = dates
    training = dataclasses.replace(RECIPES["tiny"].place_training, budget_steps=150)  # a test's patience
    recipe = dataclasses.replace(RECIPES["tiny"], place_training=training)
    trained = train_place(old, recipe)
    share = right_cells(trained, new, recipe)
    times_chance = share * len(trained.order)
    print(f"right cell: {100 * share:.1f} % of views of the other date, {times_chance:.0f} times chance")
    assert times_chance >= 20


def right_cells(trained, texture: Texture, recipe: Recipe) -> float:  # type: ignore[no-untyped-def]
    """How often the likeliest of all cells is the one a view of a map lies in."""
    sampler = place_sampler(texture, recipe)
    sampler.use(trained.order)
    options = recipe.place_network
    size = (options.width_px, options.height_px)
    pictures = Pictures(DeviceRenderer(texture, "cpu"), recipe.camera, size, recipe.augment, seed=0)
    right = 0
    for group, before in enumerate(np.cumsum([0, *trained.order.sizes[:-1]])):
        views, labels = sampler.draw(np.arange(10_000, 10_000 + VIEWS // 4), group)
        with torch.no_grad():
            shares = cell_probabilities(
                trained.network, trained.network.embed(pictures.rendered(views)), recipe.head
            )
        right += int((torch.cat(shares, 1).argmax(1).numpy() == labels + before).sum())
    return right / (VIEWS // 4 * len(trained.order.groups))
