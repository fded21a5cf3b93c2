"""Other people's test sets as rows of our manifest, whatever they wrote into their file names.

Known are folders named ``@easting@northing@…@.jpg`` as place-recognition benchmarks do,
``@year@height@rotation@x@y@`` as the method's own release does, and UAV-VisLoc's CSV. What a format does not
say stays unknown: UAV-VisLoc's heights are above the sea, not above the ground, and never taken for altitude.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from nadirfix.errors import InputError
from nadirfix.photo_list import PhotoRecord, read_photo_list
from nadirfix.types import Point

__all__ = ["FORMATS", "Format", "detect_format", "read_queries"]

Format = Literal["auto", "manifest", "utm-names", "ae-vpr", "uav-visloc"]

#: The formats by name; "auto" looks which one it is.
FORMATS: tuple[str, ...] = get_args(Format)

_PHOTO_ENDINGS = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp"}
_VISLOC = {"filename", "lat", "lon", "height"}
#: Where UTM coordinates lie on Earth: a year or an altitude is never mistaken for one.
_EASTINGS_M, _NORTHINGS_M = (100_000.0, 900_000.0), (0.0, 10_000_000.0)
_SOUTHERN_BANDS, _NORTHERN_BANDS = "CDEFGHJKLM", "NPQRSTUVWX"


def read_queries(source: Path, *, kind: str = "auto", epsg: int | None = None) -> list[PhotoRecord]:
    """The photos of a manifest, a folder or another test set, each with the place it was taken at."""
    if kind not in FORMATS:
        raise _unknown(source, f"--format {kind}")
    known = detect_format(source) if kind == "auto" else kind
    if known == "manifest":
        return read_photo_list(source / "manifest.csv" if source.is_dir() else source)
    if known == "uav-visloc":
        return _read_visloc(source)
    read = _from_utm_name if known == "utm-names" else _from_ae_vpr_name
    return [read(photo, epsg) for photo in _photos(source)]


def detect_format(source: Path) -> str:
    """Which format this is; when that is not certain, an error that asks."""
    if source.is_file():
        columns = set(_header(source))
        return "uav-visloc" if columns >= _VISLOC and "photo" not in columns else "manifest"
    if (source / "manifest.csv").is_file():
        return "manifest"
    if not source.is_dir():
        raise _unknown(source, "nothing there")
    names = _photos(source)
    fitting = [kind for kind, fits in _FITS.items() if all(fits(_fields(photo)) for photo in names)]
    if len(fitting) != 1:
        raise _unknown(source, f"names such as {names[0].name}")
    return fitting[0]


def _is_utm_name(fields: Sequence[str]) -> bool:
    return len(fields) >= 2 and _is_utm_position(fields[0], fields[1])


def _is_ae_vpr_name(fields: Sequence[str]) -> bool:
    numbers = [_number(field) for field in fields[1:5]]
    return len(fields) == 5 and None not in numbers and not _is_utm_name(fields)


_FITS = {"utm-names": _is_utm_name, "ae-vpr": _is_ae_vpr_name}


def _from_utm_name(photo: Path, epsg: int | None) -> PhotoRecord:
    """``@easting@northing@zone@band@lat@lon@id@tile@heading@…@``: only the first two are always there.

    The height such a name may carry does not say above what, so the altitude stays unknown.
    """
    fields = [*_fields(photo), *[""] * 9]
    if not _is_utm_name(fields):
        raise _bad_name(photo, "name photos @easting@northing@…@.jpg, in UTM metres")
    zone = epsg or _zone_epsg(*fields[2:5])
    if zone is None:
        raise _no_zone(photo)
    point = Point.from_projected(float(fields[0]), float(fields[1]), zone)
    return PhotoRecord(photo=photo, point=point, heading_deg=_heading(fields[8]))


def _from_ae_vpr_name(photo: Path, epsg: int | None) -> PhotoRecord:
    """``@year@height@rotation@x@y@``: height above ground, and metres of the system given."""
    fields = _fields(photo)
    if not _is_ae_vpr_name(fields):
        raise _bad_name(photo, "name photos @year@height@rotation@x@y@.png")
    if epsg is None:
        raise _no_zone(photo)
    height_m, rotation_deg, x_m, y_m = (float(field) for field in fields[1:5])
    if height_m <= 0:
        raise _bad_name(photo, "give the height above ground in metres, more than 0")
    point = Point.from_projected(x_m, y_m, epsg)
    return PhotoRecord(photo=photo, point=point, altitude_m=height_m, heading_deg=rotation_deg % 360)


def _read_visloc(source: Path) -> list[PhotoRecord]:
    """UAV-VisLoc: latitude and longitude of the frame centre; photos lie in ``drone`` beside the CSV."""
    reader = csv.DictReader(io.StringIO(_text(source)))
    if not set(reader.fieldnames or ()) >= _VISLOC:
        raise _bad_line(
            source, 1, f"columns {', '.join(reader.fieldnames or ())}", "give UAV-VisLoc's own CSV"
        )
    rows = [_visloc_row(source, reader.line_num, line) for line in reader]
    if not rows:
        raise _bad_line(source, 1, "no lines below the column names", "list at least one photo")
    return rows


def _visloc_row(source: Path, number: int, line: dict[str, str]) -> PhotoRecord:
    lon_deg, lat_deg = _number(line["lon"]), _number(line["lat"])
    if lon_deg is None or lat_deg is None:
        raise _bad_line(source, number, f"lat {line['lat']!r}, lon {line['lon']!r}", "give degrees")
    paths = [folder / (line["filename"] or "?") for folder in (source.parent / "drone", source.parent)]
    photo = next((path for path in paths if path.is_file()), None)
    if photo is None:
        raise _bad_line(source, number, f"{line['filename']!r}", f"put the photo into {paths[0].parent}")
    heading = _heading(line.get("Phi1") or "")  # one flight of the data set comes without angles
    return PhotoRecord(photo=photo, point=Point.from_lonlat(lon_deg, lat_deg), heading_deg=heading)


def _photos(folder: Path) -> list[Path]:
    """Every photo below a folder, in order of their names."""
    if not folder.is_dir():
        raise _unknown(folder, "not a folder of photos")
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in _PHOTO_ENDINGS and p.is_file())
    if not found:
        raise _unknown(folder, "no photos in it")
    return found


def _fields(photo: Path) -> list[str]:
    """What stands between the first and the last @ of a name."""
    return [field.strip() for field in photo.name.split("@")[1:-1]]


def _zone_epsg(zone: str, band: str, latitude: str) -> int | None:
    """The UTM zone from its number and its latitude band; the latitude itself decides where it is given."""
    if not zone.isdigit() or not 1 <= int(zone) <= 60:
        return None
    lat_deg = _number(latitude)
    if lat_deg is not None:
        return (32600 if lat_deg >= 0 else 32700) + int(zone)
    letter = band.upper()
    if len(letter) != 1 or letter not in _NORTHERN_BANDS + _SOUTHERN_BANDS:
        return None
    return (32600 if letter in _NORTHERN_BANDS else 32700) + int(zone)


def _is_utm_position(easting: str, northing: str) -> bool:
    east_m, north_m = _number(easting), _number(northing)
    if east_m is None or north_m is None:
        return False
    return _EASTINGS_M[0] <= east_m <= _EASTINGS_M[1] and _NORTHINGS_M[0] <= north_m <= _NORTHINGS_M[1]


def _heading(text: str) -> float | None:
    value = _number(text)
    return None if value is None else value % 360


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise _unknown(path, f"cannot be read ({error})") from error


def _header(path: Path) -> list[str]:
    first = next(csv.reader(io.StringIO(_text(path))), [])
    return [name.strip() for name in first]


def _unknown(source: Path, found: str) -> InputError:
    return InputError(
        "manifest.invalid",
        "these photos are in no format that is known for certain",
        seen=f"{source} ({found})",
        do=f"give a manifest, or say --format {', '.join(FORMATS[1:])}",
    )


def _bad_name(photo: Path, do: str) -> InputError:
    return InputError(
        "manifest.invalid", "a photo's name does not say where it was taken", seen=str(photo), do=do
    )


def _no_zone(photo: Path) -> InputError:
    return InputError(
        "manifest.invalid",
        "a photo's name does not say in which UTM zone it is",
        seen=str(photo),
        do="give the coordinate system of the names with --epsg, for example --epsg 32633",
    )


def _bad_line(source: Path, number: int, found: str, do: str) -> InputError:
    return InputError(
        "manifest.invalid",
        "a line of the list cannot be used",
        seen=f"{source}, line {number}: {found}",
        do=do,
    )
