"""Coverage of the radius and the risk of believing: against counts made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nadirfix.evaluation.metrics import QueryRecord, calibration_measures, metrics
from tests.records import failed, record


def answered(off_m: float, *, radius95_m: float = 10.0, confidence: float = 0.9) -> QueryRecord:
    plain = record((off_m, 0.0), photo=f"{off_m}-{confidence}.jpg")
    assert plain.fix is not None
    return replace(plain, fix=replace(plain.fix, radius95_m=radius95_m, confidence=confidence))


def test_coverage_counts_truths_within_the_radius() -> None:
    measured = calibration_measures([answered(5.0), answered(9.9), answered(10.1), answered(30.0)])[
        "radius95"
    ]
    assert (measured["fixes"], measured["coverage"], measured["median_m"]) == (4, 50.0, 10.0)


def test_coverage_at_every_level_of_gaussian_errors() -> None:
    """Errors drawn from what the radius promises lie on the line."""
    rng = np.random.default_rng(0)
    off_m = np.hypot(*rng.normal(0, 4.0, (2, 4000)))
    measured = calibration_measures([answered(float(m), radius95_m=4.0 * 2.4477) for m in off_m])["radius95"]
    for step in measured["levels"]:
        assert step["inside"] == pytest.approx(step["level"], abs=2.0)


def test_refused_photos_have_no_radius_and_are_not_answered() -> None:
    measured = calibration_measures([record(None), failed(), answered(1.0)])
    assert measured["radius95"]["fixes"] == 1
    assert measured["risk_coverage"][-1]["answered"] == pytest.approx(100 / 3)


def test_risk_grows_as_doubtful_answers_are_believed() -> None:
    sure = [answered(2.0, confidence=0.99) for _ in range(3)]
    measured = calibration_measures([answered(500.0, confidence=0.5), *sure])["risk_coverage"]
    assert [step["wrong_fix"] for step in measured] == [0.0, 0.0, 0.0, 25.0]
    assert [step["answered"] for step in measured] == [25.0, 50.0, 75.0, 100.0]
    assert [step["confidence"] for step in measured] == [0.99, 0.99, 0.99, 0.5]


def test_answers_without_radius_leave_nothing_to_judge() -> None:
    measured = metrics([record((3.0, 0.0))])
    assert measured["radius95"] == {"fixes": 0, "coverage": None, "median_m": None, "levels": []}
    assert measured["risk_coverage"] == []
