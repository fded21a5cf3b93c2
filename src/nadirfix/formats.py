"""Answers as files: lines of JSON, GeoJSON, CSV and KML, all from the same records.

A record is a line of ``nadirfix locate``: ``Fix.to_dict()``, or ``error_record()`` for a photo that could not
be used. Numbers are written so that reading them gives the same number again.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nadirfix.errors import NadirfixError
from nadirfix.files.owned import Contents
from nadirfix.files.text import json_text, printable, to_cell

__all__ = ["csv_text", "error_record", "geojson", "geojson_text", "json_line", "kml_text", "own_answers"]

Record = Mapping[str, Any]

#: What a table can hold, in the order of the lines.
_FLAT = (
    "photo", "status", "lon", "lat", "easting_m", "northing_m", "epsg", "altitude_m", "gsd_m", "heading_deg",
    "confidence", "radius95_m", "verified", "inliers", "tilt_deg", "tilt_toward_deg", "aircraft_lon",
    "aircraft_lat", "aircraft_altitude_m", "aircraft_radius95_m", "reason", "reason_code", "crop_clamped",
    "warnings",
)  # fmt: skip
_ERROR = ("code", "message", "hint")
_KML = "http://www.opengis.net/kml/2.2"
#: How files of answers begin, and how much of them must be read to know.
_BEGINNINGS = (
    rb'\{"photo": (".*?[^\\]"|""), "status": "',
    ",".join(_FLAT).encode(),
    rb'\{"type": "FeatureCollection", "features": \[(\]|\{"type": "Feature".*?"role": ")',
    rb"<\?xml [^>]*>\s*<kml [^>]*>\s*<Document>\s*<name>nadirfix</name>",
)
_HEAD_BYTES = 65_536


def error_record(photo: str, error: NadirfixError) -> dict[str, Any]:
    """The line of a photo that could not be used: which one, what was wrong, what to do."""
    return {"photo": photo, "status": "error", "error": error.to_dict()}


def json_line(record: Record) -> str:
    """The record as one line of JSON."""
    return json_text(record) + "\n"


def csv_text(records: Iterable[Record]) -> str:
    """The records as a table: their flat fields in the same order, then what was wrong; text is escaped."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_FLAT, *(f"error_{name}" for name in _ERROR)])
    for record in records:
        error = record.get("error", {})
        cells = [*_flat(record).values(), *(_cell(error.get(name)) for name in _ERROR)]
        writer.writerow([to_cell(value) for value in cells])
    return text.getvalue()


def geojson_text(records: Iterable[Record]) -> str:
    """The records as a GeoJSON file."""
    return json_text(geojson(records)) + "\n"


def geojson(records: Iterable[Record]) -> dict[str, Any]:
    """The records as features (RFC 7946): a fix for each, and its footprint and candidates.

    A position the map did not confirm has the role "unverified", so that nobody who picks fixes picks it.
    """
    return {"type": "FeatureCollection", "features": [f for record in records for f in _features(record)]}


def kml_text(records: Iterable[Record]) -> str:
    """The records as KML for a globe: a folder per photo with the fix, its footprint and its candidates."""
    root = ElementTree.Element("kml", xmlns=_KML)
    document = _add(root, "Document")
    _add(document, "name", "nadirfix")
    for record in records:
        _kml_folder(document, record)
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def own_answers(path: Path) -> Contents | None:
    """Recognises a file of answers, in any of the formats, and an empty file: only these are replaced."""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        if not head or any(re.match(beginning, head) for beginning in _BEGINNINGS):
            return {}
    return None


def _flat(record: Record) -> dict[str, Any]:
    """What a table holds of a record; the aircraft's place is flat there."""
    aircraft = record.get("aircraft") or {}
    whole = {**record, **{f"aircraft_{name}": value for name, value in aircraft.items()}}
    return {name: _cell(whole.get(name)) for name in _FLAT}


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "; ".join(value) if isinstance(value, list) else value


def _features(record: Record) -> Iterator[dict[str, Any]]:
    nested = ("candidates", "footprint", "aircraft", "hypotheses")
    role = "unverified" if record["status"] == "unverified" else "fix"
    yield _feature(role, _point(record), {k: v for k, v in record.items() if k not in nested})
    if record.get("footprint"):
        shared = {name: record[name] for name in ("photo", "altitude_m", "gsd_m", "heading_deg")}
        yield _feature("footprint", {"type": "Polygon", "coordinates": [_ring(record)]}, shared)
    others = {"candidate": record.get("candidates", ()), "hypothesis": record.get("hypotheses", ())}
    if record.get("aircraft"):
        others = {"aircraft": [record["aircraft"]], **others}
    for role, places in others.items():
        for place in places:
            yield _feature(role, _point(place), {"photo": record["photo"], **place})


def _feature(role: str, geometry: dict[str, Any] | None, properties: Record) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": {"role": role, **properties}}


def _point(record: Record) -> dict[str, Any] | None:
    """A photo without a position is a feature without a place, which the standard allows."""
    if record.get("lon") is None:
        return None
    return {"type": "Point", "coordinates": [record["lon"], record["lat"]]}


def _ring(record: Record) -> list[list[float]]:
    corners: list[list[float]] = record["footprint"]
    return [*corners, corners[0]]


def _kml_folder(document: ElementTree.Element, record: Record) -> None:
    folder = _add(document, "Folder")
    _add(folder, "name", record["photo"])
    fields = _flat(record)
    fix = _placemark(folder, _kml_name(record), fields | _error_fields(record))
    if record.get("lon") is not None:
        _kml_point(fix, record)
    if record.get("footprint"):
        outline = _placemark(folder, "footprint", {})
        ring = _add(_add(_add(outline, "Polygon"), "outerBoundaryIs"), "LinearRing")
        _add(ring, "coordinates", " ".join(f"{lon!r},{lat!r}" for lon, lat in _ring(record)))
    for candidate in record.get("candidates", ()):
        fields = {n: candidate[n] for n in ("rank", "distance", "weight", "heading_deg")}
        place = _placemark(folder, f"candidate {candidate['rank']}", fields, hidden=True)
        _kml_point(place, candidate)


def _kml_name(record: Record) -> str:
    """What the globe writes beside the place: a position that is no fix says so there."""
    return f"{record['photo']} (unverified)" if record["status"] == "unverified" else str(record["photo"])


def _error_fields(record: Record) -> dict[str, Any]:
    return {f"error_{name}": text for name, text in record.get("error", {}).items()}


def _placemark(
    folder: ElementTree.Element, name: str, fields: Record, *, hidden: bool = False
) -> ElementTree.Element:
    """A place with its fields; candidates are there but hidden until switched on."""
    mark = _add(folder, "Placemark")
    _add(mark, "name", name)
    if hidden:
        _add(mark, "visibility", "0")
    data = _add(mark, "ExtendedData") if fields else None
    for key, value in fields.items():
        if data is not None and value is not None:
            _add(_add(data, "Data", name=key), "value", str(value))
    return mark


def _kml_point(mark: ElementTree.Element, record: Record) -> None:
    _add(_add(mark, "Point"), "coordinates", f"{record['lon']!r},{record['lat']!r}")


def _add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, tag, attributes)
    if text:
        child.text = printable(text)  # XML cannot hold control characters
    return child
