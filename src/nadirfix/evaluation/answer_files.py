"""Anybody's answers, from a CSV or from lines of JSON, measured like our own.

What is read: ``photo``, and ``lon, lat`` or ``easting_m, northing_m, epsg``, empty where there is no answer;
``altitude_m`` and ``heading_deg`` where they are known; in lines of JSON also ``candidates``, the places in
the order they were ranked. That is what ``nadirfix locate`` prints, and all else in a line is ignored.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nadirfix.errors import InputError
from nadirfix.evaluation.datasets import read_queries
from nadirfix.evaluation.metrics import QueryRecord, metrics
from nadirfix.photo_list import PhotoRecord
from nadirfix.types import Candidates, Fix, Point, status_of

__all__ = ["answer_of", "candidates_at", "evaluate", "read_answers"]

Cells = Mapping[str, Any]

_NO_ANSWER = "no answer was given for this photo"
_LONLAT, _PROJECTED = ("lon", "lat"), ("easting_m", "northing_m", "epsg")


def evaluate(
    answers: str | Path, truth: str | Path, *, kind: str = "auto", epsg: int | None = None
) -> dict[str, Any]:
    """How good anybody's answers are: the same figures as ``metrics.json``, whoever gave the answers.

    ``answers`` is a CSV or a file of JSON lines; ``truth`` a manifest or another test set that
    ``nadirfix evaluate`` reads. A photo without an answer is a miss. Where no ranked places are given the
    answer counts as the first of them.
    """
    rows = read_queries(Path(truth), kind=kind, epsg=epsg)
    return metrics(read_answers(Path(answers), rows))


def read_answers(path: Path, rows: Sequence[PhotoRecord]) -> list[QueryRecord]:
    """A record for every photo of the test set, in its order, with what the file says of it."""
    named, found = _Names(path, rows), dict[int, QueryRecord]()
    for number, cells in _lines(path):
        at = named.row_of(number, str(cells.get("photo") or ""))
        if at in found:
            raise _bad(path, number, f"{cells['photo']!r} is there twice", "answer every photo once")
        try:
            found[at] = answer_of(cells, rows[at])
        except (InputError, ValueError, TypeError, KeyError) as error:
            why = error.seen if isinstance(error, InputError) else str(error)
            do = "give lon and lat, or easting_m, northing_m and epsg, as numbers, or leave them empty"
            raise _bad(path, number, why, do) from error
    return [found.get(at) or _missing(row) for at, row in enumerate(rows)]


def answer_of(cells: Cells, row: PhotoRecord) -> QueryRecord:
    """What one line says, beside the truth of its photo."""
    error = cells.get("error")
    return QueryRecord(
        photo=str(cells["photo"]),
        truth=row.point,
        altitude_m=row.altitude_m,
        heading_deg=row.heading_deg,
        fix=None if error else _fix(cells),
        error={"message": "", "hint": "", **error} if error else None,
    )


def _fix(cells: Cells) -> Fix:
    """The answer of a line; without a position it is "no fix"."""
    position = None if cells.get("status") == "no_fix" else _point(cells)
    verified, timings = _flag(cells.get("verified")), cells.get("timings_ms")
    return Fix(
        photo=str(cells["photo"]),
        status=status_of(position, verified),
        position=position,
        verified=verified,
        altitude_m=_number(cells.get("altitude_m")),
        heading_deg=_number(cells.get("heading_deg")),
        confidence=_number(cells.get("confidence")),
        radius95_m=_number(cells.get("radius95_m")),
        candidates=None if position is None else _ranked(cells, position),
        reason=None if position else str(cells.get("reason") or _NO_ANSWER),
        timings_ms=dict(timings) if isinstance(timings, Mapping) else {},
    )


def candidates_at(
    points: Sequence[Point], headings_deg: Sequence[float], scores: Sequence[float]
) -> Candidates:
    """Places in the order they are ranked, the likeliest first; scores rise with what is less likely."""
    epsg = points[0].epsg
    here = [point.to(epsg) for point in points]
    return Candidates(
        reference=np.arange(len(here)),
        east_m=np.array([point.east_m for point in here], np.float64),
        north_m=np.array([point.north_m for point in here], np.float64),
        heading_deg=np.asarray(headings_deg, np.float64),
        distance=np.asarray(scores, np.float64),
        cell=np.zeros((len(here), 2), np.int64),
        epsg=epsg,
    )


def _ranked(cells: Cells, position: Point) -> Candidates:
    """The places a line ranks; its answer alone where it ranks none."""
    listed = cells.get("candidates")
    listed = listed if isinstance(listed, list) else []
    places = [(_point({"epsg": position.epsg, **one}), _number(one.get("heading_deg"))) for one in listed]
    found = [(point, turn_deg or 0.0) for point, turn_deg in places if point] or [(position, 0.0)]
    points, headings_deg = zip(*found, strict=True)
    return candidates_at(points, headings_deg, range(len(points)))


def _point(cells: Cells) -> Point | None:
    """The place in whichever form it is given; None where both are empty."""
    if all(_number(cells.get(name)) is not None for name in _PROJECTED):
        x_m, y_m, epsg = (float(cells[name]) for name in _PROJECTED)
        return Point.from_projected(x_m, y_m, int(epsg))
    given = [_number(cells.get(name)) for name in _LONLAT]
    lon_deg, lat_deg = given
    if lon_deg is not None and lat_deg is not None:
        return Point.from_lonlat(lon_deg, lat_deg)
    half = [n for n in (*_LONLAT, *_PROJECTED[:2]) if _number(cells.get(n)) is not None]
    if half:
        raise ValueError(f"only {', '.join(half)}")
    return None


def _number(value: Any) -> float | None:
    """A cell as a number; None where it is empty. What is no number is the caller's error."""
    if value is None or value == "":
        return None
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def _flag(value: Any) -> bool | None:
    return None if value in (None, "") else str(value).lower() in ("true", "1")


