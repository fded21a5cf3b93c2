"""Two versions' answers are compared field by field; times and paths may differ, anything else is named."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bench.accuracy import same_answers

ANSWER = {"photo": "a.jpg", "status": "fix", "lon": 14.25, "timings_ms": {"total": 3.0}}


def side(*answers: dict[str, Any]) -> dict[str, Any]:
    return {"commit": "0" * 40, "clean": True, "answers": list(answers)}


def given(**changes: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"demo": None, "seed": 5, "name": None, **changes})


def test_other_times_and_folders_are_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    later = {**ANSWER, "photo": "b/a.jpg", "timings_ms": {}, "a_new_field": 1}
    same_answers.compare(side(ANSWER), side(later), given())
    printed = json.loads(capsys.readouterr().out)
    assert printed["differ"] == {} and (printed["photos"], printed["fixes"]) == (1, 1)
    assert printed["before"] == {"commit": "0" * 40, "clean": True}


def test_the_last_digit_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        same_answers.compare(
            side(ANSWER, ANSWER), side(ANSWER, {**ANSWER, "lon": 14.250000000000002}), given()
        )
    assert json.loads(capsys.readouterr().out)["differ"] == {"1": ["lon"]}


def test_one_answer_less_is_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        same_answers.compare(side(ANSWER, ANSWER), side(ANSWER), given())


def test_the_figures_of_a_demo_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = {"answered": 39, "error_m": {"median": 2.2}, "peak_rss_mb": 900.0, "timings_ms": {}}
    same_answers.compare(side(metrics), side({**metrics, "peak_rss_mb": 901.0}), given(demo=Path("demo")))
    assert json.loads(capsys.readouterr().out)["demo"] == {"answered": 39, "error_m": {"median": 2.2}}


def test_a_version_says_which_commit_it_is() -> None:
    found = same_answers.commit_of(same_answers.ROOT / "src")
    assert len(found["commit"]) == 40 and isinstance(found["clean"], bool)
