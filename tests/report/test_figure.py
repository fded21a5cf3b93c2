"""A plot's marks lie where their values are: read back from the drawing, against its own axes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from nadirfix.report.figure import Axis, Figure, linear_axis
from nadirfix.report.plots import error_curve, stage_times
from tests.records import record


def texts(drawing: str) -> dict[str, tuple[float, float]]:
    """Where each word stands."""
    root = ElementTree.fromstring(drawing)
    found = root.iter("text")
    return {text.text or "": (float(text.attrib["x"]), float(text.attrib["y"])) for text in found}


def test_a_line_goes_through_its_marks() -> None:
    across = Axis(1.0, 1000.0, [(10.0, "ten"), (100.0, "hundred")], "metres", logarithmic=True)
    figure = Figure(across, linear_axis(0, 100, "%"))
    figure.line([(10.0, 20.0), (100.0, 80.0)], "main")
    drawing = figure.svg("a line")
    words, points = texts(drawing), re.search(r'points="([^"]*)" fill="none" stroke="var\(--main', drawing)
    assert points is not None
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points[1].split())
    assert (x1, x2) == (words["ten"][0], words["hundred"][0])
    assert (y1, y2) == pytest.approx((words["20"][1] - 4, words["80"][1] - 4), abs=0.11)


@pytest.mark.parametrize(("low", "high"), [(0, 100), (0, 0.7), (0, 1234.5), (0, 0)])
def test_marks_are_round_and_few(low: float, high: float) -> None:
    axis = linear_axis(low, high, "anything")
    values = [value for value, _ in axis.ticks]
    assert 3 <= len(values) <= 8 and values[0] == 0 and values[-1] <= axis.high
    assert len({word for _, word in axis.ticks}) == len(values)


def test_steps_stay_until_the_next_point() -> None:
    figure = Figure(linear_axis(0, 10, ""), linear_axis(0, 10, ""))
    figure.steps([(1, 2), (3, 4), (5, 6)], "main")
    points = re.search(r'points="([^"]*)" fill="none" stroke="var\(--main', figure.svg("steps"))
    assert points is not None
    corners = [tuple(map(float, point.split(","))) for point in points[1].split()]
    assert len(corners) == 5 and corners[1] == (corners[2][0], corners[0][1])


def test_names_are_escaped_and_every_drawing_is_whole() -> None:
    drawn = [
        stage_times({"a<b": {"median": 3.0, "p90": 9.0}, "total": {"median": 4.0, "p90": 9.0}}),
        error_curve({"estimated": [record((3.0, 4.0)), record(None)]}),
        error_curve({"estimated": [record(None)]}),
        stage_times({}),
    ]
    for drawing in drawn:
        assert ElementTree.fromstring(drawing).attrib["role"] == "img"
    assert "a<b" in texts(drawn[0])
