"""Photo lists (photos with their true positions) and lists of views to render: CSV, checked line by line.

A photo list (``manifest.csv``) has ``photo``, either ``lon, lat`` or ``easting_m, northing_m, epsg``, and
``altitude_m`` (empty where it is not known); ``heading_deg`` may be there. Photo paths are relative to the
list's folder; what a spreadsheet or terminal would misread is escaped (``files.text``).
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from nadirfix.errors import InputError
from nadirfix.files import atomic_file
from nadirfix.files.text import from_cell, to_cell
from nadirfix.prior import Prior
from nadirfix.types import Point, View, is_utm
from nadirfix.types.gimbal import Gimbal

__all__ = ["PhotoRecord", "read_photo_list", "read_priors", "read_views", "write_photo_list"]

T = TypeVar("T")
Cells = Mapping[str, str]

_LONLAT = ("lon", "lat")
_PROJECTED = ("easting_m", "northing_m", "epsg")
_VIEW = (*_PROJECTED, "altitude_m", "heading_deg")
_OPTIONAL = ("heading_deg", "tilt_deg", "tilt_toward_deg", "valid_share")
_PRIOR = ("sigma_m", "heading_deg", "heading_sigma_deg", "altitude_m", "altitude_sigma_m")
_GIMBAL = ("gimbal_pitch_deg", "gimbal_roll_deg", "gimbal_yaw_deg")
_WRITTEN = ("photo", *_LONLAT, *_PROJECTED, "altitude_m", *_OPTIONAL)

#: Two spellings of one place may differ by rounding, not by more than this.
_SAME_PLACE_M = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoRecord:
    """One photo and what is known about where it was taken."""

    photo: Path
    point: Point
    altitude_m: float | None = None
    heading_deg: float | None = None
    tilt_deg: float | None = None
    tilt_toward_deg: float | None = None
    valid_share: float | None = None


def read_photo_list(path: Path) -> list[PhotoRecord]:
    """The photos of a list with their positions; anything that is wrong is named by line and column."""
    table = _Table(path)
    table.require(("photo", "altitude_m"))
    if not table.has(_PROJECTED):
        table.require(_LONLAT, also=f"or {', '.join(_PROJECTED)}")
    return [_photo_record(line, path.parent) for line in table.lines()]


def read_views(path: Path) -> list[View]:
    """The views of a list, exactly as they are written, in the order they are written."""
    table = _Table(path)
    table.require(_VIEW)
    return [_view(line) for line in table.lines()]


def read_priors(path: Path, photos: Sequence[str]) -> dict[str, Prior]:
    """What a list says of photos, by their names as given; any cell but the photo's may be empty."""
    table, named = _Table(path), {Path(photo).resolve(): photo for photo in photos}
    table.require(("photo",))
    table.allow(("photo", *_LONLAT, *_PRIOR, *_GIMBAL))
    priors: dict[str, Prior] = {}
    for line in table.lines():
        photo = named.get((path.parent / line.photo).resolve())
        if photo is None or photo in priors:
            raise line.error("photo", f"list each photo once, relative to {path.parent}, and locate it too")
        priors[photo] = _prior(line)
    return priors


def write_photo_list(
    path: Path, records: Sequence[PhotoRecord], *, more: Sequence[Cells] = (), overwrite: bool = True
) -> None:
    """Write photos and their places as CSV, in degrees and in metres; the file appears when it is whole.

    ``more`` has further columns, the same ones for every row; ``read_photo_list`` ignores them.
    """
    text, further = io.StringIO(), more or [{}] * len(records)
    writer = csv.DictWriter(text, (*_WRITTEN, *(further[0] if further else ())), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: to_cell(text) for name, text in {**_cells(record, path.parent), **cells}.items()}
        for record, cells in zip(records, further, strict=True)
    )
    with atomic_file(path, overwrite=overwrite) as scratch:
        scratch.write_text(text.getvalue(), encoding="utf-8", newline="")


