"""The answers of one method, a line of JSON for each photo, written as soon as it is located.

A line is what ``nadirfix locate`` prints, without what nobody compares: ``nadirfix.evaluate`` reads the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nadirfix.errors import BundleError, NadirfixError, OutputError, WeightsError
from nadirfix.evaluation.answer_files import answer_of
from nadirfix.evaluation.methods.protocol import Method
from nadirfix.evaluation.metrics import QueryRecord
from nadirfix.files import Progress, atomic_file, output_errors
from nadirfix.formats import json_line
from nadirfix.photo_list import PhotoRecord

__all__ = ["AnswerFile", "answer_photos"]

Line = Mapping[str, Any]

_KEPT = (
    "photo", "status", "lon", "lat", "easting_m", "northing_m", "epsg", "altitude_m", "gsd_m", "heading_deg",
    "confidence", "radius95_m", "verified", "inliers", "reason", "reason_code", "candidates", "timings_ms",
)  # fmt: skip
#: What is not the photo's fault must not be counted as if it were.
_FATAL = (BundleError, WeightsError, OutputError)


class AnswerFile:
    """Grows by one line per photo and can be read back after any interruption."""

    def __init__(self, path: Path, rows: Mapping[str, PhotoRecord]) -> None:
        self._path, self._rows = path, rows

    def begin(self) -> dict[str, Line]:
        """What an earlier run left; unfinished lines are dropped, faults of our own tried again."""
        text = self._path.read_text(encoding="utf-8", errors="replace") if self._path.exists() else ""
        lines = [line for line in map(_parsed, text.splitlines()) if line is not None]
        known = {line["photo"]: line for line in lines if line.get("photo") in self._rows}
        self._write([known[name] for name in self._rows if name in known])
        return known

    def add(self, line: Line) -> None:
        """Put one photo's answer at the end."""
        with output_errors(self._path), self._path.open("a", encoding="utf-8") as file:
            file.write(json_line(line))

    def records(self, known: Mapping[str, Line]) -> list[QueryRecord]:
        """The answers beside the truth, in the order of the test set."""
        return [answer_of(known[name], row) for name, row in self._rows.items()]

    def _write(self, lines: Sequence[Line]) -> None:
        with atomic_file(self._path) as scratch:
            scratch.write_text("".join(map(json_line, lines)), encoding="utf-8")


def answer_photos(
    method: Method, rows: Mapping[str, PhotoRecord], file: AnswerFile, *, stage: str, progress: Progress
) -> list[QueryRecord]:
    """What a method answers for every photo; those it has answered before are not located again."""
    known = file.begin()
    progress(stage, len(known), len(rows))
    for name, row in rows.items():
        if name not in known:
            known[name] = _line(method, name, row)
            file.add(known[name])
            progress(stage, len(known), len(rows))
    _check_not_all_ours(list(known.values()), stage)
    return file.records(known)


def _line(method: Method, name: str, row: PhotoRecord) -> Line:
    try:
        whole = replace(method.locate(row), photo=name).to_dict()
    except _FATAL:
        raise
    except NadirfixError as error:
        return {"photo": name, "status": "error", "error": error.to_dict()}
    except Exception as error:  # a photo that finds a fault of ours, or of a package's, is not the end
        message = f"nadirfix did not expect this: {type(error).__name__}: {error}"
        ours = {"code": "internal.error", "message": message, "hint": "Report it with the photo"}
        return {"photo": name, "status": "error", "error": ours}
    return {field: whole[field] for field in _KEPT}


def _parsed(text: str) -> Line | None:
    """One line; None where it was cut short, or a fault of our own was in the way."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    whole = isinstance(line, dict) and "photo" in line and ("error" in line or "candidates" in line)
    return None if not whole or (line.get("error") or {}).get("code") == "internal.error" else line


def _check_not_all_ours(lines: Sequence[Line], stage: str) -> None:
    """A fault that meets every photo is no property of the photos: say so instead of measuring it."""
    errors = [line["error"] for line in lines if "error" in line]
    if len(errors) == len(lines) and all(error["code"] == "internal.error" for error in errors):
        raise NadirfixError(
            "internal.error",
            "not one photo could be located, and not through any fault of theirs",
            seen=f"{stage}: {errors[0]['message']}",
            do="report it; --resume goes on with these photos",
        )
