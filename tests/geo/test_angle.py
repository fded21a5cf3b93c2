"""Angles on the compass: the short way round, and never a whole turn."""

from __future__ import annotations

import numpy as np
import pytest

from nadirfix.geo.angle import compass_deg, wrap_deg


@pytest.mark.parametrize(
    ("difference", "turn"), [(0, 0), (350, -10), (-350, 10), (180, -180), (-180, -180), (725, 5), (90, 90)]
)
def test_differences_are_wrapped(difference: float, turn: float) -> None:
    assert wrap_deg(float(difference)) == turn
    assert wrap_deg(np.array([difference], np.float64)) == pytest.approx(turn)


@pytest.mark.parametrize("angle", [-1e-17, -1e-300, 0.0, 360.0, -360.0, 719.9999, -0.25])
def test_a_direction_is_below_a_whole_turn(angle: float) -> None:
    assert 0.0 <= compass_deg(angle) < 360.0
