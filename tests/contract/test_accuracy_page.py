"""The accuracy page says what the results say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_accuracy_page_is_what_the_results_give() -> None:
    command = [sys.executable, str(ROOT / "bench" / "accuracy.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
