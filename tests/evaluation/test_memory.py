"""Peak memory is counted from the moment the counter is made."""

import os

import numpy as np
import pytest

from nadirfix.evaluation.study.memory import PeakMemory


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="this system cannot start anew")
def test_memory_held_before_does_not_count() -> None:
    held = np.ones(40_000_000)  # 320 MB
    before = PeakMemory().peak_mb()
    assert before is not None
    assert held.sum() > 0
    del held
    watch = PeakMemory()
    assert watch.peak_mb() < before - 200
    again = np.ones(20_000_000)
    assert again.sum() > 0
    assert watch.peak_mb() > before - 250
