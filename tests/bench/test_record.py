"""Benchmark results say where they come from."""

import json
from pathlib import Path

import pytest

from bench.lib.record import RESULTS, path_of, record


def test_results_name_their_origin(tmp_path: Path) -> None:
    written = json.loads(record("speed", {"seed": 0, "ratio": 1.25}, tmp_path).read_text())
    assert written["results"] == {"seed": 0, "ratio": 1.25}
    assert {"date", "commit", "clean"} <= set(written)
    assert {"processor", "cores", "memory_gb", "python", "libraries"} <= set(written["machine"])


def test_nan_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        record("speed", {"ratio": float("nan")}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_result_lies_in_the_folder_of_its_script() -> None:
    assert path_of("locate") == RESULTS / "speed" / "locate.json"
    assert path_of("published_mine_s0", "csv") == RESULTS / "training" / "published_mine_s0.csv"
    with pytest.raises(ValueError, match="begins with that of a script"):
        path_of("nobody_measured_this")
