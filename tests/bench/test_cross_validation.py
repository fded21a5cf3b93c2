"""Settings for a half of a place come from the other half, and never from photos taken for others."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from bench.training import published_seeds
from bench.training.cross_validation import chosen, errors_of, joined_m, read_trials, western

WEST = np.array([True, True, False, False])
TRUE_M = np.array([100.0, 200.0, 300.0, 400.0])


def photos_csv(path: Path, hard_m: list[float]) -> Path:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["photo", "altitude_m", "hard_m", "soft_m"])
        out.writerows([i, t, h, h + 1] for i, (t, h) in enumerate(zip(TRUE_M, hard_m, strict=True)))
    return path


def test_the_middle_of_the_picture_parts_the_halves() -> None:
    assert western(np.array([10.0, 49.9, 50.0, 90.0]), (0.0, 0.0, 100.0, 30.0)).tolist() == WEST.tolist()


def test_each_half_is_answered_by_what_was_best_on_the_other(tmp_path: Path) -> None:
    photos_csv(tmp_path / "ablations_mine_try-altitude-a.csv", [100.0, 200.0, 390.0, 490.0])  # west right
    photos_csv(tmp_path / "ablations_mine_try-altitude-b.csv", [190.0, 290.0, 300.0, 400.0])  # east right
    photos_csv(tmp_path / "ablations_town_try-altitude-c.csv", [100.0, 200.0, 300.0, 400.0])
    trials = read_trials(tmp_path, "mine")
    errors = {name: errors_of(lines, WEST) for name, lines in trials.items()}
    assert errors["try-altitude-a"] == {"west": 0.0, "east": 90.0}
    assert chosen(errors) == ("try-altitude-b", "try-altitude-a")
    assert set(read_trials(tmp_path, "mine", ["try-altitude-b"])) == {"try-altitude-b"}


def test_photos_are_estimated_by_the_network_of_their_half(tmp_path: Path) -> None:
    paths = [
        photos_csv(tmp_path / "w.csv", [1.0, 2.0, 3.0, 4.0]),
        photos_csv(tmp_path / "e.csv", [5.0, 6.0, 7.0, 8.0]),
    ]
    joined = joined_m(paths, WEST, TRUE_M)
    assert joined["hard"].tolist() == [1.0, 2.0, 7.0, 8.0]
    assert joined["soft"].tolist() == [2.0, 3.0, 8.0, 9.0]
    with pytest.raises(SystemExit, match=r"w\.csv tells of other photos"):
        joined_m(paths, WEST, TRUE_M + 1)


def test_a_folder_begun_with_other_settings_is_refused(tmp_path: Path) -> None:
    given = argparse.Namespace(out=tmp_path / "o", place="mine", own=400, small=False)
    published_seeds.begin(given)
    published_seeds.begin(given)
    given.small = True
    with pytest.raises(SystemExit, match="other settings"):
        published_seeds.begin(given)
