"""Views as far from the truth as retrieval leaves them: what matching alone is measured from."""

from __future__ import annotations

import math

import numpy as np

from nadirfix.types import View

AWAY_M, SCALE, TURN_DEG = 30.0, 0.12, 15.0


def moved(view: View, draw: np.random.Generator) -> View:
    """The view moved by up to 30 m, 15° and 12 %."""
    away_m, angle = AWAY_M * math.sqrt(draw.uniform()), draw.uniform(0, 2 * math.pi)
    return View(
        view.center.moved(away_m * math.cos(angle), away_m * math.sin(angle)),
        view.altitude_m * math.exp(draw.uniform(-SCALE, SCALE)),
        (view.heading_deg + draw.uniform(-TURN_DEG, TURN_DEG)) % 360,
    )
