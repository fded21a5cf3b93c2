"""The accuracy page says what the results say."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("place", "part"), [("mine", "altitude"), ("mine", "place"), ("town", "place")])
def test_the_whole_chain_was_measured_with_the_networks_that_ship(place: str, part: str) -> None:
    told = json.loads((ROOT / "bench" / "results" / f"verify_{place}.json").read_text(encoding="utf-8"))
    shipped = (ROOT / "src" / "nadirfix" / "weights" / f"standard-{part}.safetensors").read_bytes()
    assert told["results"]["networks"][part]["sha256"] == hashlib.sha256(shipped).hexdigest()


def test_the_accuracy_page_is_what_the_results_give() -> None:
    command = [sys.executable, str(ROOT / "bench" / "accuracy.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