class _Line:
    """One line of a table: its cells by column, and errors that say where they are."""

    def __init__(self, path: Path, number: int, cells: Mapping[str, str]) -> None:
        self._path, self._number, self._cells = path, number, cells

    def text(self, column: str) -> str:
        return self._cells.get(column, "")

    @property
    def photo(self) -> str:
        """The photo's name, as it was before it was made a cell."""
        return from_cell(self.text("photo"))

    def number(self, column: str) -> float:
        try:
            value = float(self.text(column))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(column, "give a finite number")
        return value

    def maybe(self, column: str) -> float | None:
        return self.number(column) if self.text(column) else None

    def altitude_m(self) -> float:
        value = self.number("altitude_m")
        if value <= 0:
            raise self.error("altitude_m", "give metres above ground, more than 0")
        return value

    def has(self, columns: Sequence[str]) -> bool:
        return any(self.text(column) for column in columns)

    def error(self, column: str, do: str) -> InputError:
        cell = f"{self._path}, line {self._number}, column {column}: {self.text(column)!r}"
        return _bad("a value in the list cannot be used", cell, do)


class _Table:
    """A CSV file with named columns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        reader = csv.reader(io.StringIO(_read(path), newline=""), strict=True)
        try:
            rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
        except csv.Error as error:
            raise self._wrong(f"line {reader.line_num}: {error}", "save it again as plain CSV") from error
        self._names = rows[0][1] if rows else []
        self._rows = [(number, cells) for number, cells in rows[1:] if any(cells)]
        self._check_names()

    def lines(self) -> list[_Line]:
        """Every line that is not empty; there must be one, and each must fill every column."""
        if not self._rows:
            raise self._wrong("no lines below the column names", "list at least one")
        return [self._line(number, cells) for number, cells in self._rows]

    def has(self, columns: Sequence[str]) -> bool:
        return set(columns) <= set(self._names)

    def require(self, columns: Sequence[str], *, also: str = "") -> None:
        missing = [column for column in columns if column not in self._names]
        if missing:
            wanted = " ".join([", ".join(missing), also]).strip()
            raise self._wrong(
                f"line 1: no column {', '.join(missing)} among {', '.join(self._names)}", f"add {wanted}"
            )

    def allow(self, columns: Sequence[str]) -> None:
        unknown = [name for name in self._names if name not in columns]
        if unknown:
            raise self._wrong(f"line 1: column {', '.join(unknown)}", f"use only {', '.join(columns)}")

    def _check_names(self) -> None:
        if not any(self._names):
            raise self._wrong("line 1: no column names", "begin with a line of column names")
        twice = sorted({name for name in self._names if self._names.count(name) > 1})
        if twice:
            raise self._wrong(f"line 1: column {', '.join(twice)} is there twice", "keep one of them")

    def _line(self, number: int, cells: list[str]) -> _Line:
        if len(cells) != len(self._names):
            counts = f"line {number}: {len(cells)} values for {len(self._names)} columns"
            raise self._wrong(counts, "give every column a value, separated by commas")
        return _Line(self._path, number, dict(zip(self._names, cells, strict=True)))

    def _wrong(self, seen: str, do: str) -> InputError:
        return _bad("the list cannot be used", f"{self._path}, {seen}", do)


def _read(path: Path) -> str:
    """The file's text; a byte-order mark from a spreadsheet is dropped."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise _bad("the list cannot be read", f"{path} ({why})", "give a CSV file in UTF-8") from error


def _photo_record(line: _Line, folder: Path) -> PhotoRecord:
    photo = folder / line.photo
    if not line.photo or not photo.is_file():
        raise line.error("photo", f"name a photo that is there, relative to {folder}")
    return PhotoRecord(
        photo=photo,
        point=_place(line),
        altitude_m=line.altitude_m() if line.text("altitude_m") else None,
        **{column: line.maybe(column) for column in _OPTIONAL},
    )


