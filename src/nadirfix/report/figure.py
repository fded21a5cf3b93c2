"""A plot with two axes as SVG that takes its colours and its font from the page, light or dark.

Lines, bars and squares are all a report needs; a plotting library would be an eighth of the installation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

__all__ = ["Axis", "Figure", "linear_axis"]

_WIDTH, _HEIGHT = 500, 350
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 488.0, 36.0, 290.0
_CHARACTER_PX = 6.4  # the mean width of a letter of the legend
#: About so many marks are on an axis.
_MARKS = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """The range of an axis, its marks with their words, and what it measures."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    label: str
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value lies: 0 at its beginning, 1 at its end."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear_axis(low: float, high: float, label: str) -> Axis:
    """An axis with marks at round numbers."""
    high = high if high > low else low + 1.0
    rough = (high - low) / _MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= rough)
    first, last = math.ceil(low / step), math.floor(high / step + 1e-9)
    return Axis(low, high, [(k * step, f"{k * step:g}") for k in range(first, last + 1)], label)


class Figure:
    """Collects what is drawn, and writes it as one SVG element with a sentence for who cannot see it."""

    def __init__(self, x: Axis, y: Axis, *, grid: str = "", left_px: float = _LEFT) -> None:
        self._x, self._y, self._left, self._drawn = x, y, left_px, [""]
        self._legend_row, self._legend_px = 0, left_px
        for value, _ in x.ticks if "x" in grid else ():
            self._rule((self._across(value), _TOP), (self._across(value), _BOTTOM))
        for value, _ in y.ticks if "y" in grid else ():
            self._rule((left_px, self._up(value)), (_RIGHT, self._up(value)))

    def line(
        self, points: Sequence[tuple[float, float]], colour: str, *, dash: str = "", width: float = 2.4
    ) -> None:
        """Straight lines from point to point."""
        path = " ".join(f"{self._across(x):.1f},{self._up(y):.1f}" for x, y in points)
        style = f'fill="none" stroke="var(--{colour})" stroke-width="{width}" stroke-dasharray="{dash}"'
        self._drawn.append(f'<polyline points="{path}" {style}/>')

    def steps(self, points: Sequence[tuple[float, float]], colour: str, *, dash: str = "") -> None:
        """A line that stays at each value until the next point."""
        pairs = [((x, before), (x, after)) for (_, before), (x, after) in pairwise(points)]
        self.line([*points[:1], *(corner for pair in pairs for corner in pair)], colour, dash=dash)

    def box(
        self, x: tuple[float, float], y: tuple[float, float], colour: str, *, opacity: float = 1.0
    ) -> None:
        """A filled box between two values of either axis."""
        left, right, top, bottom = *map(self._across, x), self._up(y[1]), self._up(y[0])
        size = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
        self._drawn.append(f'<rect {size} fill="var(--{colour})" fill-opacity="{opacity:.2f}"/>')

    def dot(self, x: float, y: float, colour: str) -> None:
        """A point."""
        at = f'cx="{self._across(x):.1f}" cy="{self._up(y):.1f}"'
        self._drawn.append(f'<circle {at} r="4" fill="var(--{colour})"/>')

    def text(self, x: float, y: float, words: str) -> None:
        """Words in the middle of a place."""
        self._drawn.append(_text(self._across(x), self._up(y) + 4, words, "middle", size_px=10.5))

    def legend(self, words: str, colour: str, *, dash: str = "") -> None:
        """The next entry above the plot; in the next row where this one is full."""
        width_px = 30 + _CHARACTER_PX * len(words)
        if self._legend_px + width_px > _WIDTH:
            self._legend_row, self._legend_px = self._legend_row + 1, self._left
        x, y = self._legend_px, 8 + 15 * self._legend_row
        rule = f'x1="{x:.1f}" y1="{y}" x2="{x + 18:.1f}" y2="{y}" stroke="var(--{colour})"'
        self._drawn.append(f'<line {rule} stroke-width="3" stroke-dasharray="{dash}"/>')
        self._drawn.append(_text(x + 23, y + 4, words, "start", size_px=11.5))
        self._legend_px += width_px

    def svg(self, label: str) -> str:
        """The drawing and its axes."""
        head = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        return f"{head}{''.join(self._drawn)}{self._axes()}</svg>"

    def _axes(self) -> str:
        corners = f"{self._left},{_TOP} {self._left},{_BOTTOM} {_RIGHT},{_BOTTOM}"
        edge = f'<polyline points="{corners}" fill="none" stroke="var(--line)" stroke-width="1.2"/>'
        below = [self._below(value, words) for value, words in self._x.ticks]
        beside = [_text(self._left - 7, self._up(value) + 4, words, "end") for value, words in self._y.ticks]
        middle = (self._left + _RIGHT) / 2
        names = [_text(middle, _HEIGHT - 8, self._x.label, "middle"), self._sideways()]
        return "".join([edge, *below, *beside, *names])

    def _below(self, value: float, words: str) -> str:
        """The words of a mark, a line below the other."""
        lines = enumerate(words.split("\n"))
        return "".join(_text(self._across(value), _BOTTOM + 17 + 14 * k, w, "middle") for k, w in lines)

    def _sideways(self) -> str:
        middle = (_TOP + _BOTTOM) / 2
        written = _text(13, middle, self._y.label, "middle")
        return f'<g transform="rotate(-90 13 {middle})">{written}</g>' if self._y.label else ""

    def _rule(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        places = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
        self._drawn.append(f'<line {places} stroke="var(--line)" stroke-width="0.8"/>')

    def _across(self, value: float) -> float:
        return self._left + self._x.share(value) * (_RIGHT - self._left)

    def _up(self, value: float) -> float:
        return _BOTTOM - self._y.share(value) * (_BOTTOM - _TOP)


def _text(x: float, y: float, words: str, anchor: str, *, size_px: float = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size_px}"'
    return f'<text {place} fill="var(--ink)">{escape(words)}</text>'
