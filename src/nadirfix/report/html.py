"""Small pieces of a page: text that cannot break out, tables, pictures inside the page itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from PIL import Image

__all__ = [
    "data_uri",
    "definitions",
    "metres",
    "millis",
    "percent",
    "picture",
    "table",
    "tiles",
    "whole_page",
]

#: What stands where there is no number.
UNKNOWN = "–"
#: Nothing may be fetched: all is in the page.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def whole_page(title: str, body: str, *, made: str = "") -> str:
    """A page around what it shows: its style inside, nothing fetched, nothing run."""
    style = files("nadirfix.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>{body}"
        f"<footer>Made by nadirfix{escape(made)}. This page needs no network.</footer>"
        "</main></body></html>\n"
    )


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    main: int | None = None,
    words: bool = False,
) -> str:
    """A table of numbers, or of words; the row that matters most is set apart."""
    kind = ' class="words"' if words else ""
    top = "".join(f'<th scope="col"{kind}>{escape(name)}</th>' for name in head)
    body = "".join(_row(row, kind, main=i == main) for i, row in enumerate(rows))
    text = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table>{text}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _row(cells: Sequence[str], kind: str, *, main: bool) -> str:
    inside = "".join(f"<td{kind}>{escape(cell)}</td>" for cell in cells)
    return f'<tr class="main">{inside}</tr>' if main else f"<tr>{inside}</tr>"


def tiles(items: Sequence[tuple[str, str]]) -> str:
    """Large numbers with a few words under each."""
    inside = "".join(f"<li><b>{escape(big)}</b><span>{escape(small)}</span></li>" for big, small in items)
    return f'<ul class="tiles">{inside}</ul>'


def definitions(items: Sequence[tuple[str, str]]) -> str:
    """Names and what they stand for."""
    return (
        "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in items) + "</dl>"
    )


def picture(pixels: NDArray[np.uint8], alt: str, *, quality: int) -> str:
    """A picture with words for those who cannot see it."""
    height, width = pixels.shape[:2]
    source = data_uri(pixels, quality=quality)
    return f'<img src="{source}" alt="{escape(alt)}" width="{width}" height="{height}">'


def data_uri(pixels: NDArray[np.uint8], *, quality: int) -> str:
    """A picture as part of the page."""
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, format="JPEG", quality=quality, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(target.getvalue()).decode("ascii")


def percent(value: float | None) -> str:
    """A share as one reads it."""
    return UNKNOWN if value is None else f"{value:.1f} %"


def metres(value: float | None) -> str:
    """A length with as many digits as it deserves."""
    if value is None:
        return UNKNOWN
    return f"{value:.1f} m" if abs(value) < 99.95 else f"{value:,.0f} m".replace(",", "\u202f")


def millis(value: float | None) -> str:
    """A time in milliseconds with as many digits as it deserves."""
    if value is None:
        return UNKNOWN
    return f"{value:.2f} ms" if value < 9.995 else f"{value:.0f} ms"
