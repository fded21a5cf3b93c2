"""Photos beside what they were taken for: the crop the network was given, and the references it found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import NadirfixError
from nadirfix.evaluation.metrics import (
    NEAR_M,
    QueryRecord,
    error_m,
    heading_error_deg,
    unsigned_altitude_error_m,
)
from nadirfix.image.crop import canonical_crop
from nadirfix.image.decode import decode
from nadirfix.options.locate import LocateOptions
from nadirfix.report.content import BundleCard, Query
from nadirfix.report.html import metres, picture
from nadirfix.types import Point, View

__all__ = ["choose", "query_panel"]

Bytes = NDArray[np.uint8]

_SIZE_PX = (320, 240)
_QUALITY = 78
_NO_MAP_GREY = 120
_REFERENCES = 4
_GROUPS = 4


def choose(records: Sequence[QueryRecord]) -> dict[str, list[QueryRecord]]:
    """The best, the worst, and some that nobody chose, each photo at most once."""
    answered = sorted((r for r in records if r.answered), key=error_m)
    best, rest = answered[:_GROUPS], answered[_GROUPS:]
    worst, rest = rest[::-1][:_GROUPS], rest[: max(len(rest) - _GROUPS, 0)]
    picked = np.random.default_rng(0).permutation(len(rest))[:_GROUPS]
    return {"best": best, "worst": worst, "random": [rest[i] for i in sorted(picked)]}


def query_panel(record: QueryRecord, query: Query, bundle: BundleCard) -> str:
    """One photo with its answer in words and pictures."""
    cards = [*_query_cards(record, query, bundle), _truth(record, bundle), *_found(record, bundle)]
    strip = "".join(f'<li class="{kind}">{image}<p>{words}</p></li>' for kind, image, words in cards)
    return f'<article class="query">{_heading(record)}<ul class="strip">{strip}</ul></article>'


def _heading(record: QueryRecord) -> str:
    off = error_m(record)
    kind = "good" if off < NEAR_M else "bad"
    words = f"{metres(off)} off" if math.isfinite(off) else record.status.replace("_", " ")
    return (
        f'<h3><span class="{kind}">{words}</span><code>{escape(record.photo)}</code></h3>'
        f'<p class="soft">{escape(_summary(record))}</p>'
    )


def _summary(record: QueryRecord) -> str:
    parts = []
    if record.altitude_m is not None:
        parts.append(f"truly from {metres(record.altitude_m)}")
    if record.fix and record.fix.altitude_m is not None:
        parts.append(f"found {metres(record.fix.altitude_m)}")
    off, turn = unsigned_altitude_error_m(record), heading_error_deg(record)
    if off is not None:
        parts.append(f"altitude {metres(off)} off")
    if turn is not None:
        parts.append(f"heading {turn:.0f}° off")
    return ", ".join(parts)


def _query_cards(record: QueryRecord, query: Query, bundle: BundleCard) -> list[tuple[str, str, str]]:
    """The whole photo, and the middle of it at the canonical scale."""
    try:
        pixels = decode(query.path, max_pixels=LocateOptions().max_pixels)
    except NadirfixError as error:
        return [("input", "", escape(error.message))]
    cards = [("input", picture(_fitted(pixels), f"photo {record.photo}", quality=_QUALITY), "photo")]
    gsd_m = record.fix.gsd_m if record.fix else None
    if gsd_m and query.camera:
        width, height = _SIZE_PX
        crop = canonical_crop(pixels, query.camera, gsd_m, bundle.canonical, width_px=width, height_px=height)
        middle = np.clip(np.rint(crop.pixels), 0, 255).astype(np.uint8)
        words = "crop at the canonical scale" + (", whole frame" if crop.clamped else "")
        cards.append(("input", picture(middle, words, quality=_QUALITY), words))
    return cards


def _fitted(pixels: Bytes) -> Bytes:
    scale = min(_SIZE_PX[0] / pixels.shape[1], _SIZE_PX[1] / pixels.shape[0], 1.0)
    size = max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)


def _truth(record: QueryRecord, bundle: BundleCard) -> tuple[str, str, str]:
    """What the map shows where the photo was taken: what a perfect reference would look like."""
    words = "the map at the true place"
    pixels = _map_picture(bundle, record.truth, record.heading_deg or 0.0)
    return "found", picture(pixels, words, quality=_QUALITY), words


def _map_picture(bundle: BundleCard, point: Point, heading_deg: float) -> Bytes:
    """The map as references show it; where there is none, plain grey."""
    view = View(point, bundle.canonical.altitude_m, heading_deg)
    rendered = bundle.texture.render(view, bundle.canonical.camera, _SIZE_PX)
    return np.where(rendered.valid[..., None] > 0, rendered.pixels, np.uint8(_NO_MAP_GREY))


def _found(record: QueryRecord, bundle: BundleCard) -> list[tuple[str, str, str]]:
    """The references most similar to the photo, rendered again from the map in the bundle."""
    found = record.fix.candidates if record.fix else None
    return [_reference(record, k, bundle) for k in range(min(_REFERENCES, len(found) if found else 0))]


def _reference(record: QueryRecord, rank: int, bundle: BundleCard) -> tuple[str, str, str]:
    assert record.fix is not None and record.fix.candidates is not None
    found, weights = record.fix.candidates, record.fix.weights
    point = found.point(rank)
    rendered = _map_picture(bundle, point, float(found.heading_deg[rank]))
    off = record.truth.distance_m(point)
    kind = "good" if off < NEAR_M else "bad"
    share = "" if weights is None else f", weight {weights[rank]:.2f}"
    words = f"{rank + 1}. <span class={kind}>{metres(off)}</span> from the truth<br>"
    words += f'<span class="soft">distance {found.distance[rank]:.3f}{share}</span>'
    return "found", picture(rendered, f"reference of rank {rank + 1}", quality=_QUALITY), words
