"""What a manifest may say: every entry that is read, its kind and its limits (ADR 54).

A rule gets a value and the name it has in the manifest, and raises ``ValueError`` with what is wrong. Numbers
are finite everywhere, lists have the length they need, and what nobody reads is only kept small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nadirfix.types import is_utm

__all__ = ["PART_NAME", "check_manifest"]

#: Says what is wrong with a value of this name, by an exception, or nothing.
Rule = Callable[[Any, str], None]

#: A part is a plain file of the folder: no path, nothing hidden.
PART_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
#: Larger than anything on Earth in metres, in pixels or in counts.
_MOST = 1e12
_LONGEST_TEXT, _DEEPEST = 100_000, 32


def check_manifest(manifest: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` where an entry is missing or cannot be meant."""
    _finite({key: value for key, value in manifest.items() if key != "classes"}, "", 0)
    _MANIFEST(manifest, "")


def _finite(value: Any, name: str, depth: int) -> None:
    """Every number is one that can be computed with; no text and no nesting is without end."""
    if depth > _DEEPEST:
        raise ValueError(f"{name[:80]} is nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        for key, one in value.items():
            _finite(one, f"{name}.{key}" if name else key, depth + 1)
    elif isinstance(value, list):
        for one in value:
            _finite(one, name, depth + 1)
    elif isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise ValueError(f"{name} is a text of {len(value)} letters")
    elif _is_number(value) and not abs(value) <= _MOST:
        raise ValueError(f"{name} is out of all bounds")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(low: float, high: float) -> Rule:
    def rule(value: Any, name: str) -> None:
        if not (_is_number(value) and low <= value <= high):
            raise ValueError(f"{name} is {_short(value)}, not a number from {low:g} to {high:g}")

    return rule


def _whole(low: int, high: int) -> Rule:
    def rule(value: Any, name: str) -> None:
        if not (isinstance(value, int) and not isinstance(value, bool) and low <= value <= high):
            raise ValueError(f"{name} is {_short(value)}, not a whole number from {low} to {high}")

    return rule


def _list(rule: Rule, *, least: int = 0, most: int = 100_000) -> Rule:
    def rule_of_all(value: Any, name: str) -> None:
        if not (isinstance(value, list) and least <= len(value) <= most):
            raise ValueError(f"{name} is {_short(value)}, not a list of {least} to {most}")
        for index, one in enumerate(value):
            rule(one, f"{name}[{index}]")

    return rule_of_all


def _pair(rule: Rule) -> Rule:
    return _list(rule, least=2, most=2)


def _table(**rules: Rule) -> Rule:
    """A table with these entries, and others that nobody reads."""

    def rule(value: Any, name: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{name or 'it'} is {_short(value)}, not a table")
        for key, inner in rules.items():
            inner(value.get(key), f"{name}.{key}" if name else key)

    return rule


def _only(**rules: Rule) -> Rule:
    """A table with these entries and no others."""

    def rule(value: Any, name: str) -> None:
        _table(**rules)(value, name)
        if more := sorted(set(value) - set(rules)):
            raise ValueError(f"{name} has {_short(more[0])}, which it should not")

    return rule


def _or_none(rule: Rule) -> Rule:
    """The entry may be missing or null."""
    return lambda value, name: None if value is None else rule(value, name)


def _text(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} is {_short(value)}, not a text")


def _zone(value: Any, name: str) -> None:
    if not (isinstance(value, int) and is_utm(value)):
        raise ValueError(f"{name} is {_short(value)}, not a zone of WGS 84 / UTM")


def _bounds(value: Any, name: str) -> None:
    """West, south, east and north, as a zone of UTM has them, or a little beyond its edges."""
    _list(_number(-2e7, 2e7), least=4, most=4)(value, name)
    west, south, east, north = value
    if not (west < east and south < north):
        raise ValueError(f"{name} is {_short(value)}: there is no ground between")


def _cells(value: Any, name: str) -> None:
    """Columns and rows of cells; there may be very many."""
    try:
        cells = np.asarray(value)
    except (ValueError, OverflowError):
        cells = np.zeros(0)
    usable = cells.dtype.kind == "i" and cells.ndim == 2 and cells.shape[1:] == (2,) and len(cells)
    if not (usable and np.abs(cells).max() < 2**31):
        raise ValueError(f"{name} is {_short(value)}, not columns and rows of cells")


def _parts(value: Any, name: str) -> None:
    if not isinstance(value, dict) or len(value) > 10_000:
        raise ValueError(f"{name} is {_short(value)}, not a table of parts")
    for part, known in value.items():
        if not PART_NAME.fullmatch(part):
            raise ValueError(f"{name} has {_short(part)}, which is not a plain file name")
        _PART(known, f"{name}.{part}")


def _sha256(value: Any, name: str) -> None:
    if not (isinstance(value, str) and _SHA256.fullmatch(value)):
        raise ValueError(f"{name} is {_short(value)}, not a SHA-256")


def _short(value: Any) -> str:
    """What was found, so that it fits a line and stays plain; strange letters are escaped."""
    text = ascii(value) if not isinstance(value, dict | list) else f"a {type(value).__name__}"
    return "missing" if value is None else text if len(text) <= 60 else f"{text[:60]}…"


_PART = _table(bytes=_whole(0, 2**50), sha256=_sha256)
_INT8_CARD = _or_none(_table(likeness=_or_none(_number(-1.0, 1.0 + 1e-6))))
_NETWORK = _table(
    training=_or_none(_table(steps=_whole(0, 10**12))), weights=_table(source=_text), eight_bits=_INT8_CARD
)
_MATCHER = _or_none(_table(name=_text))
_GRID = _table(cell_m=_number(1e-3, 1e7), groups_per_axis=_whole(1, 1000), origin_m=_pair(_number(-2e7, 2e7)))
_MAP = _table(
    epsg=_zone, bounds_m=_bounds, gsd_m=_number(1e-6, 1e5), size_px=_pair(_whole(1, 2**30))
)  # fmt: skip
_LOW = _or_none(_table(altitude_m=_number(0.1, 1e6), cells=_whole(1, 10**8)))
_COUNT = _whole(0, 10**9)
_SOURCE = _table(files=_list(_table(name=_text, sha256=_sha256)))
_MANIFEST = _table(
    nadirfix=_text,
    recipe=_table(name=_text, camera=_table()),
    map=_MAP,
    grid=_GRID,
    classes=_table(groups=_list(_pair(_whole(0, 1000)), least=1), cells=_list(_cells, least=1)),
    networks=_only(altitude=_NETWORK, place=_NETWORK),
    matcher=_MATCHER,
    low_references=_LOW,
    counts=_table(references=_whole(1, 10**9), cells=_COUNT, left_out=_COUNT),
    accuracy=_table(),
    source=_list(_SOURCE),
    described=_or_none(_table()),
    parts=_parts,
)
