"""Photos that methods disagree about, with what each of them takes the photo for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import NadirfixError
from nadirfix.evaluation.metrics import NEAR_M, QueryRecord, error_m
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Canonical
from nadirfix.image.decode import decode
from nadirfix.options.locate import LocateOptions
from nadirfix.report.html import metres, picture
from nadirfix.types import Point, View

__all__ = ["chosen_disagreements", "disagreement_panels"]

Bytes = NDArray[np.uint8]
Answers = Mapping[str, Sequence[QueryRecord]]

_SIZE_PX, _QUALITY, _NO_MAP_GREY = (320, 240), 78, 120
#: Photos shown, at most.
_MOST = 8


def chosen_disagreements(answers: Answers, count: int = _MOST) -> list[int]:
    """Which photos to show: every way of disagreeing once, the most even ones first, before any comes twice.

    Of photos that split the methods in the same way the first ones of the test set are taken: none is chosen
    for its looks.
    """
    methods = list(answers.values())
    split = [tuple(error_m(record) < NEAR_M for record in photo) for photo in zip(*methods, strict=True)]
    undecided = [at for at, flags in enumerate(split) if 0 < sum(flags) < len(flags)]
    turns: dict[tuple[bool, ...], int] = {}
    order = []
    for at in undecided:
        turns[split[at]] = turns.get(split[at], 0) + 1
        order.append((turns[split[at]], abs(2 * sum(split[at]) - len(methods)), at))
    return [at for *_, at in sorted(order)[:count]]


def disagreement_panels(
    answers: Answers, *, photos: Mapping[str, Path], texture: Texture, canonical: Canonical
) -> list[str]:
    """A panel for each photo: the photo, the map at its true place, and every method's answer."""
    panels = []
    for at in chosen_disagreements(answers):
        mine = {name: records[at] for name, records in answers.items()}
        panels.append(_panel(mine, photos, texture, canonical))
    return panels


def _panel(
    records: Mapping[str, QueryRecord], photos: Mapping[str, Path], texture: Texture, canonical: Canonical
) -> str:
    one = next(iter(records.values()))
    pixels = _photo(photos[one.photo])
    right = [name for name, record in records.items() if error_m(record) < NEAR_M]
    height = f", from {metres(one.altitude_m)}" if one.altitude_m is not None else ""
    show = _Renderer(texture, canonical, one.altitude_m, _shape(pixels))
    cards = [
        ("input", _image(pixels, f"photo {one.photo}"), "photo"),
        (
            "found",
            _image(show(one.truth, one.heading_deg), "the map at the true place"),
            "the map at the true place",
        ),
        *(_answer(name, record, show) for name, record in records.items()),
    ]
    strip = "".join(f'<li class="{kind}">{image}<p>{words}</p></li>' for kind, image, words in cards)
    return (
        f'<article class="query"><h3><code>{escape(one.photo)}</code></h3>'
        f'<p class="soft">Right: {escape(", ".join(right))}{escape(height)}</p>'
        f'<ul class="strip">{strip}</ul></article>'
    )


class _Renderer:
    """Renders the map as this photo would show it at any place."""

    def __init__(
        self, texture: Texture, canonical: Canonical, altitude_m: float | None, size_px: tuple[int, int]
    ) -> None:
        self._texture, self._canonical, self._size_px = texture, canonical, size_px
        self._altitude_m = altitude_m or canonical.altitude_m

    def __call__(self, point: Point, heading_deg: float | None) -> Bytes:
        view = View(point, self._altitude_m, heading_deg or 0.0)
        rendered = self._texture.render(view, self._canonical.camera, self._size_px)
        return np.where(rendered.valid[..., None] > 0, rendered.pixels, np.uint8(_NO_MAP_GREY))


def _answer(name: str, record: QueryRecord, show: _Renderer) -> tuple[str, str, str]:
    off_m, title = error_m(record), f"<b>{escape(name)}</b><br>"
    fix = record.fix
    if fix is None or fix.position is None:
        words = "could not be located" if fix is None else "no answer"
        return "found", '<div class="blank"></div>', f'{title}<span class="soft">{words}</span>'
    kind = "good" if off_m < NEAR_M else "bad"
    image = _image(show(fix.position, fix.heading_deg), f"the map at the answer of {name}")
    off = f"{metres(off_m)} off" if math.isfinite(off_m) else "no answer"
    return "found", image, f'{title}<span class="{kind}">{off}</span>'


def _photo(path: Path) -> Bytes | None:
    """The photo, small; None where it cannot be read."""
    try:
        pixels = decode(path, max_pixels=LocateOptions().max_pixels)
    except NadirfixError:
        return None
    scale = min(_SIZE_PX[0] / pixels.shape[1], _SIZE_PX[1] / pixels.shape[0], 1.0)
    size = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def _shape(pixels: Bytes | None) -> tuple[int, int]:
    return _SIZE_PX if pixels is None else (pixels.shape[1], pixels.shape[0])


def _image(pixels: Bytes | None, alt: str) -> str:
    return "" if pixels is None else picture(pixels, alt, quality=_QUALITY)
