"""Settings: named recipes, TOML on top of them, and no key that is silently ignored."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.options import RECIPES, Recipe, load_recipe


def recipe(folder: Path, text: str) -> Recipe:
    path = folder / "mine.toml"
    path.write_text(text)
    return load_recipe(str(path))


@pytest.mark.parametrize("name", ["paper", "standard", "tiny"])
def test_named_recipes(name: str) -> None:
    assert load_recipe(name) is RECIPES[name]
    assert RECIPES[name].name == name


def test_published_protocol_is_in_the_paper_recipe() -> None:
    paper = load_recipe("paper")
    assert (paper.bins.min_m, paper.bins.max_m, paper.bins.width_m) == (100, 700, 50)
    assert (paper.grid.cell_m, paper.grid.groups_per_axis) == (100, 2)
    assert (paper.head.kind, paper.head.margin, paper.head.scale) == ("qamc", 0.2, 100)
    assert (paper.altitude_network.width_px, paper.altitude_network.height_px) == (448, 336)
    assert paper.place_network.encoder == "efficientnet-b5"
    assert paper.camera == Camera(2048, 1536, 1200.0, 1200.0)


def test_recipe_file_changes_only_what_it_names(tmp_path: Path) -> None:
    mine = recipe(tmp_path, 'base = "tiny"\nseed = 7\ncamera = "400x300@350"\n[bins]\nwidth_m = 25\n')
    assert mine.seed == 7
    assert mine.camera == Camera(400, 300, 350.0, 350.0)
    assert mine.bins == dataclasses.replace(RECIPES["tiny"].bins, width_m=25.0)
    assert isinstance(mine.bins.width_m, float)
    assert mine.place_network == RECIPES["tiny"].place_network


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("sede = 7", "unknown sede"),
        ("[bins]\nwidth = 25", "unknown width"),
        ("seed = 'seven'", "'seven'"),
        ("seed = true", "True"),
        ("seed = 1.5", "1.5"),
        ("[head]\nkind = 'arc'", "'arc'"),
        ("bins = 5", "5"),
        ("base = 'nothing'", "'nothing'"),
        ("seed = ", "mine.toml"),
    ],
)
def test_wrong_recipe_file(tmp_path: Path, text: str, seen: str) -> None:
    with pytest.raises(InputError) as caught:
        recipe(tmp_path, text)
    assert caught.value.code == "options.invalid"
    assert seen in caught.value.seen


@pytest.mark.parametrize("name", ["nothing", "none.toml"])
def test_recipe_that_is_not_there(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(name)
    assert name in caught.value.seen


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RECIPES["paper"].seed = 1  # type: ignore[misc]
