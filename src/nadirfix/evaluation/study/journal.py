"""queries.csv: one line per photo, written as soon as it is located, so that nothing is done twice."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nadirfix.evaluation.metrics import (
    QueryRecord,
    best_of_m,
    error_m,
    heading_error_deg,
    top1_error_m,
    unsigned_altitude_error_m,
)
from nadirfix.evaluation.study.answers import Answers, answer_from_plain, plain_from_answer
from nadirfix.files import atomic_file, output_errors
from nadirfix.files.text import from_cell, to_cell
from nadirfix.photo_list import PhotoRecord
from nadirfix.report.content import headline

__all__ = ["Journal"]

_TRUTH = ("true_lon", "true_lat", "true_easting_m", "true_northing_m", "epsg", "true_altitude_m")
_FOUND = ("lon", "lat", "easting_m", "northing_m", "altitude_m", "heading_deg", "confidence", "radius95_m")
_OFF = ("error_m", "top1_error_m", "best5_error_m", "altitude_error_m", "heading_error_deg")
_COLUMNS = ("photo", "status", *_TRUTH, "true_heading_deg", *_FOUND, *_OFF, "code", "why", "answers")


class Journal:
    """A table that grows by one line per photo and can be read back after any interruption."""

    def __init__(self, path: Path, rows: Mapping[str, PhotoRecord]) -> None:
        self._path, self._rows = path, rows

    def begin(self) -> dict[str, Answers]:
        """What an earlier run left; a line it did not finish is dropped."""
        known = self._read() if self._path.exists() else {}
        self.finish(known)
        return known

    def add(self, name: str, answers: Answers) -> None:
        """Put one photo's answers at the end of the table."""
        with output_errors(self._path), self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines([_cells(name, answers)]))

    def finish(self, answers: Mapping[str, Answers]) -> None:
        """Write the whole table in the order of the test set."""
        cells = [_cells(name, answers[name]) for name in self._rows if name in answers]
        with atomic_file(self._path) as scratch:
            scratch.write_text(_lines([dict(zip(_COLUMNS, _COLUMNS, strict=True)), *cells]), encoding="utf-8")

    def _read(self) -> dict[str, Answers]:
        text = self._path.read_text(encoding="utf-8", errors="replace")
        known = {}
        for line in csv.DictReader(io.StringIO(text)):
            answers = self._parsed(line)
            if answers is not None:
                known[from_cell(line["photo"])] = answers
        return known

    def _parsed(self, line: Mapping[str, str | None]) -> Answers | None:
        """One line's answers; None when it was cut short, or about a photo not in this test set."""
        name = from_cell(line["photo"] or "")
        row = self._rows.get(name)
        if row is None:
            return None
        try:
            plain = json.loads(line["answers"] or "")
            answers = {variant: answer_from_plain(p, name, row) for variant, p in plain.items()}
        except (ValueError, KeyError, TypeError):
            return None
        return None if any(map(_ours, answers.values())) else answers


def _ours(record: QueryRecord) -> bool:
    """Whether a fault of our own was in the way: then the photo is worth locating again."""
    return record.error is not None and record.error["code"] == "internal.error"


def _cells(name: str, answers: Answers) -> dict[str, Any]:
    record = answers[headline(answers)]
    plain = {variant: plain_from_answer(answer) for variant, answer in answers.items()}
    return {
        "photo": to_cell(name),
        "status": record.status,
        **_truth(record),
        **_found(record),
        **_off(record),
        **_why(record),
        "answers": json.dumps(plain, allow_nan=False, separators=(",", ":")),
    }


def _truth(record: QueryRecord) -> dict[str, Any]:
    position, (lon_deg, lat_deg) = record.truth, record.truth.lonlat
    values = (lon_deg, lat_deg, position.east_m, position.north_m, position.epsg, record.altitude_m)
    return {**dict(zip(_TRUTH, values, strict=True)), "true_heading_deg": record.heading_deg}


def _found(record: QueryRecord) -> dict[str, Any]:
    """The answer in the truth's own zone, so that one column of codes is enough."""
    fix = record.fix
    if fix is None:
        return {}
    position = fix.position.to(record.truth.epsg) if fix.position else None
    lon_deg, lat_deg = position.lonlat if position else (None, None)
    east_m, north_m = (position.east_m, position.north_m) if position else (None, None)
    rest = (fix.altitude_m, fix.heading_deg, fix.confidence, fix.radius95_m)
    return dict(zip(_FOUND, (lon_deg, lat_deg, east_m, north_m, *rest), strict=True))


def _off(record: QueryRecord) -> dict[str, Any]:
    far = (error_m(record), top1_error_m(record), best_of_m(record, 5))
    known = [value if math.isfinite(value) else None for value in far]
    return dict(
        zip(_OFF, (*known, unsigned_altitude_error_m(record), heading_error_deg(record)), strict=True)
    )


def _why(record: QueryRecord) -> dict[str, str]:
    if record.error is not None:
        return {"code": record.error["code"], "why": to_cell(record.error["message"])}
    return {"why": to_cell((record.fix.reason if record.fix else None) or "")}


def _lines(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", restval="")
    writer.writerows([{name: _rounded(value) for name, value in row.items()} for row in rows])
    return text.getvalue()


def _rounded(value: Any) -> Any:
    """A tenth of a millimetre, or of a degree's ten-millionth: what anyone can use, and no more."""
    return float(f"{value:.12g}") if isinstance(value, float) else value