def _prior(line: _Line) -> Prior:
    sigma_m, turned_deg, turn_deg, high_m, spread_m = (line.maybe(column) for column in _PRIOR)
    near = _from_lonlat(line) if line.has(_LONLAT) else None
    place = _named(line, "sigma_m", lambda: Prior(near=near, near_sigma_m=sigma_m))
    turn = _named(line, "heading_deg", lambda: Prior(heading_deg=turned_deg, heading_sigma_deg=turn_deg))
    height = _named(line, "altitude_m", lambda: Prior(altitude_m=high_m, altitude_sigma_m=spread_m))
    hung = Prior(gimbal=_gimbal(line) if line.has(_GIMBAL) else None)
    return place.over(turn).over(height).over(hung)


def _gimbal(line: _Line) -> Gimbal:
    """Pitch, and roll and yaw where they are known; without a pitch they say nothing."""
    pitch_deg = line.number("gimbal_pitch_deg")
    roll_deg, yaw_deg = line.maybe("gimbal_roll_deg") or 0.0, line.maybe("gimbal_yaw_deg")
    gimbal = partial(Gimbal, pitch_deg=pitch_deg, roll_deg=roll_deg, yaw_deg=yaw_deg)
    return _named(line, "gimbal_pitch_deg", gimbal)


def _view(line: _Line) -> View:
    point, altitude_m, heading_deg = _from_projected(line), line.altitude_m(), line.number("heading_deg")
    tilt_deg, toward_deg = line.maybe("tilt_deg") or 0.0, line.maybe("tilt_toward_deg") or 0.0
    return _named(line, "tilt_deg", lambda: View(point, altitude_m, heading_deg, tilt_deg, toward_deg))


def _place(line: _Line) -> Point:
    """The place in whichever form it is given; given in both, they must agree."""
    if not line.has(_PROJECTED):
        return _from_lonlat(line)
    place = _from_projected(line)
    if line.has(_LONLAT) and place.distance_m(_from_lonlat(line)) > _SAME_PLACE_M:
        lon_deg, lat_deg = place.lonlat
        do = f"make both forms one place: easting and northing lie at {lon_deg:.7f}, {lat_deg:.7f}"
        raise line.error("lon", do)
    return place


def _from_lonlat(line: _Line) -> Point:
    lon_deg, lat_deg = line.number("lon"), line.number("lat")
    return _named(line, "lon", lambda: Point.from_lonlat(lon_deg, lat_deg))


def _from_projected(line: _Line) -> Point:
    x_m, y_m, epsg = line.number("easting_m"), line.number("northing_m"), line.number("epsg")
    if epsg != int(epsg) or not _is_projected(int(epsg)):
        raise line.error("epsg", "give the EPSG code of a projected system, for example 32633")
    return _named(line, "easting_m", lambda: Point.from_projected(x_m, y_m, int(epsg)))


def _named(line: _Line, column: str, make: Callable[[], T]) -> T:
    """What ``make`` makes; if it refuses, the error says in which line."""
    try:
        return make()
    except InputError as error:
        raise line.error(column, f"{error.do} ({error.seen})") from error


@lru_cache(maxsize=64)
def _is_projected(epsg: int) -> bool:
    """Degrees in a column of metres would silently put photos into the sea off Africa."""
    import pyproj

    try:
        return is_utm(epsg) or bool(pyproj.CRS.from_epsg(epsg).is_projected)
    except pyproj.exceptions.CRSError:
        return False


def _cells(record: PhotoRecord, folder: Path) -> dict[str, str]:
    place, (lon_deg, lat_deg) = record.point, record.point.lonlat
    numbers = {column: getattr(record, column) for column in ("altitude_m", *_OPTIONAL)}
    return {
        "photo": Path(os.path.relpath(record.photo, folder)).as_posix(),
        "lon": f"{lon_deg:.9f}",
        "lat": f"{lat_deg:.9f}",
        **{"easting_m": f"{place.east_m:.4f}", "northing_m": f"{place.north_m:.4f}", "epsg": str(place.epsg)},
        **{column: "" if value is None else f"{value:.4f}" for column, value in numbers.items()},
    }


def _bad(what: str, seen: str, do: str) -> InputError:
    return InputError("manifest.invalid", what, seen=seen, do=do)
