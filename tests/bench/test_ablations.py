"""What the accuracy page's studies count, counted by hand."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from nadirfix.geo.texture import Texture
from nadirfix.types import Point, View

torch = pytest.importorskip("torch")

from bench.accuracy.land_cover import cover, wooded_share  # noqa: E402
from bench.lib.ablation_list import ABLATIONS, TRIALS  # noqa: E402
from bench.lib.photos import pack, summary  # noqa: E402
from bench.lib.recall import Known, recalled  # noqa: E402
from bench.page import ablations as page  # noqa: E402
from bench.page.published import spread  # noqa: E402
from bench.page.retrieval import judged  # noqa: E402
from bench.training import ablations  # noqa: E402
from bench.training.published import without  # noqa: E402
from nadirfix.geo.views import Views  # noqa: E402

EPSG = 32632


def known() -> Known:
    """Four references in a row, 100 m apart, one of them facing north and all in cells of their own."""
    east = np.array([0.0, 100.0, 200.0, 300.0])
    heading = np.array([0.0, 30.0, 60.0, 90.0])
    views = Views.level(east, np.zeros(4), np.full(4, 125.0), heading)
    cells = np.stack([np.arange(4), np.zeros(4, int)], axis=1)
    return Known(torch.eye(4).repeat(1, 3), views, cells, EPSG)


def photo_at(east_m: float) -> Views:
    return Views.level(np.array([east_m]), np.zeros(1), np.full(1, 200.0), np.zeros(1))


def test_all_references_are_searched_or_those_of_three_cells_or_one_heading() -> None:
    like_the_last = torch.tensor([[0.3, 0.2, 0.1, 0.9]]).repeat(1, 3)
    cells = np.array([[[0, 0], [1, 0], [2, 0]]])
    found, rows_ = recalled(like_the_last, photo_at(310.0), known(), cells)
    assert found["all_cells"]["top1_10"] == 0.0  # 10 m off is not less than 10 m
    assert found["all_cells"]["top1_median_m"] == 10.0
    assert found["three_cells"]["top1_median_m"] == 310.0  # the nearest of the three in looks is the first
    assert found["three_cells"]["r5"] == 0.0  # the best of them is 110 m off
    assert found["all_cells_north"]["r1"] == 0.0
    assert rows_[0]["top1_m"] == 310.0


def test_a_photo_without_any_reference_in_its_cells_is_a_miss() -> None:
    cells = np.array([[[7, 7], [8, 8], [9, 9]]])
    found, _ = recalled(torch.ones(1, 12), photo_at(0.0), known(), cells)
    assert found["three_cells"]["r1"] == 0.0
    assert found["three_cells"]["wce_median_m"] is None


def test_shares_count_what_is_less_than_the_distance() -> None:
    lines = [{"r1": m < 100, "r5": True, "top1_m": m, "wce_m": m / 2} for m in (5.0, 20.0, 99.0, 100.0)]
    shares = summary(lines)
    assert (shares["r1"], shares["r5"], shares["top1_100"], shares["wce_100"]) == (75.0, 100.0, 75.0, 100.0)
    assert (shares["top1_10"], shares["top1_25"], shares["wce_median_m"]) == (25.0, 50.0, 29.8)
    assert shares["top1_p90_m"] == 100.0


@pytest.mark.parametrize(
    ("colour", "roughness", "named"),
    [((60, 110, 50), 30.0, "forest"), ((60, 110, 50), 0.0, "open"), ((140, 110, 90), 30.0, "open")],
)
def test_forest_is_green_and_rough(colour: tuple[int, int, int], roughness: float, named: str) -> None:
    bumps = np.random.default_rng(0).normal(0.0, roughness, (400, 400, 1))
    pixels = np.clip(np.array(colour) + bumps, 0, 255).astype(np.uint8)
    ground = Texture.from_array(pixels, None, affine=(1.0, 0.0, 500_000.0, 0.0, -1.0, 5_000_200.0), epsg=EPSG)
    view = View(Point(500_200.0, 5_000_000.0, EPSG), 110.0, 20.0)
    assert cover(ground, view) == named
    assert 0.0 <= wooded_share(ground, view) <= 1.0


def test_mean_and_deviation_over_seeds() -> None:
    assert spread([20.0, 22.0, 24.0], "m") == "22.0 ± 2.0 m"
    assert spread([20.0]) == "20.0"
    assert spread([20.0, None]) == ""


def test_a_target_is_reached_or_missed() -> None:
    cells = judged((82.0, 91.9, 40.0, 30.1), (82.0, 92.0, None, 30.0))
    assert cells == ["82.0, reached", "91.9, **missed**", "40.0", "30.1 m, **missed**"]


def test_an_ablation_that_was_run_is_on_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page, "has", lambda name: name == "ablations_mine_bins75")
    monkeypatch.setattr(page, "result", lambda name: {"name": name})
    assert page.ran(page.ALTITUDE) == {"bins of 75 m": {"name": "ablations_mine_bins75"}}
    assert page.ran(page.PLACES) == {}
    assert "bins of 25 m (`bins25`)" in page.missing()
    assert "bins75" not in page.missing()


def test_trials_never_use_the_fixed_views() -> None:
    assert {row.views for row in TRIALS.values()} == {"own"}
    assert {row.views for row in ABLATIONS.values()} == {"fixed"}


def test_a_row_may_have_steps_of_its_own() -> None:
    given = argparse.Namespace(altitude_steps=250, place_steps=350, small=False)
    short, usual, place = (
        ablations.KNOWN[f"try-{name}"] for name in ("altitude-wide-short", "altitude-wide", "place-usual")
    )
    assert [ablations.steps_of(row, given) for row in (short, usual, place)] == [80, 250, 350]
    given.small = True
    assert ablations.steps_of(short, given) == 250
    more = {
        "batch": 4,
        "altitude_batch": 0,
        "seed": 0,
        "weights": "",
        "altitude_start": "",
        "place_start": "",
    }
    recipe = ablations.make_recipe(short, argparse.Namespace(**vars(given) | more))
    assert recipe.altitude_training.budget_steps == 250


def test_rows_that_need_much_memory_do_not_all_run_together() -> None:
    assert ablations.alternated(["bins25", "bins75", "pixels", "ce"]) == ["bins25", "ce", "bins75", "pixels"]


def test_an_option_is_taken_out_with_its_value() -> None:
    assert without(["--map", "a", "--name", "b", "--keep"], "--name") == ["--map", "a", "--keep"]


def test_what_is_done_is_packed_and_networks_stay(tmp_path: Path) -> None:
    import tarfile

    for name in ("rows_a.json", "rows_a.csv", "rows_a.safetensors", "other.json"):
        (tmp_path / name).write_text(name)
    pack(tmp_path, "rows_*", tmp_path / "rows.tgz")
    with tarfile.open(tmp_path / "rows.tgz") as packed:
        assert packed.getnames() == ["rows_a.csv", "rows_a.json"]
