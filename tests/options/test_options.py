"""Settings: named recipes, TOML on top of them, and no key that is silently ignored."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.options.recipe import RECIPES, Recipe, load_recipe
from nadirfix.options.verify import CalibrationOptions, MatchOptions, SearchOptions
from nadirfix.options.voting import VoteOptions


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
    assert paper.enlarge == "cubic"


@pytest.mark.parametrize("name", ["standard", "tiny"])
def test_our_own_recipes_do_not_enlarge(name: str) -> None:
    assert RECIPES[name].enlarge == "mean"


def test_how_to_enlarge_can_be_chosen_in_a_recipe_file(tmp_path: Path) -> None:
    assert recipe(tmp_path, 'base = "tiny"\nenlarge = "cubic"\n').enlarge == "cubic"


def test_recipe_file_changes_only_what_it_names(tmp_path: Path) -> None:
    mine = recipe(tmp_path, 'base = "tiny"\nseed = 7\ncamera = "400x300@350"\n[bins]\nwidth_m = 25\n')
    assert mine.seed == 7
    assert mine.camera == Camera(400, 300, 350.0, 350.0)
    assert mine.bins == dataclasses.replace(RECIPES["tiny"].bins, width_m=25.0)
    assert isinstance(mine.bins.width_m, float)
    assert mine.place_network == RECIPES["tiny"].place_network


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sede = 7", "unknown sede"),
        ("[bins]\nwidth = 25", "unknown width"),
        ("seed = 'seven'", "'seven'"),
        ("seed = true", "True"),
        ("seed = 1.5", "1.5"),
        ("[head]\nkind = 'arc'", "'arc'"),
        ("enlarge = 'linear'", "'linear'"),
        ("bins = 5", "5"),
        ("base = 'nothing'", "'nothing'"),
        ("seed = ", "mine.toml"),
    ],
)
def test_wrong_recipe_file(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        recipe(tmp_path, text)
    assert caught.value.code == "options.invalid"
    assert expected in caught.value.seen


@pytest.mark.parametrize("name", ["nothing", "none.toml"])
def test_recipe_that_is_not_there(name: str) -> None:
    with pytest.raises(InputError) as caught:
        load_recipe(name)
    assert name in caught.value.seen


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RECIPES["paper"].seed = 1  # type: ignore[misc]


#: Numbers that may well be infinite: what they end then never ends, as somebody may want it.
ENDLESS = {"beyond_doubt", "consensus"}


@pytest.mark.parametrize("kind", [CalibrationOptions, MatchOptions, SearchOptions, VoteOptions])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -2.0])
def test_no_number_of_verification_may_be_none(kind: type, wrong: float) -> None:
    """Whatever field is added later is held to it as well."""
    for field in dataclasses.fields(kind):
        value = getattr(kind(), field.name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if isinstance(value, int):
            if wrong < 0:
                refused(kind, **{field.name: -2})
        elif not (field.name in ENDLESS and wrong == math.inf) and field.name != "confidence_middle":
            refused(kind, **{field.name: wrong})


def refused(kind: type, **wrong: float) -> None:
    with pytest.raises(InputError) as caught:
        kind(**wrong)
    assert caught.value.code == "options.invalid"
    assert all(f"{name}={value}" in caught.value.seen for name, value in wrong.items())


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (CalibrationOptions, {"grid_rows": 0}),
        (CalibrationOptions, {"inflate": 0.0}),
        (CalibrationOptions, {"confidence_slope": 0.0}),
        (CalibrationOptions, {"confidence_middle": math.nan}),
        (CalibrationOptions, {"uncovered": -0.1}),
        (MatchOptions, {"width_px": 0}),
        (MatchOptions, {"reach_m": 0.0}),
        (MatchOptions, {"inlier_px": 0.0}),
        (MatchOptions, {"tilt_sigma_deg": 0.0}),
        (SearchOptions, {"batch_size": 0}),
        (SearchOptions, {"alias_share": 1.1}),
        (SearchOptions, {"beyond_doubt": 0.0}),
        (SearchOptions, {"min_confidence": 1.1}),
        (VoteOptions, {"position_m": 0.0}),
        (VoteOptions, {"scale_share": 0.0}),
        (VoteOptions, {"scale_share": 1.1}),
        (VoteOptions, {"scale": 0.0}),
    ],
)
def test_a_width_of_nothing_is_refused(kind: type, wrong: dict[str, float]) -> None:
    refused(kind, **wrong)


def test_what_switches_a_step_off_is_an_option_like_any_other() -> None:
    SearchOptions(middle=0, altitude_sweep=0, whole_frame=0, competing=0, reported=0, beyond_doubt=math.inf)
    VoteOptions(consensus=math.inf, extra_altitudes=0, affinity=0.0)
    CalibrationOptions(uncovered=0.0, floor_m=0.0)
