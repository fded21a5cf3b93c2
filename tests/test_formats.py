"""Four formats, one answer: each is read back with a reader of its own and compared with the record."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from nadirfix.errors import InputError
from nadirfix.files.text import from_cell, printable
from nadirfix.formats import csv_text, error_record, geojson, geojson_text, json_line, kml_text
from nadirfix.types import Candidates, Fix, Point

HERE = Point(452_512.345678901, 5_411_498.7654321, 32633)
KML = {"k": "http://www.opengis.net/kml/2.2"}


def candidates() -> Candidates:
    return Candidates(
        reference=np.array([7, 3]),
        east_m=np.array([452_500.1, 452_565.1]),
        north_m=np.array([5_411_500.3, 5_411_435.3]),
        heading_deg=np.array([30.0, 60.0]),
        distance=np.array([1 / 3, 2 / 3]),
        cell=np.array([[4525, 54115], [4525, 54114]]),
        epsg=32633,
    )


def fix(**changes: Any) -> Fix:
    settings: dict[str, Any] = {
        "photo": "flight/a.jpg", "status": "fix", "position": HERE, "altitude_m": 1000 / 3, "gsd_m": 1 / 3,
        "heading_deg": 30.0, "footprint_m": (200.0, 150.0), "candidates": candidates(),
        "verified": True, "weights": np.array([0.7, 0.3]), "warnings": ("windy", "dark"),
        "timings_ms": {"total": 12.5},
    }  # fmt: skip
    return Fix(**(settings | changes))


def no_fix() -> Fix:
    return fix(photo="b.jpg", status="no_fix", position=None, reason="no references", candidates=None)


def bad() -> dict[str, Any]:
    return error_record("c.jpg", InputError("photo.unreadable", "cannot be read", seen="c.jpg", do="look"))


def records() -> list[dict[str, Any]]:
    return [fix().to_dict(), no_fix().to_dict(), bad()]


def test_lines_read_back_as_they_were() -> None:
    for record in records():
        text = json_line(record)
        assert text.endswith("\n")
        assert text.count("\n") == 1
        assert json.loads(text) == record


def test_csv_holds_the_flat_fields_in_order() -> None:
    table = list(csv.DictReader(io.StringIO(csv_text(records()))))
    nested = (
        "altitude_classes", "altitude_sources", "candidates", "timings_ms", "footprint", "aircraft",
        "hypotheses",
    )  # fmt: skip
    flat = [k for k in fix().to_dict() if k not in nested]
    flat[flat.index("reason") : flat.index("reason")] = [
        "aircraft_lon", "aircraft_lat", "aircraft_altitude_m", "aircraft_radius95_m",
    ]  # fmt: skip
    assert list(table[0]) == [*flat, "error_code", "error_message", "error_hint"]
    for name in ("lon", "lat", "easting_m", "northing_m", "altitude_m", "gsd_m", "heading_deg"):
        assert float(table[0][name]) == fix().to_dict()[name], "to the last bit"
    assert (table[0]["crop_clamped"], table[0]["warnings"]) == ("false", "windy; dark")
    assert (table[1]["status"], table[1]["lon"], table[1]["reason"]) == ("no_fix", "", "no references")
    assert (table[2]["status"], table[2]["error_code"]) == ("error", "photo.unreadable")


def test_geojson_has_every_role() -> None:
    features = json.loads(geojson_text(records()))["features"]
    roles = [(f["properties"]["role"], f["properties"]["photo"]) for f in features]
    mine = [("fix", "flight/a.jpg"), ("footprint", "flight/a.jpg"), *[("candidate", "flight/a.jpg")] * 2]
    assert roles == [*mine, ("fix", "b.jpg"), ("fix", "c.jpg")]
    assert all(set(f) == {"type", "geometry", "properties"} for f in features)


def test_geojson_is_longitude_first_and_exact() -> None:
    [point, outline, nearest, _] = fix().to_geojson()["features"]
    record = fix().to_dict()
    assert point["geometry"] == {"type": "Point", "coordinates": [record["lon"], record["lat"]]}
    assert point["properties"]["easting_m"] == HERE.east_m
    first = record["candidates"][0]
    assert nearest["geometry"]["coordinates"] == [first["lon"], first["lat"]]
    assert (nearest["properties"]["rank"], nearest["properties"]["weight"]) == (1, 0.7)
    assert outline["geometry"]["type"] == "Polygon"


@pytest.mark.parametrize("heading_deg", [0.0, 30.0, 90.0, 200.0, 359.0])
def test_footprint_is_the_frame_on_the_ground(heading_deg: float) -> None:
    """Closed, against the clock, the size of the frame, its top where the heading points."""
    [ring] = fix(heading_deg=heading_deg).to_geojson()["features"][1]["geometry"]["coordinates"]
    assert ring[0] == ring[-1]
    assert len(ring) == 5
    points = [Point.from_lonlat(lon, lat, epsg=32633) for lon, lat in ring]
    assert points[0].distance_m(points[1]) == pytest.approx(150.0, abs=1e-4)
    assert points[1].distance_m(points[2]) == pytest.approx(200.0, abs=1e-4)
    pairs = itertools.pairwise(points)
    east, north = HERE.east_m, HERE.north_m
    area_m2 = sum(
        (a.east_m - east) * (b.north_m - north) - (b.east_m - east) * (a.north_m - north) for a, b in pairs
    )
    assert area_m2 / 2 == pytest.approx(200 * 150, rel=1e-6), "positive is against the clock"
    top = (
        (points[0].east_m + points[3].east_m) / 2 - east,
        (points[0].north_m + points[3].north_m) / 2 - north,
    )
    off_deg = math.degrees(math.atan2(*top)) - heading_deg
    assert (off_deg + 180) % 360 - 180 == pytest.approx(0, abs=1e-4)


def test_no_position_is_a_feature_without_a_place() -> None:
    nowhere, broken = geojson(records())["features"][-2:]
    assert (nowhere["geometry"], nowhere["properties"]["reason"]) == (None, "no references")
    assert (broken["geometry"], broken["properties"]["error"]["code"]) == (None, "photo.unreadable")


def test_kml_reads_back_to_the_last_bit() -> None:
    root = ElementTree.fromstring(kml_text(records()))
    folders = root.findall("k:Document/k:Folder", KML)
    assert [folder.findtext("k:name", None, KML) for folder in folders] == ["flight/a.jpg", "b.jpg", "c.jpg"]
    marks = folders[0].findall("k:Placemark", KML)
    record = fix().to_dict()
    assert text(marks[0], "k:Point/k:coordinates") == f"{record['lon']!r},{record['lat']!r}"
    data = {d.get("name"): d.findtext("k:value", None, KML) for d in marks[0].iter(f"{{{KML['k']}}}Data")}
    assert float(data["altitude_m"] or "nan") == record["altitude_m"]
    ring = text(marks[1], "k:Polygon/k:outerBoundaryIs/k:LinearRing/k:coordinates").split()
    assert [[float(v) for v in corner.split(",")] for corner in ring[:4]] == record["footprint"]
    assert ring[0] == ring[-1]
    assert [text(mark, "k:name") for mark in marks[2:]] == ["candidate 1", "candidate 2"]
    assert folders[1].find(".//k:Point", KML) is None
    assert "photo.unreadable" in ElementTree.tostring(folders[2], encoding="unicode")


def text(element: ElementTree.Element, path: str) -> str:
    element_text = element.findtext(path, None, KML)
    assert element_text is not None
    return element_text


@pytest.mark.parametrize(
    "name", ["a & <b>.jpg", "line\nbreak.jpg", "bell\a.jpg", 'quote",comma.jpg', "ä 图.jpg"]
)
def test_odd_names_survive_every_format(name: str) -> None:
    record = fix(photo=name).to_dict()
    assert json.loads(json_line(record))["photo"] == name
    cell = next(csv.DictReader(io.StringIO(csv_text([record]), newline="")))["photo"]
    assert from_cell(cell) == name and cell.isprintable()
    assert json.loads(geojson_text([record]))["features"][0]["properties"]["photo"] == name
    name_text = ElementTree.fromstring(kml_text([record])).findtext(".//k:Placemark/k:name", None, KML)
    assert name_text == printable(name)


@pytest.mark.parametrize("write", [json_line, lambda r: csv_text([r]), lambda r: kml_text([r])])
def test_a_name_that_is_no_text_can_still_be_written(write) -> None:
    record = fix(photo="bad\udcff.jpg").to_dict()
    written = write(record).encode("utf-8")
    assert b"\\udcff" in written


def test_json_gives_such_a_name_back() -> None:
    assert json.loads(json_line(fix(photo="bad\udcff.jpg").to_dict()))["photo"] == "bad\udcff.jpg"


def test_no_answers_are_still_a_document() -> None:
    assert geojson([]) == {"type": "FeatureCollection", "features": []}
    assert csv_text([]).count("\n") == 1
    assert ElementTree.fromstring(kml_text([])).find("k:Document", KML) is not None


def test_a_position_that_is_not_verified_is_no_fix_in_any_format() -> None:
    unsure = fix(status="unverified", verified=None).to_dict()
    roles = [feature["properties"]["role"] for feature in geojson([unsure])["features"]]
    assert roles[:2] == ["unverified", "footprint"] and "fix" not in roles
    assert next(csv.DictReader(io.StringIO(csv_text([unsure]))))["status"] == "unverified"
    assert "flight/a.jpg (unverified)" in kml_text([unsure])
    assert "unverified" not in kml_text([fix().to_dict()])
