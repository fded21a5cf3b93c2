"""Benchmark results say where they come from."""

import importlib.util
import json
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "bench" / "record.py"


def load():
    spec = importlib.util.spec_from_file_location("bench_record", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_name_their_origin(tmp_path: Path) -> None:
    written = json.loads(load().record("speed", {"seed": 0, "ratio": 1.25}, tmp_path).read_text())
    assert written["results"] == {"seed": 0, "ratio": 1.25}
    assert {"date", "commit", "clean"} <= set(written)
    assert {"processor", "cores", "memory_gb", "python", "libraries"} <= set(written["machine"])


def test_nan_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        load().record("speed", {"ratio": float("nan")}, tmp_path)
    assert list(tmp_path.iterdir()) == []