def _missing(row: PhotoRecord) -> QueryRecord:
    return answer_of({"photo": row.photo.name, "reason": _NO_ANSWER}, row)


class _Names:
    """Which photo of the test set a line means: by its path, or by its name where only one has it."""

    def __init__(self, path: Path, rows: Sequence[PhotoRecord]) -> None:
        self._path = path
        self._by_path = {row.photo.resolve(): at for at, row in enumerate(rows)}
        self._by_name: dict[str, list[int]] = {}
        for at, row in enumerate(rows):
            self._by_name.setdefault(row.photo.name, []).append(at)

    def row_of(self, number: int, photo: str) -> int:
        paths = [folder / photo for folder in (self._path.parent, Path()) if photo]
        known = [self._by_path[path.resolve()] for path in paths if path.resolve() in self._by_path]
        named = known or self._by_name.get(Path(photo).name, [])
        if not photo or not named or (not known and len(named) > 1):
            seen = f"{photo!r} is {'no' if len(named) < 2 else 'more than one'} photo of the test set"
            raise _bad(self._path, number, seen, "name photos as the manifest does, each once")
        return named[0]


def _lines(path: Path) -> Iterator[tuple[int, Cells]]:
    """The lines of a file with their numbers: JSON where the first one begins with a brace, else CSV."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(path, 1, str(error), "give a CSV or JSON lines in UTF-8") from error
    yield from _json_lines(path, text) if text.lstrip().startswith("{") else _csv_lines(path, text)


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, Cells]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except ValueError as error:
            raise _bad(path, number, f"no JSON ({error})", "write one JSON object to a line") from error
        if not isinstance(cells, dict):
            raise _bad(path, number, f"a {type(cells).__name__}", "write one JSON object to a line")
        yield number, cells


def _csv_lines(path: Path, text: str) -> Iterator[tuple[int, Cells]]:
    reader = csv.DictReader(io.StringIO(text))
    names = {(name or "").strip() for name in reader.fieldnames or ()}
    if "photo" not in names or not (names >= set(_LONLAT) or names >= set(_PROJECTED)):
        do = "give photo, and lon, lat or easting_m, northing_m, epsg"
        raise _bad(path, 1, f"columns {', '.join(sorted(names)) or 'none'}", do)
    for cells in reader:
        yield reader.line_num, {(k or "").strip(): (v or "").strip() for k, v in cells.items() if k}


def _bad(path: Path, number: int, seen: str, do: str) -> InputError:
    what = "a line of the answers cannot be used"
    return InputError("manifest.invalid", what, seen=f"{path}, line {number}: {seen}", do=do)
